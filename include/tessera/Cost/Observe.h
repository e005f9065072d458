//===- Observe.h - Constants from runs of a model ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fits the few constants that one or several step times of a framework on a
// cluster determine: the efficiency of matmuls and attention, of memory-bound
// kernels, of links, and the host's time. Each has a prior around the constants
// of the cluster; the observations give its posterior. One observed layout of a
// sweep predicts the others, and two models predict others.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COST_OBSERVE_H
#define TESSERA_COST_OBSERVE_H

#include "tessera/Cluster/ClusterSpec.h"
#include "tessera/Cost/ExecutionFields.h"
#include "llvm/Support/raw_ostream.h"
#include <functional>

namespace tessera::cost {

/// An observed run.
struct Observation {
  ExecutedPlan plan;
  /// Seconds of a step; bytes of the fullest device, 0: not observed.
  double seconds = 0, bytes = 0;
  /// Names of the model and of the cluster in the file; empty: not given.
  std::string model, cluster;
  /// File and line, such as "runs.csv:3".
  std::string where;
};

/// Reads runs.
/// * Comma-separated with a header: `layout` (fields of a plan, as
///   "dp=4,tp=2,global-batch=64", in quotes) and one of `seconds`, `ms`;
///   `bytes`, `model` and `cluster` are optional.
/// * JSON: an object, or a list of them, with `layout` (as --json writes it, or
///   a text as above), `seconds`, and the same optional keys.
/// * The log of a program (--log=jsonl): the median of its steps; the plan is
///   `base`.
/// Fields that a layout does not give have the value of `base`. Errors name the
/// file, the line, the column, the expected text and the actual text.
llvm::Expected<std::vector<Observation>>
parseObservations(llvm::StringRef text, llvm::StringRef fileName,
                  const ExecutedPlan &base);

/// Seconds and bytes of a plan on a cluster.
struct ObservedPrice {
  double seconds = 0, bytes = 0;
};
using PriceFunction = std::function<llvm::Expected<ObservedPrice>(
    const ClusterSpec &, const ExecutedPlan &)>;

/// A kind of work whose efficiency was fitted.
struct Posterior {
  std::string kind;
  /// Standard deviation of the logarithm of the factor before, and after.
  double before = 0, after = 0;
  /// The time of the work relative to its time with the cluster's constants.
  double factor = 1;
};

/// The result of a fit to observations.
struct ObservedFit {
  std::vector<Posterior> posteriors;
  /// Bytes of a device relative to the predicted bytes.
  double bytesFactor = 1;
  size_t numUsed = 0;
  /// Observations that were not used, or had little weight, since they
  /// contradict the price or each other; each with the factor that it would
  /// need.
  std::vector<std::string> unused, outliers;
  /// Median of |predicted / measured - 1| before and after.
  double errorBefore = 0, errorAfter = 0;
};

/// Fits the constants of `cluster`. Fails on an observation of another model or
/// cluster, or of a plan that has no price or does not fit its devices. An
/// observation that differs from the price by more than a factor of three is
/// not used. The further an observation is from the consensus, the smaller its
/// weight: half at 6 % off, a tenth at 20 %.
llvm::Expected<ObservedFit> observe(ClusterSpec &cluster,
                                    llvm::ArrayRef<Observation> observations,
                                    llvm::StringRef model,
                                    const PriceFunction &price);

/// Prints one row per kind of work.
void print(const ObservedFit &fit, llvm::raw_ostream &os);

} // namespace tessera::cost

#endif // TESSERA_COST_OBSERVE_H
