//===- Matmul.h - Matmuls on a device ---------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface of matmuls on a device, and the choice between algorithms. One
// implementation is cuBLASLt, another the host's code for an emulated device.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_MATMUL_H
#define TESSERA_RT_CUDA_MATMUL_H

#include "Device.h"
#include "Kernels.h"
#include "ranks/Context.h"

#include <vector>

namespace tessera::rt::cuda {

/// Bytes of working memory that a stream has for matmuls.
constexpr int64_t matmulWorkspaceBytes = int64_t(32) << 20;

/// The largest power of two, at most 256, that divides an address.
int64_t alignmentOf(const void *address);

/// A matmul and its fusion; addresses are the device's.
struct MatmulCall {
  tessera_rt_matmul_desc desc = {};
  /// Fusion; kind 0: none.
  tessera_rt_matmul_fusion fusion = {};
  const void *a = nullptr, *b = nullptr;
  /// Addend with desc.accumulate; null: the contents of c.
  const void *addend = nullptr;
  void *c = nullptr, *bias = nullptr, *aux = nullptr;
  /// Fields of 8-bit matmuls: B's type, and the scales of A and B.
  int64_t dtypeB = -1;
  const float *scaleA = nullptr, *scaleB = nullptr;

  /// Calls with equal keys are computed in the same way. A key has all fields
  /// except the addresses; of these it has which are null and their alignment.
  std::vector<int64_t> key() const;
  /// Operations: 2 * batch * m * n * k.
  double flops() const;
  /// Describes the call, such as "bf16[4 x 1024 x 768 x 3072]^nt + gelu".
  std::string describe() const;
};

/// The part of a call with a fusion that a library does; the runtime's kernels
/// do the rest.
enum class MatmulSplit : int64_t {
  Whole = 0,     ///< everything.
  SumsApart = 1, ///< all but the sums of GELU's gradient.
  Apart = 2      ///< the matmul, with what is added to it.
};

/// The part of a call that the library does.
MatmulCall withoutRest(const MatmulCall &call, MatmulSplit split);
/// Does the rest of a call whose matmul is already in C. `workspace` has
/// matmulWorkspaceBytes.
std::string runRest(Kernels &kernels, Stream stream, const MatmulCall &call,
                    MatmulSplit split, void *workspace);

/// Functions return a message, or nothing.
class Matmul {
public:
  virtual ~Matmul() = default;

  /// The name in reports: "cublaslt 13.1.0".
  virtual std::string name() const = 0;
  /// True if it multiplies operands of `dtype` to results of `cDtype`.
  virtual bool supports(int32_t dtype, int32_t cDtype) const = 0;
  /// Prepares calls like these, one for each key; nothing is allocated later.
  /// It may run them, on the addresses of `calls`, to time them.
  virtual std::string prepare(const std::vector<MatmulCall> &calls) = 0;
  /// Enqueues a matmul that prepare has seen.
  virtual std::string run(Stream stream, const MatmulCall &call) = 0;
};

/// Options for the choice of algorithms.
struct TuneOptions {
  /// Off: the library's own choice. Cache: by time, kept in a file. On: by
  /// time, ignoring the file's contents.
  enum Mode { Off, Cache, On } mode = Cache;
  /// Path of the file with times; empty: none.
  std::string path;
  /// True if this rank times and writes; the others take its choices.
  bool isFirst = true;
  /// Gives all ranks the text of the first one, which is that of its file. Each
  /// rank calls it once. Returns a message, or nothing. Null: nothing is timed,
  /// or there is one rank.
  std::function<std::string(std::string &text)> share;
  /// Prints a remark about the run, once.
  std::function<void(const std::string &)> remark;
  /// True to use TF32 units for f32 matmuls; their operands have 10 fraction
  /// bits.
  bool tf32 = false;
  /// The least work that the runtime's kernels do for calls with a rest.
  MatmulSplit leastApart = MatmulSplit::Whole;
  /// Number of algorithms that are timed, and seconds for all of them.
  int candidates = 16;
  double seconds = 60;
};

/// Creates matmuls by cuBLASLt on `device`. Working memory is taken from
/// `device` once. Null with a message if it cannot be used. `kernels` must
/// outlive it.
std::unique_ptr<Matmul> createCublasLt(Device &device, Kernels &kernels,
                                       Stream stream,
                                       const TuneOptions &options,
                                       std::string &error);

/// Creates matmuls on the host, for an emulated device; `kernels` run the
/// epilogues. It uses the threads of `ctx`. Both must outlive it.
std::unique_ptr<Matmul> createHostMatmul(Device &device, Kernels &kernels,
                                         tessera_rt_context *ctx);

} // namespace tessera::rt::cuda

#endif // TESSERA_RT_CUDA_MATMUL_H
