//===- Target.h - Execution of a rank's work --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of the runtime that differs between targets: the calls of a step,
// and the transfer of blocks between the host and the program's arena.
// Everything else (starting ranks, arguments, the loop over steps, reports)
// works on the rank's host arena. On the host target that is also the program's
// arena; on a device it is a staging area.
//
// The entry points of the C ABI check their arguments, then call the target.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_TARGET_H
#define TESSERA_RT_SRC_TARGET_H

#include "ranks/Control.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera::rt {

struct Manifest;
struct Operation;
struct Options;
class StateSource;
struct Value;

/// Operands of an attention call, and its offsets.
struct AttentionCall {
  const tessera_rt_attention_desc &desc;
  const void *q, *k, *v;
  int64_t qOffset, kOffset;
  /// Null if desc.has_starts is 0.
  const int32_t *starts = nullptr;
  /// Null if desc.has_bias is 0.
  const float *bias = nullptr;
};

/// The calls on experts: tessera_rt_experts, _backward and _weight_gradient.
enum class ExpertsCall { Forward, Backward, WeightGradient };

/// Tensors of a call on experts; null for those that it does not have. `g` and
/// `u` are written by the forward alone.
struct ExpertTensors {
  const int32_t *routing;
  const void *x, *grad, *gates, *wGate, *wUp, *wDown;
  void *y, *g, *u, *dx, *dgates, *dg, *du, *dwGate, *dwUp, *dwDown;
};

/// Returns the rank's loads of the layer that a routing counts for; null if it
/// counts for none.
LayerLoads *findLoads(const tessera_rt_context &ctx,
                      const tessera_rt_route_desc &desc);

/// The most rows that different ids of tokens can have, and those of an even
/// load.
int64_t mostRows(const tessera_rt_route_desc &desc);
double evenRows(const tessera_rt_route_desc &desc);

/// Records that a routing has more rows than these.
Status failRouting(tessera_rt_context *ctx, int64_t most, int64_t offset,
                   int64_t rows);

/// The step function of this rank, or its replacement.
using ProgramStep = int32_t (*)(tessera_rt_context *ctx);

/// True if sizes and leading dimensions are consistent.
bool isValid(const tessera_rt_matmul_desc &desc);

/// A call of tessera_rt_scaled_matmul.
struct ScaledMatmul {
  tessera_rt_matmul_desc desc;
  /// The type of B; A's is desc.dtype.
  int64_t dtypeB;
  const void *a, *b;
  const float *scaleA, *scaleB;
  void *c;
};

/// A block of the arena.
struct ArenaBlock {
  int64_t offset = 0, bytes = 0;
};

/// Sends parameters and state to the program's arena part by part, so that host
/// memory does not need to hold them twice. The next part is written while the
/// previous one is in transit. Failures are recorded.
class PartSender {
public:
  virtual ~PartSender() = default;
  /// Largest number of bytes in a part, a multiple of the largest element.
  virtual int64_t partBytes() const = 0;
  /// Returns the buffer for the next part; waits until it is free.
  virtual Status next(uint8_t *&part) = 0;
  /// Sends the written part to this block of the program's arena.
  virtual Status send(const ArenaBlock &block) = 0;
};

class Target {
public:
  explicit Target(tessera_rt_context *ctx) : ctx(ctx) {}
  virtual ~Target() = default;

  //===--------------------------------------------------------------------===//
  // Calls of a step, with valid arguments. See tessera_rt.h.
  //===--------------------------------------------------------------------===//

