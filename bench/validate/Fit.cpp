//===- Fit.cpp - Constants of devices from published runs -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gauss-Newton with derivatives by differences, in steps that are halved until
// they lead downhill.
//
//===----------------------------------------------------------------------===//

#include "Fit.h"
#include "tessera/Cost/DeviceModel.h"
#include <cmath>

using namespace llvm;
using namespace tessera;
using namespace tessera::validate;

/// Priors: matmul rates and bandwidths from the best that micro-benchmarks
/// reach, attention from the publications of its kernels, floors and host times
/// from profiles. Spreads say how far a long run may be from them.
const std::vector<FitParameter> &tessera::validate::fitParameters() {
  static const std::vector<FitParameter> list = {
      {"A100", "matmul_rate", 0.80, 0.06},
      {"A100", "matmul_fill", 128, 0.3},
      {"A100", "memory_rate", 0.80, 0.12},
      {"A100", "attention_rate", 0.55, 0.15},
      {"A100", "attention_backward_rate", 0.42, 0.2},
      {"A100", "portable_attention_rate", 0.60, 0.12},
      {"A100", "portable_attention_backward_rate", 0.45, 0.15},
      {"A100", "attention_fill", 225, 0.4},
      {"A100", "kernel_floor_s", 3e-6, 0.3},
      {"A100", "host_launch_s", 8e-6, 0.3},
      {"A100", "overlap_slowdown", 0.3, 0.5},
      {"A100", "step_floor_s", 3e-3, 0.7},
      {"A100", "levels.1.efficiency", 0.8, 0.15},
      {"H100", "matmul_rate", 0.76, 0.08},
      {"H100", "matmul_rate_fp8", 0.70, 0.1},
      {"H100", "matmul_fill", 128, 0.3},
      {"H100", "memory_rate", 0.78, 0.12},
      {"H100", "attention_rate", 0.58, 0.12},
      {"H100", "attention_backward_rate", 0.45, 0.15},
      {"H100", "portable_attention_rate", 0.36, 0.12},
      {"H100", "portable_attention_backward_rate", 0.30, 0.15},
      {"H100", "attention_fill", 225, 0.4},
      {"H100", "kernel_floor_s", 2.5e-6, 0.3},
      {"H100", "host_launch_s", 6e-6, 0.3},
      {"H100", "overlap_slowdown", 0.3, 0.5},
      {"H100", "step_floor_s", 3e-3, 0.7},
      // At 500 of 700 W clocks are 0.85 of the others': power goes by the 2.5th
      // power of the clock, beside 120 W that do not.
      {"H100-96", "matmul_rate", 0.65, 0.08},
      {"H100-96", "matmul_rate_fp8", 0.60, 0.1},
      {"H100-96", "attention_rate", 0.50, 0.12},
      {"H100-96", "attention_backward_rate", 0.38, 0.15},
      {"H100-96", "portable_attention_rate", 0.31, 0.12},
      {"H100-96", "portable_attention_backward_rate", 0.26, 0.15},
      {"B200", "matmul_rate", 0.72, 0.08},
      {"B200", "matmul_rate_fp8", 0.68, 0.1},
      {"GB200", "matmul_rate", 0.68, 0.08},
      {"GB200", "matmul_rate_fp8", 0.64, 0.1},
      {"B200", "memory_rate", 0.70, 0.12},
      {"B200", "attention_rate", 0.50, 0.15},
      {"B200", "attention_backward_rate", 0.38, 0.2},
      {"B200", "portable_attention_rate", 0.18, 0.2},
      {"B200", "portable_attention_backward_rate", 0.14, 0.2},
  };
  return list;
}

Fit::Fit(std::vector<FitRow> given, size_t numGroups, Evaluator &evaluator)
    : rows(std::move(given)), groupWeights(numGroups, 0), evaluator(evaluator) {
  for (const FitRow &row : rows) {
    groupWeights[row.group] += row.weight;
    Expected<const ClusterSpec *> spec = evaluator.cluster(row.row.cluster);
    devices.push_back(spec ? (*spec)->device.name : "");
    if (!spec)
      consumeError(spec.takeError());
  }
}

bool Fit::dependsOn(size_t row, size_t parameter) const {
  return StringRef(devices[row]).contains(fitParameters()[parameter].device);
}

FitValues Fit::current() {
  FitValues values;
  for (const FitParameter &parameter : fitParameters()) {
    double value = parameter.prior;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (!StringRef(devices[i]).contains(parameter.device))
        continue;
      if (Expected<double> known =
              evaluator.constant(rows[i].row.cluster, parameter.name))
        value = *known;
      else
        consumeError(known.takeError());
      break;
    }
    values.push_back(value);
  }
  return values;
}

void Fit::apply(const FitValues &values) {
  for (auto [parameter, value] : zip_equal(fitParameters(), values))
    evaluator.setConstant(parameter.device, parameter.name, value);
}

