//===- Uncertainty.h - Error bounds of a prediction -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Intervals for the seconds and the bytes of a plan, and the probabilities that
// it fits and that it is faster than another. They come from published runs
// that were left out of the fit of the constants: the errors of these, grouped
// by what was new in them (bench/validate_cost --leave-one-out and --pairs).
// The logarithm of measured over predicted has a Laplace distribution around 0,
// whose tails are as heavy as the runs' tails.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COST_UNCERTAINTY_H
#define TESSERA_COST_UNCERTAINTY_H

#include "tessera/Cluster/ClusterSpec.h"
#include "tessera/Cost/Execution.h"

namespace tessera::cost {

/// Limits above which a run is longer, or larger, than the fitted runs.
constexpr int64_t kLongSequence = 16384, kManyDevices = 1024;

/// Features of a plan that the fitted runs do not cover.
struct Novelty {
  /// Constants of the device are guesses.
  bool device = false;
  /// No run of the framework was fitted, or the framework is unknown.
  bool framework = false;
  /// No run with matmuls of the precision was fitted.
  bool precision = false;
  /// Sequences of more than kLongSequence tokens.
  bool sequence = false;
  /// More than kManyDevices.
  bool size = false;
  /// An expert axis: no run of one was fitted.
  bool experts = false;
  /// Runs of the framework on the cluster fitted the constants: neither is new,
  /// nor are their unknown settings.
  bool isObserved = false;
  /// Number of other features: single guesses, schedules and axes without a
  /// run.
  size_t features = 0;
};

/// A distribution of the logarithm of measured over predicted.
class Doubt {
public:
  /// `width`: the half width of the interval around 0 that holds four of five
  /// values.
  explicit Doubt(double width);

  /// The half width of the interval around 0 that holds `share` of all values.
  double halfWidth(double share) const;
  /// The probability of a value of at most `x`.
  double below(double x) const;
  /// The distribution of the quotient of two independent quantities.
  Doubt plus(const Doubt &other) const;

private:
  double width;
};

/// The half width, in logarithms, of the interval around the prediction that
/// holds four of five steps if nothing is new.
constexpr double kKnownTimeWidth = 0.085;
/// The doubt about the seconds of a step; `known` replaces that width.
Doubt timeDoubt(const Novelty &novelty, double known = kKnownTimeWidth);
/// The doubt about the bytes of a device.
Doubt memoryDoubt(const Novelty &novelty);
/// The differences of two plans of one model, batch and cluster: the sharding
/// of layers; the pipeline; the kept activations. If all are false, they differ
/// in the batch.
struct PlanDifference {
  bool axes = false, stages = false, memory = false;
};
/// Compares the plans field by field.
PlanDifference differenceOf(const Plan &a, const Plan &b);

/// The doubt about the quotient of the seconds of two plans of one model, batch
/// and cluster: their common features cancel out.
Doubt ratioDoubt(const ExecutedPlan &a, const ExecutedPlan &b);

/// Both ends of an interval.
struct Interval {
  double low = 0, high = 0;
};

/// The interval around a prediction that holds `share` of all outcomes.
Interval intervalOf(double predicted, const Doubt &doubt, double share = 0.8);
/// The probability that the actual value is at most `limit`.
double probabilityBelow(double predicted, double limit, const Doubt &doubt);
/// The probability that plan `a` is faster than `b`, given their predicted
/// seconds.
double probabilityFaster(const ExecutedPlan &a, double secondsA,
                         const ExecutedPlan &b, double secondsB);

/// The new features of a plan on a cluster, run by a framework (its name;
/// empty: unknown). `isFitted`: runs of the framework are among those that
/// fitted the constants. Adds one line per feature to `reasons` if it is not
/// null.
Novelty noveltyOf(const Plan &plan, const Execution &execution,
                  const ClusterSpec &cluster, llvm::StringRef framework = "",
                  bool isFitted = false,
                  std::vector<std::string> *reasons = nullptr);

} // namespace tessera::cost

#endif // TESSERA_COST_UNCERTAINTY_H
