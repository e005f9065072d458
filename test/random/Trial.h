//===- Trial.h - One program through the compiler ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_RANDOM_TRIAL_H
#define TESSERA_TEST_RANDOM_TRIAL_H

#include "Program.h"
#include "mlir/IR/MLIRContext.h"

namespace tessera::test {

/// The outcome of a program.
enum class Outcome {
  Right,
  /// Rejected with an error.
  Refused,
  /// Correct, and not provable: allowed, but an error in a compilation.
  RightNotProvable,
  // All following outcomes are defects.
  NotParsed,
  /// The interpreter rejects the original program.
  OriginalRefused,
  OriginalWrong,
  LocalRefused,
  WrongButProven,
  WrongAndRefused,
  RightButRefuted,
  Crash,
  Hang
};
constexpr int kNumOutcomes = static_cast<int>(Outcome::Hang) + 1;
const char *stringify(Outcome outcome);
inline bool isDefect(Outcome outcome) {
  return outcome > Outcome::RightNotProvable;
}

struct TrialResult {
  Outcome outcome = Outcome::Right;
  /// The first error, or the first difference.
  std::string message;
  int64_t judged = 0, total = 0;
};

/// Compiles for the mesh, proves, interprets the program before and after on
/// two sets of data and judges both.
TrialResult run(const Program &program, uint64_t seed,
                mlir::MLIRContext &context);

} // namespace tessera::test

#endif // TESSERA_TEST_RANDOM_TRIAL_H
