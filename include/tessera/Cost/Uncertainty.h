//===- Uncertainty.h - How far a prediction may be off ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Intervals for the seconds and the bytes of a plan, and the probabilities that
// it fits and that it is faster than another. They come from published runs
// that were left out of the fit of the constants: how far off those were, by
// what was new of them (bench/validate_cost --leave-one-out and --pairs). The
// logarithm of measured over predicted has a Laplace distribution around 0,
// whose tails are as heavy as those of the runs.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COST_UNCERTAINTY_H
#define TESSERA_COST_UNCERTAINTY_H

#include "tessera/Cluster/ClusterSpec.h"
#include "tessera/Support/Plan.h"

namespace tessera::cost {

/// What is long, and large, for the runs behind the constants.
constexpr int64_t kLongSequence = 16384, kManyDevices = 1024;

/// What a plan has that the runs behind the constants had not.
struct Novelty {
  /// Constants of the device are guesses.
  bool device = false;
  /// No run of the framework was fitted, or it is not said which it is.
  bool framework = false;
  /// No run with matmuls of the precision was fitted.
  bool precision = false;
  /// Sequences of more than kLongSequence tokens.
  bool sequence = false;
  /// More than kManyDevices.
  bool size = false;
  /// An expert axis: no run of one was fitted.
  bool experts = false;
  /// Runs of the framework on the cluster moved the constants: neither is new,
  /// nor what is not known of them.
  bool isObserved = false;
  /// Others: single guesses, schedules and axes that no run had.
  size_t features = 0;
};

/// A distribution of the logarithm of measured over predicted.
class Doubt {
public:
  /// `width`: four of five are within as much of 0.
  explicit Doubt(double width);

  /// How far from 0 a share of all is, at most.
  double halfWidth(double share) const;
  /// The probability of a value of at most `x`.
  double below(double x) const;
  /// That of two independent quantities' quotient.
  Doubt plus(const Doubt &other) const;

private:
  double width;
};

/// How far, in logarithms, four of five steps are at most from what is
/// predicted of them where nothing is new.
constexpr double kKnownTimeWidth = 0.085;
/// The doubt about the seconds of a step; `known` in place of that width.
Doubt timeDoubt(const Novelty &novelty, double known = kKnownTimeWidth);
/// The doubt about the bytes of a device.
Doubt memoryDoubt(const Novelty &novelty);
/// What two plans of one model, batch and cluster differ in: the sharding of
/// layers; the pipeline; what is kept. Otherwise in the batch.
struct PlanDifference {
  bool axes = false, stages = false, memory = false;
};
/// Tells the plans apart by their fields.
PlanDifference differenceOf(const Plan &a, const Plan &b);

/// The doubt about the quotient of the seconds of two plans of one model, batch
/// and cluster: what they have in common cancels out.
Doubt ratioDoubt(const Plan &a, const Plan &b);

/// Both ends of an interval.
struct Interval {
  double low = 0, high = 0;
};

/// The interval around a prediction that has so much of all outcomes.
Interval intervalOf(double predicted, const Doubt &doubt, double share = 0.8);
/// The probability that what is predicted turns out as `limit` at most.
double probabilityBelow(double predicted, double limit, const Doubt &doubt);
/// The probability that plan `a`, of these predicted seconds, is faster than
/// `b`.
double probabilityFaster(const Plan &a, double secondsA, const Plan &b,
                         double secondsB);

/// What is new of a plan on a cluster, run by a framework (its preset's name;
/// empty: not said). `reasons`, if there is one, is given a line for each.
Novelty noveltyOf(const Plan &plan, const ClusterSpec &cluster,
                  llvm::StringRef framework,
                  std::vector<std::string> *reasons = nullptr);

} // namespace tessera::cost

#endif // TESSERA_COST_UNCERTAINTY_H
