//===- Timing.h - Time of a pipeline schedule -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prices a schedule by simulation: an action starts when its rank is free and
// its operands have arrived. Transfers take their link's time and no time of a
// rank; links carry any number of transfers at once. A schedule is compiled
// once and can then be priced with many sets of times.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SCHEDULE_TIMING_H
#define TESSERA_SCHEDULE_TIMING_H

#include "tessera/Schedule/Schedule.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace tessera::schedule {

/// Seconds of the passes of a chunk with one micro-batch.
struct ChunkTimes {
  double forward = 0, inputGrad = 0, weightGrad = 0;
  /// This chunk's forward overlapped with the backward of the rank's other
  /// chunk; negative: as long as one after the other.
  double overlapped = -1;
};

/// Durations of all actions and transfers of a schedule, in seconds.
struct PipelineTimes {
  /// Times of chunk c of rank r at index r * chunks + c.
  std::vector<ChunkTimes> chunks;
  /// Seconds of a transfer on each link, as numbered by
  /// ScheduleProblem::linkOf.
  std::vector<double> links;

  /// The same times on all ranks. `stage` is for a p-th of the model: a chunk
  /// takes its share.
  static PipelineTimes uniform(const ScheduleProblem &problem,
                               const ChunkTimes &stage, double link = 0);
};

/// The working times of a rank, in seconds since the step began.
struct RankTiming {
  double first = 0, last = 0, busy = 0;
};

/// The working times of each rank, and the resulting lengths of a step.
struct ScheduleTiming {
  std::vector<RankTiming> ranks;

  /// Time until the last rank is done: the step if all ranks start together.
  double makespan() const;
  /// The longest time from a rank's first to its last action: the step if ranks
  /// go from step to step without waiting for each other.
  double span() const;
  double maxBusy() const;
  /// Idle time within the longest span, in seconds.
  double bubble() const { return span() - maxBusy(); }
  /// The bubble as a share of the whole span.
  double bubbleRate() const { return bubble() / span(); }
};

/// A schedule in an executable order.
class CompiledSchedule {
public:
  /// Expects a schedule that verify() accepts; ignores its sends and receives,
  /// since a value travels as soon as it is computed.
  CompiledSchedule(const ScheduleProblem &problem, const Schedule &schedule);

  /// Runs the schedule once with these durations; linear in the number of
  /// actions.
  ScheduleTiming simulate(const PipelineTimes &times) const;
  /// The times of a step only, for inner loops.
  struct Ends {
    double makespan, span;
  };
  /// Computes makespan() and span() of simulate(times).
  Ends simulateEnds(const PipelineTimes &times) const;

  /// Seconds since the step began at which an action begins and ends.
  struct ActionTime {
    double begin, end;
  };
  /// For each rank, the times of its compute actions, in the order of its list.
  std::vector<std::vector<ActionTime>>
  simulateActions(const PipelineTimes &times) const;

  size_t size() const { return steps.size(); }

  /// An action in the order of execution.
  struct Step {
    /// The rank that runs it.
    int32_t rank;
    /// Index of its duration: (rank * chunks + chunk) * 5 + kind.
    int32_t duration;
    /// For an Overlapped action, the index of the duration of its backward
    /// alone.
    int32_t backwardDuration = -1;
    /// Steps that it waits for, and the links between; -1: none.
    int32_t operands[2] = {-1, -1};
    int32_t links[2] = {-1, -1};
  };

private:
  /// Calls `visit` with each step, its start and its end.
  template <typename Visit>
  void run(const PipelineTimes &times, Visit visit) const;
  void sortByStart(const PipelineTimes &times);

  std::vector<Step> steps;
  int numRanks;
  /// Used only in asserts.
  [[maybe_unused]] int numChunks, numLinks;
  /// The first step of each rank.
  std::vector<int32_t> firstSteps;
  /// True if some step waits for two others.
  bool hasOverlapped = false;

  friend void insertTransfers(const ScheduleProblem &, Schedule &);
};

} // namespace tessera::schedule

#endif // TESSERA_SCHEDULE_TIMING_H
