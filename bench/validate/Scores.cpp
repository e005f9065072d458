//===- Scores.cpp - How good predictions are --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scores.h"
#include "tessera/Cost/Calibrate.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <numeric>

using namespace llvm;
using namespace tessera;
using namespace tessera::validate;

static double totalWeight(const Samples &samples) {
  double sum = 0;
  for (const Sample &sample : samples)
    sum += sample.weight;
  return sum;
}

std::optional<double> tessera::validate::meanError(const Samples &samples) {
  if (samples.empty())
    return std::nullopt;
  double sum = 0;
  for (const Sample &sample : samples)
    sum += sample.weight * std::fabs(sample.error());
  return sum / totalWeight(samples);
}

std::optional<double> tessera::validate::medianError(const Samples &samples) {
  if (samples.empty())
    return std::nullopt;
  std::vector<std::pair<double, double>> errors;
  for (const Sample &sample : samples)
    errors.emplace_back(std::fabs(sample.error()), sample.weight);
  llvm::sort(errors);
  double half = totalWeight(samples) / 2, sum = 0;
  for (const auto &[error, weight] : errors) {
    sum += weight;
    if (sum >= half)
      return error;
  }
  return errors.back().first;
}

std::optional<double> tessera::validate::bias(const Samples &samples) {
  if (samples.empty())
    return std::nullopt;
  double sum = 0;
  for (const Sample &sample : samples)
    sum += sample.weight * sample.error();
  return sum / totalWeight(samples);
}

/// The mean error of a null model with `seconds` per FLOP.
static double nullErrorOf(const Samples &samples, double seconds) {
  double sum = 0;
  for (const Sample &sample : samples)
    sum += sample.weight * std::fabs(sample.modelFlops / sample.devices *
                                         seconds / sample.measured -
                                     1);
  return sum / totalWeight(samples);
}

std::optional<double> tessera::validate::nullError(const Samples &samples,
                                                   const Samples &fitted) {
  if (samples.empty() || fitted.empty())
    return std::nullopt;
  // The mean of absolute errors is piecewise linear in 1 / constant: at a
  // minimum some sample has no error.
  double best = INFINITY, chosen = 0;
  for (const Sample &exact : fitted) {
    if (exact.modelFlops <= 0)
      return std::nullopt;
    double seconds = exact.measured * exact.devices / exact.modelFlops;
    if (double error = nullErrorOf(fitted, seconds); error < best) {
      best = error;
      chosen = seconds;
    }
  }
  return nullErrorOf(samples, chosen);
}

/// Ranks of values; equal values get the mean of their ranks.
static std::vector<double> ranks(ArrayRef<double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> result(values.size());
  for (size_t i = 0; i < order.size();) {
    size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]])
      ++end;
    for (size_t j = i; j < end; ++j)
      result[order[j]] = (i + end - 1) / 2.0;
    i = end;
  }
  return result;
}

static std::optional<double> correlation(ArrayRef<double> a,
                                         ArrayRef<double> b) {
  double n = a.size();
  double meanA = std::accumulate(a.begin(), a.end(), 0.0) / n;
  double meanB = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double ab = 0, aa = 0, bb = 0;
  for (auto [x, y] : llvm::zip_equal(a, b)) {
    ab += (x - meanA) * (y - meanB);
    aa += (x - meanA) * (x - meanA);
    bb += (y - meanB) * (y - meanB);
  }
  if (aa == 0 || bb == 0)
    return std::nullopt;
  return ab / std::sqrt(aa * bb);
}

namespace {
/// The medians of a layout's samples in a sweep.
struct LayoutTimes {
  double measured, predicted;
};
} // namespace

/// The sweeps of at least `least` layouts.
static std::vector<std::vector<LayoutTimes>> sweeps(const Samples &samples,
                                                    size_t least) {
  struct Values {
    std::vector<double> measured, predicted;
  };
  std::map<std::string, std::map<std::string, Values>> byKey;
  for (const Sample &sample : samples) {
    if (sample.sweep.empty())
      continue;
    Values &values = byKey[sample.sweep][sample.layout];
    values.measured.push_back(sample.measured);
    values.predicted.push_back(sample.predicted);
  }
  std::vector<std::vector<LayoutTimes>> result;
  for (const auto &[key, layouts] : byKey) {
    if (layouts.size() < least)
      continue;
    result.emplace_back();
    for (const auto &[layout, values] : layouts)
      result.back().push_back(
          {cost::median(values.measured), cost::median(values.predicted)});
  }
  return result;
}

std::optional<double> tessera::validate::spearman(const Samples &samples) {
  double sum = 0, count = 0;
  for (const auto &sweep : sweeps(samples, 3)) {
    std::vector<double> measured, predicted;
    for (const LayoutTimes &layout : sweep) {
      measured.push_back(layout.measured);
      predicted.push_back(layout.predicted);
    }
    auto r = correlation(ranks(measured), ranks(predicted));
    if (!r)
      continue;
    sum += *r * sweep.size();
    count += sweep.size();
  }
  if (count == 0)
    return std::nullopt;
  return sum / count;
}

std::optional<double> tessera::validate::regret(const Samples &samples,
                                                size_t least) {
  double sum = 0, count = 0;
  for (const auto &sweep : sweeps(samples, least)) {
    LayoutTimes chosen = sweep[0];
    double best = INFINITY;
    for (const LayoutTimes &layout : sweep) {
      if (layout.predicted < chosen.predicted)
        chosen = layout;
      best = std::min(best, layout.measured);
    }
    sum += chosen.measured / best - 1;
    count += 1;
  }
  if (count == 0)
    return std::nullopt;
  return sum / count;
}

json::Object SourceScore::toJson() const {
  auto value = [](std::optional<double> number) -> json::Value {
    if (!number)
      return nullptr;
    return *number;
  };
  auto count = [&](int64_t number) -> json::Value {
    if (oomRows == 0)
      return nullptr;
    return number;
  };
  json::Object reasons;
  for (const auto &[why, number] : skipped)
    reasons[why] = number;
  std::optional<double> worst;
  for (const Sample &sample : memory)
    worst = std::max(worst.value_or(0), -sample.error());
  json::Object sizes;
  for (const auto &[name, samples] : collectives)
    sizes[name] = value(meanError(samples));
  double bubblePoints = 0;
  for (const Sample &sample : bubbles)
    bubblePoints = std::max(
        bubblePoints, std::fabs(sample.predicted - sample.measured) * 100);
  return json::Object{{"rows", rows},
                      {"complete", complete},
                      {"used", used},
                      {"used_complete", usedComplete},
                      {"skipped", std::move(reasons)},
                      {"time_mape", value(meanError(times))},
                      {"time_median", value(medianError(times))},
                      {"time_bias", value(bias(times))},
                      {"null_mape", value(nullError(times, times))},
                      {"spearman", value(spearman(times))},
                      {"regret", value(regret(times))},
                      {"mem_mape", value(meanError(memory))},
                      {"mem_median", value(medianError(memory))},
                      {"mem_worst_under", value(worst)},
                      {"oom_right", count(oomRight)},
                      {"oom_missed", count(oomMissed)},
                      {"coll_mape_1mib", value(meanError(largeCollectives))},
                      {"coll_mape_by_size", std::move(sizes)},
                      {"bubble_worst_points", bubbles.empty()
                                                  ? json::Value(nullptr)
                                                  : json::Value(bubblePoints)}};
}
