//===- Observe.h - Constants from runs of a model ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One step time, or a few, of runs of a framework on a cluster move the few
// constants that they determine: the efficiency of matmuls and attention, of
// kernels bound by memory, of links, and the host's time. Each has a prior
// around the constants of the cluster; what an observation says of them is its
// posterior. From one layout of a sweep the others are predicted; from two
// models, others.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COST_OBSERVE_H
#define TESSERA_COST_OBSERVE_H

#include "tessera/Cluster/ClusterSpec.h"
#include "tessera/Support/PlanFields.h"
#include "llvm/Support/raw_ostream.h"
#include <functional>

namespace tessera::cost {

/// A run that was observed.
struct Observation {
  Plan plan;
  /// Of a step; of the fullest device, 0: not observed.
  double seconds = 0, bytes = 0;
  /// What the file says of the model and of the cluster; empty: nothing.
  std::string model, cluster;
  /// "runs.csv:3".
  std::string where;
};

/// Reads runs.
/// * Comma-separated with a header: `layout` (fields of a plan, as
///   "dp=4,tp=2,global-batch=64", in quotes) and one of `seconds`, `ms`;
///   `bytes`, `model` and `cluster` may be there.
/// * JSON: an object, or a list of them, with `layout` (as --json writes it, or
///   a text as above), `seconds`, and the same others.
/// * The log of a program (--log=jsonl): the median of its steps; the plan is
///   `base`.
/// Fields that a layout does not give are those of `base`. Errors name file,
/// line, column, what is expected and what is there.
llvm::Expected<std::vector<Observation>>
parseObservations(llvm::StringRef text, llvm::StringRef fileName,
                  const Plan &base);

/// Seconds and bytes that a plan has on a cluster.
struct ObservedPrice {
  double seconds = 0, bytes = 0;
};
using PriceFunction = std::function<llvm::Expected<ObservedPrice>(
    const ClusterSpec &, const Plan &)>;

/// A kind of work whose efficiency was moved.
struct Posterior {
  std::string kind;
  /// Standard deviation of its logarithm before, and after.
  double before = 0, after = 0;
  /// The time of the work relative to that of the cluster's constants.
  double factor = 1;
};

/// What observations say.
struct ObservedFit {
  std::vector<Posterior> posteriors;
  /// Bytes of a device relative to the predicted.
  double bytesFactor = 1;
  size_t numUsed = 0;
  /// Observations that were not used, or hardly, since they contradict the
  /// price or each other; each with what it would need.
  std::vector<std::string> unused, outliers;
  /// Median of |predicted / measured - 1| before and after.
  double errorBefore = 0, errorAfter = 0;
};

/// Moves the constants of `cluster`. An error for an observation of another
/// model or cluster, or of a plan that has no price or does not fit its
/// devices. An observation that contradicts the price by more than a factor of
/// three is not used. The further another is from what all say, the less it
/// counts: half at 6 % off, a tenth at 20 %.
llvm::Expected<ObservedFit> observe(ClusterSpec &cluster,
                                    llvm::ArrayRef<Observation> observations,
                                    llvm::StringRef model,
                                    const PriceFunction &price);

/// Prints a row for each kind of work.
void print(const ObservedFit &fit, llvm::raw_ostream &os);

} // namespace tessera::cost

#endif // TESSERA_COST_OBSERVE_H