std::vector<double> Fit::residuals(const FitValues &values,
                                   std::optional<size_t> left) {
  apply(values);
  std::vector<double> result(rows.size(), NAN);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].group == left)
      continue;
    Expected<Prediction> prediction = evaluator.predict(rows[i].row);
    if (prediction)
      result[i] = std::log(prediction->value / rows[i].row.measured);
    else
      consumeError(prediction.takeError());
  }
  return result;
}

/// Solves a x = b for a positive definite a (Cholesky), row-major.
static std::vector<double> solve(std::vector<double> a, std::vector<double> b) {
  size_t n = b.size();
  for (size_t k = 0; k < n; ++k) {
    for (size_t j = 0; j < k; ++j)
      a[k * n + k] -= a[k * n + j] * a[k * n + j];
    a[k * n + k] = std::sqrt(a[k * n + k]);
    for (size_t i = k + 1; i < n; ++i) {
      for (size_t j = 0; j < k; ++j)
        a[i * n + k] -= a[i * n + j] * a[k * n + j];
      a[i * n + k] /= a[k * n + k];
    }
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < i; ++j)
      b[i] -= a[i * n + j] * b[j];
    b[i] /= a[i * n + i];
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t j = i + 1; j < n; ++j)
      b[i] -= a[j * n + i] * b[j];
    b[i] /= a[i * n + i];
  }
  return b;
}

/// A constant after a step of its logarithm. Shares stay below 1.
static double movedBy(const FitParameter &parameter, double value,
                      double step) {
  value *= std::exp(std::clamp(step, -0.3, 0.3));
  StringRef name = parameter.name;
  bool isShare = name.contains("rate") || name.contains("efficiency");
  return isShare ? std::min(value, 1.0) : value;
}

/// The scale of a residual, and the least one that counts as such.
static constexpr double kScale = 0.03, kLeast = 0.01;

/// What the rows of a group share of their deviation is about as large as what
/// each has of its own, so that n rows count for n / (n + 1) of very many
/// (random effects, DerSimonian and Laird 1986).
static constexpr double kGroupScatter = 1;

double Fit::weightOf(size_t row) const {
  return rows[row].weight / (groupWeights[rows[row].group] + kGroupScatter) /
         kScale;
}

double Fit::objective(const FitValues &values,
                      const std::vector<double> &residuals) const {
  double sum = 0;
  for (auto [parameter, value] : zip_equal(fitParameters(), values)) {
    double off = std::log(value / parameter.prior) / parameter.spread;
    sum += off * off / 2;
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (std::isnan(residuals[i]))
      continue;
    double size = std::fabs(residuals[i]);
    sum += weightOf(i) *
           (size > kLeast ? size : (size * size / kLeast + kLeast) / 2);
  }
  return sum;
}

FitValues Fit::fit(const FitValues &start, std::optional<size_t> left) {
  constexpr unsigned kMostIterations = 30, kHalvings = 5;
  constexpr double kStep = 0.02, kEnough = 2e-5;
  const std::vector<FitParameter> &parameters = fitParameters();
  size_t n = parameters.size();
  FitValues values = start;
  std::vector<double> base = residuals(values, left);
  double reached = objective(values, base);
  for (unsigned iteration = 0; iteration < kMostIterations; ++iteration) {
    std::vector<std::vector<double>> slopes(n);
    for (size_t p = 0; p < n; ++p) {
      FitValues moved = values;
      moved[p] *= std::exp(kStep);
      apply(moved);
      slopes[p].assign(rows.size(), 0);
      for (size_t i = 0; i < rows.size(); ++i) {
        if (std::isnan(base[i]) || !dependsOn(i, p))
          continue;
        if (Expected<Prediction> prediction = evaluator.predict(rows[i].row))
          slopes[p][i] =
              (std::log(prediction->value / rows[i].row.measured) - base[i]) /
              kStep;
        else
          consumeError(prediction.takeError());
      }
    }
    std::vector<double> matrix(n * n, 0), right(n, 0);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (std::isnan(base[i]))
        continue;
      double weight = weightOf(i) / std::max(std::fabs(base[i]), kLeast);
      for (size_t p = 0; p < n; ++p) {
        right[p] -= weight * slopes[p][i] * base[i];
        for (size_t q = 0; q < n; ++q)
          matrix[p * n + q] += weight * slopes[p][i] * slopes[q][i];
      }
    }
    for (size_t p = 0; p < n; ++p) {
      double precision = 1 / (parameters[p].spread * parameters[p].spread);
      matrix[p * n + p] += precision;
      right[p] -= precision * std::log(values[p] / parameters[p].prior);
    }
    std::vector<double> step = solve(std::move(matrix), std::move(right));
    // Where residuals change their sign, a whole step may lead past the least.
    double share = 1, before = reached;
    for (unsigned half = 0; half < kHalvings; ++half, share /= 2) {
      FitValues moved = values;
      for (size_t p = 0; p < n; ++p)
        moved[p] = movedBy(parameters[p], values[p], share * step[p]);
      std::vector<double> next = residuals(moved, left);
      double found = objective(moved, next);
      if (found >= reached)
        continue;
      values = std::move(moved);
      base = std::move(next);
      reached = found;
      break;
    }
    if (before - reached < kEnough * before)
      break;
  }
  return values;
}
