//===- Report.h - The report of a run ---------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cost of a run: time of each step, CPU time, memory and traffic. Rank 0
// prints it after all ranks have written their numbers to shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_REPORT_H
#define TESSERA_RT_SRC_REPORT_H

#include "Options.h"
#include "checkpoint/RunRecord.h"
#include "data/Manifest.h"
#include "ranks/Context.h"

#include <string>
#include <vector>

namespace tessera::rt {

/// Distance of a result from the one it is compared with.
struct Comparison {
  std::string name;
  /// Largest |ours - theirs| and largest |theirs|. A NaN in only one of them
  /// makes the difference infinite.
  double difference = 0;
  double magnitude = 0;
};

/// The largest memory of all ranks, measured and by plan; see measureMemory.
struct MemoryReport {
  int64_t planned = 0;
  MemoryUse measured;

  /// Measured memory, without the memory of a program that does nothing.
  int64_t ofTheStep() const {
    return measured.total() - measured.privateAtStart;
  }
};
MemoryReport reportMemory(tessera_rt_context *ctx, const Manifest &manifest);

/// Times of the steps.
struct StepTimes {
  /// Wall time on rank 0.
  std::vector<double> seconds;
  /// Processor time of all ranks together.
  std::vector<double> cpuSeconds;
};

/// A rank that takes longer than others for the same work.
struct SlowRank {
  int rank = 0;
  /// Its busy time over the median of the ranks of its stage.
  double ratio = 1;
};

/// Returns the ranks that were busy at least 1.2 times as long as the median of
/// the ranks of their stage. `busy` are seconds by rank; medians below 0.1
/// seconds say nothing.
std::vector<SlowRank> findSlowRanks(const std::vector<double> &busy,
                                    const StridedAxis &stageAxis);

/// Prints the report of all ranks to standard output. `runTimes` is null if the
/// run has no record.
void printReport(tessera_rt_context *ctx, const Manifest &manifest,
                 const Options &options, const StepTimes &times,
                 const RunTimes *runTimes,
                 const std::vector<Comparison> &comparisons);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_REPORT_H
