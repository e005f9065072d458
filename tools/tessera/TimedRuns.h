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

/// The time of a step of a program, in seconds: the median of all steps but the
/// first, which touches all memory.
struct StepSeconds {
  /// Wall time.
  double wall = 0;
  /// Processor time of all ranks together.
  double cpu = 0;
};

/// Runs a program for one warm-up step and `steps` steps, on random tokens,
/// with one thread per rank. An error contains the first line of the program's
/// output.
llvm::Expected<StepSeconds> timeSteps(llvm::StringRef program, int64_t ranks,
                                      unsigned steps);

/// The median; of an even count the lower of the middle two.
double getMedian(std::vector<double> values);

/// The result of successive halving.
struct Halving {
  /// The index of the fastest candidate.
  size_t fastest = 0;
  /// Per candidate, the median of its runs in its last round, in seconds.
  std::vector<double> seconds;
  /// Per candidate, the number of its last round, from 1.
  std::vector<unsigned> rounds;
};

/// Successive halving (K. Jamieson, A. Talwalkar: Non-stochastic Best Arm
/// Identification, 2016). In each round the remaining candidates run in turn,
/// five times each, so that other load on the machine affects all of them. The
/// slower half is dropped, and the others run twice as many steps in the next
/// round:
///
///     round 1, 16 steps    a 5.1   b 4.0   c 4.2   d 7.7
///     round 2, 32 steps            b 4.1   c 4.0             c is taken
///
/// `run` returns the seconds of a step of a candidate, `report` is called after
/// each round. Among equally fast candidates the first is taken.
llvm::Expected<Halving>
halve(size_t candidates,
      llvm::function_ref<llvm::Expected<double>(size_t, unsigned)> run,
      llvm::function_ref<void(unsigned, unsigned, size_t)> report);

} // namespace tessera

#endif // TESSERA_TOOLS_TIMEDRUNS_H
