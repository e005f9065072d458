//===- Target.h - Where a rank's work is done -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of the runtime that is not the same on every target: what the calls
// of a step do, and how blocks of the arena come to the program and back. All
// else (starting ranks, arguments, the loop over steps, reports) works on the
// host's arena of the rank. On the host target that is the arena of the program
// too; on a device it is where blocks are on their way.
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
struct Value;

/// Operands of an attention call, and its offsets.
struct AttentionCall {
  const tessera_rt_attention_desc &desc;
  const void *q, *k, *v;
  int64_t qOffset, kOffset;
  /// Null where desc.has_starts is 0.
  const int32_t *starts = nullptr;
};

/// The step function of this rank, or what stands for it.
using ProgramStep = int32_t (*)(tessera_rt_context *ctx);

/// Whether sizes and leading dimensions fit each other.
bool isValid(const tessera_rt_matmul_desc &desc);

/// A call of tessera_rt_scaled_matmul.
struct ScaledMatmul {
  tessera_rt_matmul_desc desc;
  /// Of B; A's is desc.dtype.
  int64_t dtypeB;
  const void *a, *b;
  const float *scaleA, *scaleB;
  void *c;
};

/// A part of the arena.
struct ArenaBlock {
  int64_t offset = 0, bytes = 0;
};

/// Brings what does not fit the host's memory twice, parameters and state, to
/// the program's arena part by part. While one part is on its way the next one
/// is written. Failures are recorded.
class PartSender {
public:
  virtual ~PartSender() = default;
  /// Bytes of a part at most, a multiple of the largest element.
  virtual int64_t partBytes() const = 0;
  /// Where the next part is to be written; waits for the memory.
  virtual Status next(uint8_t *&part) = 0;
  /// That part is written, and is this block of the program's arena.
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
  /// Calls a task of a pipeline, a tessera_rt_task, or a pair: `beside` is its
  /// other task, negative without one.
  virtual Status runTask(tessera_rt_task_fn function, int64_t task,
                         int64_t beside, const int64_t *bases) {
    return function(ctx, bases);
  }
  /// Whether calls have done their work when they return: only then does it
  /// mean something when they do.
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
  /// Begins the collective `op`, which is described but for what peers need.
  virtual Status start(int32_t slot, Operation &op) = 0;
  /// Completes what is in flight in `slot`.
  virtual Status finish(int32_t slot) = 0;

  //===--------------------------------------------------------------------===//
  // Around steps. Failures are recorded.
  //===--------------------------------------------------------------------===//

  /// Before anything else: memory, libraries, agreement between ranks. All
  /// ranks call it. `program` is what a step runs.
  virtual Status open(const Manifest &manifest, const Options &options,
                      ProgramStep program) = 0;
  /// The host has written a block of its arena, which the program is to see.
  virtual Status send(const ArenaBlock &block) = 0;
  /// What else blocks come to the program's arena by; null where the host's
  /// arena is the program's.
  virtual Status createPartSender(std::unique_ptr<PartSender> &sender) {
    sender.reset();
    return 0;
  }
  /// Makes a block of the program's arena zero.
  virtual Status clear(const ArenaBlock &block) = 0;
  /// Waits for the steps so far and makes the host's arena show these blocks.
  virtual Status fetch(const std::vector<ArenaBlock> &blocks) = 0;
  /// Moves a block of the program's arena.
  virtual Status move(int64_t to, int64_t from, int64_t bytes) = 0;
  /// Puts blocks of the program's arena aside; restores them, as often as
  /// wanted.
  virtual Status save(const std::vector<ArenaBlock> &blocks) = 0;
  virtual Status restore(const std::vector<ArenaBlock> &blocks) = 0;
  /// Runs the program's step; it may go on until the next fetch.
  virtual Status step() = 0;

  //===--------------------------------------------------------------------===//
  // Reports
  //===--------------------------------------------------------------------===//

  /// Leaves what the rank's memory is in `use`. The arena is looked at only
  /// `withArena`.
  virtual void measure(MemoryUse &use, const Manifest &manifest,
                       bool withArena) = 0;
  /// Holds the rank to `bytes` of memory; 0: no limit. Returns a message, or
  /// nothing.
  virtual std::string limitMemory(const Manifest &manifest, int64_t bytes) = 0;
  /// Seconds that what a step multiplies would take at the best rate of its
  /// device; 0: not known.
  virtual double secondsAtPeak() const { return 0; }
  /// Members of the JSON report: "\"isa\": \"avx2\"".
  virtual std::string describeJson() const = 0;

protected:
  tessera_rt_context *ctx;
};

/// What this library runs programs on. Each library defines one.
struct TargetKind {
  /// The "target" of manifests that it runs.
  const char *name;
  /// Whether there are devices, with options of their own.
  bool hasDevices;
  std::unique_ptr<Target> (*create)(tessera_rt_context *ctx);
};
extern const TargetKind targetKind;

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_TARGET_H
