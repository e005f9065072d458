//===- Matmul.h - Matmuls on a device ---------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface of matmuls on a device, and the choice between ways to
// compute one. One implementation is cuBLASLt, another the host's code for an
// emulated device.
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

/// A matmul and what is done with it; addresses are the device's.
struct MatmulCall {
  tessera_rt_matmul_desc desc = {};
  /// Kind 0: nothing.
  tessera_rt_matmul_fusion fusion = {};
  const void *a = nullptr, *b = nullptr;
  /// With desc.accumulate; null: what is in c.
  const void *addend = nullptr;
  void *c = nullptr, *bias = nullptr, *aux = nullptr;
  /// Of matmuls in 8 bits: B's type, and the scales of A and B.
  int64_t dtypeB = -1;
  const float *scaleA = nullptr, *scaleB = nullptr;

  /// Two calls of equal keys are computed in the same way. It holds all but the
  /// addresses, and of these which are there and how far they are aligned.
  std::vector<int64_t> key() const;
  /// 2 * batch * m * n * k.
  double flops() const;
  /// "bf16[4 x 1024 x 768 x 3072]^nt + gelu"
  std::string describe() const;
};

/// How much of a call with a fusion a library does; the runtime's kernels do
/// the rest.
enum class MatmulSplit : int64_t {
  Whole = 0,     ///< all.
  SumsApart = 1, ///< all but the sums of GELU's gradient.
  Apart = 2      ///< the matmul, with what is added to it.
};

/// What the library is asked for.
MatmulCall withoutRest(const MatmulCall &call, MatmulSplit split);
/// Does the rest of a call whose matmul is in its place. `workspace` has
/// matmulWorkspaceBytes.
std::string runRest(Kernels &kernels, Stream stream, const MatmulCall &call,
                    MatmulSplit split, void *workspace);

/// Functions return a message, or nothing.
class Matmul {
public:
  virtual ~Matmul() = default;

  /// For reports: "cublaslt 13.1.0".
  virtual std::string name() const = 0;
  /// Whether it multiplies operands of `dtype` to results of `cDtype`.
  virtual bool supports(int32_t dtype, int32_t cDtype) const = 0;
  /// Makes ready for calls like these, of each key one; nothing is allocated
  /// later. Calls may be made, on the addresses of `calls`, to time them.
  virtual std::string prepare(const std::vector<MatmulCall> &calls) = 0;
  /// Enqueues a matmul that prepare has seen.
  virtual std::string run(Stream stream, const MatmulCall &call) = 0;
};

/// How ways to compute are chosen.
struct TuneOptions {
  /// Off: what the library thinks best. Cache: by time, kept in a file. On: by
  /// time, whatever is in the file.
  enum Mode { Off, Cache, On } mode = Cache;
  /// Where times are kept; empty: nowhere.
  std::string path;
  /// Whether this rank times and writes; the others wait in `barrier`, then
  /// read.
  bool isFirst = true;
  /// Waits for all ranks. Returns a message, or nothing.
  std::function<std::string()> barrier;
  /// Says something about the run, once.
  std::function<void(const std::string &)> remark;
  /// f32 matmuls by units for TF32, whose operands have 10 bits of fraction.
  bool tf32 = false;
  /// How much the runtime's kernels do at least of calls that have a rest.
  MatmulSplit leastApart = MatmulSplit::Whole;
  /// Ways to compute that are timed, and seconds that this may take in all.
  int candidates = 16;
  double seconds = 60;
};

/// cuBLASLt on `device`. Working memory is taken from `device` once. Null with
/// a message when it cannot be used. `kernels` must outlive it.
std::unique_ptr<Matmul> createCublasLt(Device &device, Kernels &kernels,
                                       Stream stream,
                                       const TuneOptions &options,
                                       std::string &error);

/// The host's code, for an emulated device; `kernels` do what follows. It uses
/// the threads of `ctx`. Both must outlive it.
std::unique_ptr<Matmul> createHostMatmul(Device &device, Kernels &kernels,
                                         tessera_rt_context *ctx);

} // namespace tessera::rt::cuda

#endif // TESSERA_RT_CUDA_MATMUL_H
