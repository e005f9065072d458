//===- Observe.cpp - Constants from runs of a model -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes the maximum of the posterior of a linear model of logarithms with a
// Gaussian prior (Bishop 2006, section 3.3), iterated with finite differences.
// Times of runs have long tails: their noise has Student's t distribution,
// whose maximum is found by weights that fall with the residual (Lange, Little
// and Taylor 1989).
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/Observe.h"
#include "tessera/Cost/Calibrate.h"
#include "tessera/Cost/DeviceModel.h"
#include "tessera/Report/Table.h"
#include "tessera/Support/Errors.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <array>
#include <cmath>

using namespace llvm;
using namespace tessera;
using namespace tessera::cost;

namespace {

/// A kind of work: the constants that determine its time, and the spread of
/// frameworks around them.
struct Kind {
  const char *name;
  double spread;
  /// Multiplies the time of the work.
  void (*scale)(ClusterSpec &cluster, double factor);
};

} // namespace

static void scaleConstants(ClusterSpec &cluster, ArrayRef<StringRef> names,
                           double factor) {
  for (auto &[name, quantity] : cluster.device.constants)
    if (is_contained(names, StringRef(name)))
      quantity.value *= factor;
}

static void scaleCompute(ClusterSpec &cluster, double factor) {
  scaleConstants(cluster,
                 {"matmul_rate", "matmul_rate_fp8", "matmul_rate_fp4",
                  "attention_rate", "attention_backward_rate",
                  "portable_attention_rate",
                  "portable_attention_backward_rate"},
                 1 / factor);
}
static void scaleMemory(ClusterSpec &cluster, double factor) {
  scaleConstants(cluster, {"memory_rate"}, 1 / factor);
}
static void scaleLinks(ClusterSpec &cluster, double factor) {
  for (LevelSpec &level : cluster.levels) {
    level.efficiency.value /= factor;
    level.latency.value *= factor;
  }
}
static void scaleHost(ClusterSpec &cluster, double factor) {
  scaleConstants(
      cluster,
      {"host_launch_s", "host_call_s", "kernel_floor_s", "step_floor_s"},
      factor);
}

/// Spreads of the frameworks of one device around its constants (docs/cost.md).
static constexpr Kind kKinds[] = {{"matmuls and attention", 0.12, scaleCompute},
                                  {"memory-bound kernels", 0.15, scaleMemory},
                                  {"collectives", 0.20, scaleLinks},
                                  {"host and kernel floors", 0.40, scaleHost}};
static constexpr size_t kNumKinds = std::size(kKinds);
using Factors = std::array<double, kNumKinds>;

/// Deviation of the logarithm of a run's time from a similar run (four of five
/// layouts that differ only in the batch are within 5 %, ratioDoubt()), and of
/// its memory.
static constexpr double kNoise = 0.03, kMemorySpread = 0.08,
                        kMemoryNoise = 0.03;
/// Degrees of freedom of the noise of times: one run in 20 is off by more than
/// 2.8 deviations.
static constexpr double kTailFreedom = 4;
/// Maximum factor between an observation and its price.
static constexpr double kMost = 3;
/// An observation whose weight is below this share of an exact one is an
/// outlier.
static constexpr double kOutlierShare = 0.1;

static ClusterSpec scaled(const ClusterSpec &cluster, const Factors &logs) {
  ClusterSpec moved = cluster;
  for (auto [kind, log] : zip_equal(kKinds, logs))
    kind.scale(moved, std::exp(log));
  return moved;
}

/// Solves a x = b by elimination; a is positive definite.
static Factors solve(std::array<Factors, kNumKinds> a, Factors b) {
  for (size_t k = 0; k < kNumKinds; ++k)
    for (size_t i = k + 1; i < kNumKinds; ++i) {
      double factor = a[i][k] / a[k][k];
      for (size_t j = k; j < kNumKinds; ++j)
        a[i][j] -= factor * a[k][j];
      b[i] -= factor * b[k];
    }
  for (size_t i = kNumKinds; i-- > 0;) {
    for (size_t j = i + 1; j < kNumKinds; ++j)
      b[i] -= a[i][j] * b[j];
    b[i] /= a[i][i];
  }
  return b;
}

