//===- PeakBytes.h - Memory of a pipeline from its lists --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The most bytes that a rank holds at once, and the most micro-batches whose
// values a stage holds at once. Time is the position in the rank's list, which
// gives an upper bound whatever the pace of other ranks, and the exact need of
// an arena whose blocks are planned by these positions. Sizes are inputs;
// layers are unknown here.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SCHEDULE_PEAKBYTES_H
#define TESSERA_SCHEDULE_PEAKBYTES_H

#include "tessera/Schedule/Schedule.h"
#include <cstdint>

namespace tessera::schedule {

/// A block that is held for a chunk and a micro-batch, from one position of a
/// rank's list to another, both included.
struct HeldBlock {
  /// The block's content; its writing and reading tasks determine when it is
  /// held.
  enum Kind {
    /// Frames, from the begin of the task that fills them to the end of the
    /// last one that reads them: F for B and nothing after it; F for W; B for W
    /// (in BW both are one).
    ForwardToInputGrad,
    ForwardToWeightGrad,
    InputGradToWeightGrad,
    /// Boundaries that the chunk reads, in the forward and in the backward.
    Activation,
    Gradient,
    /// Boundaries that it sends to other ranks.
    SentActivation,
    SentGradient
  };
  Kind kind;
  int chunk, microBatch;
  size_t begin, end;
};

/// The last task of a chunk that reads each of its boundaries in place:
/// Forward, InputGrad or WeightGrad.
struct BoundaryReaders {
  ActionKind activation = ActionKind::Forward;
  ActionKind gradient = ActionKind::InputGrad;
};

/// The blocks that a rank holds, in an order that depends on the list alone. A
/// boundary takes memory on the sending rank until it has arrived, which the
/// rank knows at the second send after it on the communicator (two buffers) or
/// at the end of the list; on the receiving rank, from the posting of its
/// receive to its last reader; within a rank, from the task that computes it to
/// the last reader. `readers` is indexed by chunk. Expects a schedule that
/// verify() accepts.
std::vector<HeldBlock> findHeld(const ScheduleProblem &problem,
                                const Schedule &schedule, int rank,
                                llvm::ArrayRef<BoundaryReaders> readers);

/// Bytes of a stage with one micro-batch.
struct StageBytes {
  /// Frames, and boundaries that the stage reads; see HeldBlock.
  int64_t forwardToInputGrad = 0, forwardToWeightGrad = 0,
          inputGradToWeightGrad = 0;
  int64_t activation = 0, gradient = 0;
  BoundaryReaders until;
  /// Scratch of each task; `overlapped` is for this stage's forward with the
  /// backward of any other.
  int64_t forward = 0, inputGrad = 0, weightGrad = 0, backward = 0,
          overlapped = 0;
};

/// Sizes of a pipeline.
struct PipelineBytes {
  /// Bytes that each rank holds all the time.
  std::vector<int64_t> fixed;
  /// One entry per stage of a micro-batch's path.
  std::vector<StageBytes> stages;
};

/// For each rank, `fixed` plus the most bytes that its blocks and scratch take
/// together at one position of its list. Expects a schedule that verify()
/// accepts; without sends and receives, boundaries between ranks take memory
/// only during the tasks that read them.
std::vector<int64_t> peakBytes(const ScheduleProblem &problem,
                               const Schedule &schedule,
                               const PipelineBytes &sizes);

/// The most micro-batches of a chunk between the begin of one of their tasks
/// and the end of a later one: the number of copies of a value that is kept
/// that long.
struct MicroBatchesAlive {
  int forwardToInputGrad = 0, forwardToWeightGrad = 0;
  /// 0 if B and W are one action.
  int inputGradToWeightGrad = 0;

  bool operator==(const MicroBatchesAlive &o) const {
    return forwardToInputGrad == o.forwardToInputGrad &&
           forwardToWeightGrad == o.forwardToWeightGrad &&
           inputGradToWeightGrad == o.inputGradToWeightGrad;
  }
};

/// The counts of each chunk of each rank. Expects a schedule that verify()
/// accepts.
std::vector<std::vector<MicroBatchesAlive>>
countAlive(const ScheduleProblem &problem, const Schedule &schedule);

} // namespace tessera::schedule

#endif // TESSERA_SCHEDULE_PEAKBYTES_H
