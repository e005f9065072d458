//===- Scores.h - How good predictions are ----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_BENCH_VALIDATE_SCORES_H
#define TESSERA_BENCH_VALIDATE_SCORES_H

#include "llvm/Support/JSON.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tessera::validate {

/// A prediction and its measurement.
struct Sample {
  double measured = 0, predicted = 0;
  double weight = 1;
  /// FLOPs of the model in a step and the devices that share them: the null
  /// model's input.
  double modelFlops = 0, devices = 1;
  /// Samples with one key are a sweep over layouts. Layouts may repeat: a
  /// repeated run, or a run of another release.
  std::string sweep, layout;

  double error() const { return predicted / measured - 1; }
};

using Samples = std::vector<Sample>;

/// Weighted mean of |predicted / measured - 1|; none without samples.
std::optional<double> meanError(const Samples &samples);
std::optional<double> medianError(const Samples &samples);
/// Weighted mean of predicted / measured - 1.
std::optional<double> bias(const Samples &samples);
/// The mean error of the null model, time = FLOPs / (devices x constant), with
/// the constant that minimizes it on `fitted`.
std::optional<double> nullError(const Samples &samples, const Samples &fitted);
/// Rank correlation of predicted and measured values within sweeps of at least
/// three layouts, averaged over sweeps by their size.
std::optional<double> spearman(const Samples &samples);
/// Measured time of the layout that is predicted to be best, over the best
/// measured time, minus 1; averaged over sweeps of at least `least` layouts.
std::optional<double> regret(const Samples &samples, size_t least = 3);

/// All figures that are reported for one source.
struct SourceScore {
  int64_t rows = 0, complete = 0, used = 0;
  /// Used rows among the complete rows.
  int64_t usedComplete = 0;
  std::map<std::string, int64_t> skipped;
  Samples times, memory, bubbles;
  /// Collectives by size class: below 64 KiB, to 1 MiB, to 64 MiB, above.
  std::map<std::string, Samples> collectives;
  Samples largeCollectives;
  int64_t oomRight = 0, oomMissed = 0, oomRows = 0;

  llvm::json::Object toJson() const;
};

} // namespace tessera::validate

#endif // TESSERA_BENCH_VALIDATE_SCORES_H