namespace {

/// The posterior's normal equations around given factors.
struct Normal {
  std::array<Factors, kNumKinds> matrix{};
  Factors right{};
};

} // namespace

/// Returns the weight of an observation whose logarithm is off by `residual`,
/// relative to an exact one.
static double shareOf(double residual) {
  double deviations = residual / kNoise;
  return kTailFreedom / (kTailFreedom + deviations * deviations);
}

static Expected<Normal> linearize(const ClusterSpec &cluster,
                                  ArrayRef<const Observation *> used,
                                  const Factors &logs,
                                  const PriceFunction &price) {
  constexpr double kStep = 0.01;
  Normal normal;
  for (size_t k = 0; k < kNumKinds; ++k) {
    double precision = 1 / (kKinds[k].spread * kKinds[k].spread);
    normal.matrix[k][k] = precision;
    normal.right[k] = -precision * logs[k];
  }
  for (const Observation *observation : used) {
    auto base = price(scaled(cluster, logs), observation->plan);
    if (!base)
      return base.takeError();
    double residual = std::log(observation->seconds / base->seconds);
    double precision = (kTailFreedom + 1) / kTailFreedom * shareOf(residual) /
                       (kNoise * kNoise);
    Factors slopes;
    for (size_t k = 0; k < kNumKinds; ++k) {
      Factors moved = logs;
      moved[k] += kStep;
      auto other = price(scaled(cluster, moved), observation->plan);
      if (!other)
        return other.takeError();
      slopes[k] = std::log(other->seconds / base->seconds) / kStep;
    }
    for (size_t k = 0; k < kNumKinds; ++k) {
      normal.right[k] += slopes[k] * residual * precision;
      for (size_t j = 0; j < kNumKinds; ++j)
        normal.matrix[k][j] += slopes[k] * slopes[j] * precision;
    }
  }
  return normal;
}

static Error checkObservation(const Observation &observation,
                              const ClusterSpec &cluster, StringRef model) {
  auto fail = [&](StringRef what, StringRef expected, StringRef got) {
    return createStringError(observation.where + ": " + what + ": expects '" +
                             expected + "' but got '" + got + "'");
  };
  if (!observation.model.empty() && observation.model != model)
    return fail("model", model, observation.model);
  if (!observation.cluster.empty() && observation.cluster != cluster.name)
    return fail("cluster", cluster.name, observation.cluster);
  return Error::success();
}

/// Returns predicted over measured seconds of all used observations.
static Expected<std::vector<double>>
ratiosOf(const ClusterSpec &cluster, ArrayRef<const Observation *> used,
         const PriceFunction &price) {
  std::vector<double> ratios;
  for (const Observation *observation : used) {
    auto priced = price(cluster, observation->plan);
    if (!priced)
      return prefixError(observation->where + ": ", priced.takeError());
    ratios.push_back(priced->seconds / observation->seconds);
  }
  return ratios;
}

