//===- PeakBytes.h - Memory of a pipeline, from its lists -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The most bytes that a rank holds at once, and the most micro-batches of which
// a stage holds something. Time is the position in the rank's list: an upper
// bound of what is held while others run at their own pace, and what an arena
// needs whose blocks are planned by these positions. Nothing is known of
// layers: sizes are given.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SCHEDULE_PEAKBYTES_H
#define TESSERA_SCHEDULE_PEAKBYTES_H

#include "tessera/Schedule/Schedule.h"
#include <cstdint>

namespace tessera::schedule {

/// What is held of a chunk and a micro-batch, from one position of a rank's
/// list to another, both included.
struct HeldBlock {
  /// The tasks that write and read it, which say when it is held.
  enum Kind {
    /// Frames, from the begin of the task that fills them to the end of the
    /// last one that reads them: F for B and nothing after it; F for W; B for W
    /// (of BW, both are one).
    ForwardToInputGrad,
    ForwardToWeightGrad,
    InputGradToWeightGrad,
    /// Boundaries that the chunk reads: of the forward, of the backward.
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

/// The last task of a chunk that reads its boundaries where they are: Forward,
/// InputGrad or WeightGrad.
struct BoundaryReaders {
  ActionKind activation = ActionKind::Forward;
  ActionKind gradient = ActionKind::InputGrad;
};

/// What a rank holds, in an order that depends on the list alone. A boundary
/// takes memory where it is made until it has arrived, which its rank knows at
/// the second send after it on the communicator (two buffers) or at the end of
/// the list; where it is read, from the posting of its receive to its last
/// reader; within a rank, from the task that makes it to the last reader.
/// `readers` is by chunk. Expects a schedule that verify() accepts.
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
  /// Scratch of each task; `overlapped` of this stage's forward beside the
  /// backward of any other.
  int64_t forward = 0, inputGrad = 0, weightGrad = 0, backward = 0,
          overlapped = 0;
};

/// Sizes of a pipeline.
struct PipelineBytes {
  /// What each rank holds all the time.
  std::vector<int64_t> fixed;
  /// By stage of a micro-batch's path.
  std::vector<StageBytes> stages;
};

/// For each rank, `fixed` and the most that what it holds and scratch take
/// together at one position of its list. Expects a schedule that verify()
/// accepts; without sends and receives, boundaries between ranks take memory
/// only during the tasks that read them.
std::vector<int64_t> peakBytes(const ScheduleProblem &problem,
                               const Schedule &schedule,
                               const PipelineBytes &sizes);

/// The most micro-batches of a chunk between the begin of one of their tasks
/// and the end of a later one: a value that is kept so long takes so many times
/// its bytes.
struct MicroBatchesAlive {
  int forwardToInputGrad = 0, forwardToWeightGrad = 0;
  /// 0 where B and W are one.
  int inputGradToWeightGrad = 0;

  bool operator==(const MicroBatchesAlive &o) const {
    return forwardToInputGrad == o.forwardToInputGrad &&
           forwardToWeightGrad == o.forwardToWeightGrad &&
           inputGradToWeightGrad == o.inputGradToWeightGrad;
  }
};

/// Of each chunk of each rank. Expects a schedule that verify() accepts.
std::vector<std::vector<MicroBatchesAlive>>
countAlive(const ScheduleProblem &problem, const Schedule &schedule);

} // namespace tessera::schedule

#endif // TESSERA_SCHEDULE_PEAKBYTES_H