  virtual uint8_t *arena() = 0;
  /// Calls a task of a pipeline, a tessera_rt_task, or a pair of tasks.
  /// `beside` is the pair's second task, negative if there is only one.
  virtual Status runTask(tessera_rt_task_fn function, int64_t task,
                         int64_t beside, const int64_t *bases) {
    return function(ctx, bases);
  }
  /// True if calls have finished their work when they return. Only then are the
  /// times of their returns meaningful.
  virtual bool isSynchronous() const { return false; }
  virtual Status launch(tessera_rt_kernel_fn fn, const int64_t *args,
                        int64_t extent, int64_t grain) = 0;
  /// `from` and `to` are byte offsets of the first element, starts included.
  virtual Status copyStrided(int64_t elementSize, int32_t rank,
                             const int64_t *shape, int64_t from,
                             const int64_t *fromStrides, int64_t to,
                             const int64_t *toStrides) = 0;
  virtual Status fill(int64_t elementSize, int64_t offset, int64_t count,
                      int64_t bits) = 0;
  virtual Status readFlag(int64_t offset, int64_t &flag) = 0;
  /// Waits for the reader of the state of the step before, if there is one.
  virtual Status stateFence() = 0;
  virtual Status beginBlock(const ArenaBlock &block, bool forget) = 0;
  virtual Status endBlock(const ArenaBlock &block, bool forget) = 0;
  virtual bool multiplies(int64_t dtype, int64_t cDtype) const = 0;
  virtual Status matmul(const tessera_rt_matmul_desc &desc, const void *a,
                        const void *b, void *c, tessera_rt_kernel_fn epilogue,
                        const int64_t *epilogueArgs) = 0;
  virtual Status scaledMatmul(const ScaledMatmul &call) = 0;
  virtual Status attention(const AttentionCall &call, void *out,
                           float *logsumexp) = 0;
  virtual Status attentionBackward(const AttentionCall &call, const void *grad,
                                   const void *out, const float *logsumexp,
                                   void *dq, void *dk, void *dv) = 0;
  virtual Status embeddingBackward(const tessera_rt_embedding_desc &desc,
                                   const void *grad, const void *ids,
                                   void *result, int64_t offset) = 0;
  virtual Status route(const tessera_rt_route_desc &desc, const void *ids,
                       int64_t offset, int32_t *routing) = 0;
  virtual Status expertCapacity(const tessera_rt_capacity_desc &desc,
                                const void *ids, const void *scores,
                                void *result) = 0;
  virtual Status experts(ExpertsCall call, const tessera_rt_experts_desc &desc,
                         const ExpertTensors &tensors) = 0;
  /// Begins the collective `op`; everything but the fields for peers is set.
  virtual Status start(int32_t slot, Operation &op) = 0;
  /// Completes the operation in flight in `slot`.
  virtual Status finish(int32_t slot) = 0;

  //===--------------------------------------------------------------------===//
  // Around steps. Failures are recorded.
  //===--------------------------------------------------------------------===//

  /// Opens memory and libraries and lets the ranks agree, before anything else.
  /// All ranks call it. `program` is the function of a step.
  virtual Status open(const Manifest &manifest, const Options &options,
                      ProgramStep program) = 0;
  /// Makes the program see a block that the host wrote to its arena.
  virtual Status send(const ArenaBlock &block) = 0;
  /// Creates the sender that transfers other blocks to the program's arena;
  /// null if the host's arena is the program's.
  virtual Status createPartSender(std::unique_ptr<PartSender> &sender) {
    sender.reset();
    return 0;
  }
  /// Creates what copies parameters and state for checkpoints.
  virtual Status createStateSource(std::unique_ptr<StateSource> &source) = 0;
  /// Makes a block of the program's arena zero.
  virtual Status clear(const ArenaBlock &block) = 0;
  /// Waits for the steps so far and updates these blocks in the host's arena.
  virtual Status fetch(const std::vector<ArenaBlock> &blocks) = 0;
  /// Moves a block of the program's arena.
  virtual Status move(int64_t to, int64_t from, int64_t bytes) = 0;
  /// Runs the program's step, which may continue until the next fetch.
  virtual Status step() = 0;

  //===--------------------------------------------------------------------===//
  // Reports
  //===--------------------------------------------------------------------===//

  /// Measures the rank's memory into `use`. The arena is examined only if
  /// `withArena`.
  virtual void measure(MemoryUse &use, const Manifest &manifest,
                       bool withArena) = 0;
  /// Limits the rank to `bytes` of memory; 0: no limit. Returns a message, or
  /// nothing.
  virtual std::string limitMemory(const Manifest &manifest, int64_t bytes) = 0;
  /// Seconds that a step's matmuls would take at the peak rate of the device;
  /// 0: not known.
  virtual double secondsAtPeak() const { return 0; }
  /// Returns members of the JSON report: "\"isa\": \"avx2\"".
  virtual std::string describeJson() const = 0;

protected:
  tessera_rt_context *ctx;
};

/// The kind of target of this library. Each library defines one.
struct TargetKind {
  /// The "target" of the manifests that it runs.
  const char *name;
  /// True if there are devices, with options of their own.
  bool hasDevices;
  std::unique_ptr<Target> (*create)(tessera_rt_context *ctx);
};
extern const TargetKind targetKind;

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_TARGET_H
