//===- TimedRuns.h - Seconds of compiled programs ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_TIMEDRUNS_H
#define TESSERA_TOOLS_TIMEDRUNS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace tessera {

/// Processors that this process may use.
int64_t countProcessors();

/// GPUs that a CUDA driver of this machine has; 0 without one.
int64_t countGPUs();

/// What a run of a program took, without its first step, which touches all
/// memory: medians of its other steps, in seconds.
struct StepSeconds {
  /// Of the clock.
  double wall = 0;
  /// Of processors, all ranks together.
  double cpu = 0;
};

/// Runs a program for a number of steps and one before, on made-up tokens, one
/// thread a rank. An error has the first line of the program's.
llvm::Expected<StepSeconds> timeSteps(llvm::StringRef program, int64_t ranks,
                                      unsigned steps);

/// The middle of some numbers, the lower of two.
double getMedian(std::vector<double> values);

/// How far each candidate got.
struct Halving {
  /// The number of the fastest.
  size_t fastest = 0;
  /// Of each candidate the median of its runs in the last round it was in, in
  /// seconds.
  std::vector<double> seconds;
  /// The last round that each was in, from 1.
  std::vector<unsigned> rounds;
};

/// Successive halving (K. Jamieson, A. Talwalkar: Non-stochastic Best Arm
/// Identification, 2016). In each round the candidates that are left run in
/// turn, five times, since other work on a machine then meets all of them; the
/// slower half goes, and the others run twice as many steps in the next one:
///
///     round 1, 16 steps    a 5.1   b 4.0   c 4.2   d 7.7
///     round 2, 32 steps            b 4.1   c 4.0             c is taken
///
/// `run` gives the seconds of a step of a candidate, `report` hears of each
/// round that is done. Of equal candidates the first is taken.
llvm::Expected<Halving>
halve(size_t candidates,
      llvm::function_ref<llvm::Expected<double>(size_t, unsigned)> run,
      llvm::function_ref<void(unsigned, unsigned, size_t)> report);

} // namespace tessera

#endif // TESSERA_TOOLS_TIMEDRUNS_H