/// Returns the usable observations. Records the other ones, and the memory of
/// all of them, in `fit`.
static Expected<std::vector<const Observation *>>
select(const ClusterSpec &cluster, ArrayRef<Observation> observations,
       StringRef model, const PriceFunction &price, ObservedFit &fit) {
  std::vector<const Observation *> used;
  double memory = 0, count = 0;
  for (const Observation &observation : observations) {
    if (Error error = checkObservation(observation, cluster, model))
      return std::move(error);
    auto priced = price(cluster, observation.plan);
    if (!priced)
      return prefixError(observation.where + ": ", priced.takeError());
    double capacity = cluster.device.memoryBytes.value;
    if (observation.bytes > capacity)
      return createStringError(
          formatv("{0}: bytes: expects at most the {1:e3} of a device but got "
                  "{2:e3}",
                  observation.where, capacity, observation.bytes));
    // A run that took place is not rejected for the margin of the prediction.
    if (priced->bytes > 1.25 * capacity)
      return createStringError(formatv(
          "{0}: layout: expects one that fits a device of {1:e3} bytes but "
          "it needs {2:e3}",
          observation.where, capacity, priced->bytes));
    double ratio = observation.seconds / priced->seconds;
    if (ratio > kMost || ratio < 1 / kMost) {
      fit.unused.push_back(formatv(
          "{0}: {1:f3} s where {2:f3} are predicted, more than a factor of "
          "three: it needs another layout, batch, unit or device",
          observation.where, observation.seconds, priced->seconds));
      continue;
    }
    used.push_back(&observation);
    if (observation.bytes > 0) {
      memory += std::log(observation.bytes / priced->bytes);
      ++count;
    }
  }
  if (count > 0) {
    double prior = 1 / (kMemorySpread * kMemorySpread),
           each = 1 / (kMemoryNoise * kMemoryNoise);
    fit.bytesFactor = std::exp(each * memory / (prior + each * count));
  }
  return used;
}

Expected<ObservedFit> tessera::cost::observe(ClusterSpec &cluster,
                                             ArrayRef<Observation> observations,
                                             StringRef model,
                                             const PriceFunction &price) {
  ObservedFit fit;
  auto used = select(cluster, observations, model, price, fit);
  if (!used)
    return used.takeError();
  fit.numUsed = used->size();
  Factors logs{};
  Normal normal;
  // Weights change slowly if an observation is far off.
  constexpr int kMostIterations = 100;
  constexpr double kConverged = 1e-5;
  double largest = 1;
  for (int i = 0; i < kMostIterations && largest > kConverged; ++i) {
    auto next = linearize(cluster, *used, logs, price);
    if (!next)
      return next.takeError();
    normal = *next;
    Factors step = solve(normal.matrix, normal.right);
    largest = 0;
    for (size_t k = 0; k < kNumKinds; ++k) {
      logs[k] += step[k];
      largest = std::max(largest, std::fabs(step[k]));
    }
  }
  auto before = ratiosOf(cluster, *used, price);
  if (!before)
    return before.takeError();
  cluster = scaled(cluster, logs);
  auto after = ratiosOf(cluster, *used, price);
  if (!after)
    return after.takeError();
  for (auto [observation, ratio] : zip_equal(*used, *after))
    if (double share = shareOf(std::log(ratio)); share < kOutlierShare)
      fit.outliers.push_back(
          formatv("{0}: {1:f3} s where {2:f3} are predicted with all that is "
                  "observed; it counts {3:f0} % of a run, more with others "
                  "like it",
                  observation->where, observation->seconds,
                  ratio * observation->seconds, 100 * share));
  fit.errorBefore = medianError(*before);
  fit.errorAfter = medianError(*after);
  for (size_t k = 0; k < kNumKinds; ++k) {
    Factors unit{};
    unit[k] = 1;
    fit.posteriors.push_back({kKinds[k].name, kKinds[k].spread,
                              std::sqrt(solve(normal.matrix, unit)[k]),
                              std::exp(logs[k])});
  }
  return fit;
}

void tessera::cost::print(const ObservedFit &fit, raw_ostream &os) {
  Table table;
  table.addRow({"work", "time, x", "spread before", "after"});
  for (const Posterior &posterior : fit.posteriors)
    table.addRow({posterior.kind, formatv("{0:f3}", posterior.factor),
                  formatv("{0:f1} %", 100 * posterior.before),
                  formatv("{0:f1} %", 100 * posterior.after)});
  table.print(os);
  os << formatv("runs used: {0}; median error {1:f1} % before, {2:f1} % after; "
                "memory x {3:f3}\n",
                fit.numUsed, 100 * fit.errorBefore, 100 * fit.errorAfter,
                fit.bytesFactor);
  for (const std::string &line : fit.unused)
    os << "not used: " << line << "\n";
  for (const std::string &line : fit.outliers)
    os << "outlier: " << line << "\n";
}
