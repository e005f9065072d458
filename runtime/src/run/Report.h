//===- Report.h - The report of a run ---------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a run cost: time of each step, CPU time, memory and traffic. Printed by
// rank 0, once all ranks have left their numbers in shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_REPORT_H
#define TESSERA_RT_SRC_REPORT_H

#include "Options.h"
#include "data/Manifest.h"
#include "ranks/Context.h"

#include <string>
#include <vector>

namespace tessera::rt {

/// How far a result is from the one it was compared with.
struct Comparison {
  std::string name;
  /// Largest |ours - theirs| and largest |theirs|; a NaN in one alone makes the
  /// difference infinite.
  double difference = 0;
  double magnitude = 0;
};

/// The largest memory of all ranks, measured and by plan; see measureMemory.
struct MemoryReport {
  int64_t planned = 0;
  MemoryUse measured;

  /// Measured, without what a program has that does nothing.
  int64_t ofTheStep() const {
    return measured.total() - measured.privateAtStart;
  }
};
MemoryReport reportMemory(tessera_rt_context *ctx, const Manifest &manifest);

/// What each step took.
struct StepTimes {
  /// Wall time on rank 0.
  std::vector<double> seconds;
  /// Processor time of all ranks together.
  std::vector<double> cpuSeconds;
};

/// Prints the report of all ranks to standard output.
void printReport(tessera_rt_context *ctx, const Manifest &manifest,
                 const Options &options, const StepTimes &times,
                 const std::vector<Comparison> &comparisons);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_REPORT_H
