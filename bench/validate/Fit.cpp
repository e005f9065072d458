//===- Fit.cpp - Constants of devices from published runs -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Iteratively reweighted least squares with numerical derivatives, damped until
// a step decreases the objective (Levenberg and Marquardt).
//
//===----------------------------------------------------------------------===//

#include "Fit.h"
#include "tessera/Cost/DeviceModel.h"
#include "llvm/ADT/IntEqClasses.h"
#include <atomic>
#include <cmath>
#include <thread>

using namespace llvm;
using namespace tessera;
using namespace tessera::validate;

/// Ratios of a chip's clocks at two powers. Power grows with the clock to the
/// power of 2.5, except for a sixth of it that is constant. 500 of 700 W give
/// 0.845. 1,200 over 1,000 W would give 1.076, but the highest clocks are 2,062
/// and 1,965 MHz; the data sheet has 1.111 times the peak.
static const double kClock500 = 0.845, kGrace = 1.049 / 1.111;
/// H200's large matmuls in a burst (bench/results) over the best of H100's.
static const double kBurst = 0.81 / 0.76;
/// The remaining uncertainty of a sibling's constant.
static const double kSibling = 0.05;

/// Priors: matmul rates and bandwidths from the best results of
/// micro-benchmarks, attention from the publications of its kernels, floors and
/// host times from profiles. Spreads are the expected deviations of long runs.
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
      {"H100-96", "matmul_rate", kClock500, kSibling, false, "H100"},
      {"H100-96", "matmul_rate_fp8", kClock500, kSibling, false, "H100"},
      {"H100-96", "attention_rate", kClock500, kSibling, false, "H100"},
      {"H100-96", "attention_backward_rate", kClock500, kSibling, false,
       "H100"},
      {"H100-96", "portable_attention_rate", kClock500, kSibling, false,
       "H100"},
      {"H100-96", "portable_attention_backward_rate", kClock500, kSibling,
       false, "H100"},
      {"H200", "matmul_rate", kBurst, kSibling, false, "H100"},
      {"B200", "matmul_rate", 0.72, 0.08},
      {"B200", "matmul_rate_fp8", 0.68, 0.1},
      {"GB200", "matmul_rate", kGrace, kSibling, false, "B200"},
      {"GB200", "matmul_rate_fp8", kGrace, kSibling, false, "B200"},
      {"B200", "memory_rate", 0.70, 0.12},
      {"B200", "overlap_slowdown", 0.3, 0.5},
      {"B200", "attention_rate", 0.50, 0.15},
      {"B200", "attention_backward_rate", 0.38, 0.2},
      {"B200", "portable_attention_rate", 0.18, 0.2},
      {"B200", "portable_attention_backward_rate", 0.14, 0.2},
      {"GB200", "attention_rate", kGrace, kSibling, false, "B200"},
      {"GB200", "attention_backward_rate", kGrace, kSibling, false, "B200"},
      {"GB200", "portable_attention_rate", kGrace, kSibling, false, "B200"},
      {"GB200", "portable_attention_backward_rate", kGrace, kSibling, false,
       "B200"},
      // vTrain's profiles of 2022; modules with fp8 take more host time.
      {"", "host_call_s", 62e-6, 0.7, /*ofExperts=*/true},
  };
  return list;
}

/// The index of the parameter that a parameter's prior is relative to.
static std::optional<size_t> siblingOf(size_t index) {
  const std::vector<FitParameter> &all = fitParameters();
  if (all[index].sibling.empty())
    return std::nullopt;
  for (size_t p = 0; p < all.size(); ++p)
    if (all[p].device == all[index].sibling && all[p].name == all[index].name)
      return p;
  return std::nullopt;
}

/// The most likely value without any run.
static double priorOf(size_t index) {
  std::optional<size_t> sibling = siblingOf(index);
  return fitParameters()[index].prior * (sibling ? priorOf(*sibling) : 1);
}

bool Fit::dependsOn(size_t row, size_t index) const {
  const FitParameter &parameter = fitParameters()[index];
  return parameter.ofExperts == rows[row].row.sparse.has_value() &&
         StringRef(devices[row]).contains(parameter.device);
}

Fit::Fit(std::vector<FitRow> given, size_t numGroups, Evaluator &evaluator)
    : rows(std::move(given)), groupWeights(numGroups, 0) {
  const size_t numParameters = fitParameters().size();
  for (const FitRow &row : rows) {
    groupWeights[row.group] += row.weight;
    Expected<const ClusterSpec *> spec = evaluator.cluster(row.row.cluster);
    devices.push_back(spec ? (*spec)->device.name : "");
    if (!spec)
      consumeError(spec.takeError());
  }
  IntEqClasses classes(numParameters);
  std::vector<std::optional<size_t>> first(rows.size());
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t p = 0; p < numParameters; ++p)
      if (dependsOn(i, p))
        classes.join(first[i] ? *first[i] : *(first[i] = p), p);
  for (size_t p = 0; p < numParameters; ++p)
    if (std::optional<size_t> sibling = siblingOf(p))
      classes.join(*sibling, p);
  classes.compress();
  components.resize(classes.getNumClasses());
  for (size_t p = 0; p < numParameters; ++p)
    components[classes[p]].parameters.push_back(p);
  for (size_t i = 0; i < rows.size(); ++i)
    if (first[i])
      components[classes[*first[i]]].rows.push_back(i);
}

void Fit::apply(const FitValues &values, Evaluator &evaluator) {
  for (auto [parameter, value] : zip_equal(fitParameters(), values))
    evaluator.setConstant(parameter.device, parameter.name, value);
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

/// True if a constant is a share of the data sheet's value.
static bool isShare(const FitParameter &parameter) {
  StringRef name = parameter.name;
  return name.contains("rate") || name.contains("efficiency");
}

/// A constant after a step of its logarithm. Shares stay at most 1.
static double movedBy(const FitParameter &parameter, double value,
                      double step) {
  value *= std::exp(std::clamp(step, -0.3, 0.3));
  return isShare(parameter) ? std::min(value, 1.0) : value;
}

/// The scale of a residual: much smaller residuals count by their square.
static constexpr double kScale = 0.03;

/// The deviation that a group's rows share is assumed to be about as large as
/// each row's own, so that n rows count for n / (n + 1) of very many (random
/// effects, DerSimonian and Laird 1986).
static constexpr double kGroupScatter = 1;

/// log cosh x, for any x.
static double logCosh(double x) {
  x = std::fabs(x);
  return x + std::log1p(std::exp(-2 * x)) - std::log(2.0);
}

//===----------------------------------------------------------------------===//
// Descent
//===----------------------------------------------------------------------===//

/// The descent from one start to the minimum of a component's objective.
class Fit::Descent {
public:
  Descent(const Fit &fit, const Component &component,
          std::optional<size_t> left, Evaluator &evaluator)
      : fit(fit), component(component), evaluator(evaluator) {
    for (size_t row : component.rows)
      if (fit.rows[row].group != left)
        used.push_back(row);
  }

  /// Iterates until a step decreases the objective by less than 1e-6 of it.
  void run(const std::vector<double> &start);

  std::vector<double> values;
  double objective = INFINITY;

private:
  const FitParameter &parameter(size_t index) const {
    return fitParameters()[component.parameters[index]];
  }
  void set(const std::vector<double> &at) {
    for (auto [index, value] : enumerate(at))
      evaluator.setConstant(parameter(index).device, parameter(index).name,
                            value);
  }
  /// log(predicted / measured); NaN if the row has no price.
  double residual(size_t row) {
    Expected<Prediction> prediction = evaluator.predict(fit.rows[row].row);
    if (prediction)
      return std::log(prediction->value / fit.rows[row].row.measured);
    consumeError(prediction.takeError());
    return NAN;
  }
  std::vector<double> residuals(const std::vector<double> &at) {
    set(at);
    std::vector<double> list;
    for (size_t row : used)
      list.push_back(residual(row));
    return list;
  }
  double weightOf(size_t row) const {
    const FitRow &r = fit.rows[row];
    return r.weight / (fit.groupWeights[r.group] + kGroupScatter);
  }
  double objectiveOf(const std::vector<double> &at,
                     ArrayRef<double> residuals) const;
  /// The index in the component of the constant that a parameter's prior is
  /// relative to.
  std::optional<size_t> findSibling(size_t index) const;
  /// Logarithm of a parameter's value over its prior.
  double deviation(const std::vector<double> &at, size_t index) const;
  /// The step of the logarithms to the minimum of the linear model, damped by
  /// `damping`.
  std::vector<double> findStep(double damping) const;
  void linearize();

  const Fit &fit;
  const Component &component;
  Evaluator &evaluator;
  std::vector<size_t> used;
  std::vector<double> base;
  /// The linear model around `values`.
  std::vector<double> matrix, right;
};

std::optional<size_t> Fit::Descent::findSibling(size_t index) const {
  std::optional<size_t> sibling = siblingOf(component.parameters[index]);
  if (!sibling)
    return std::nullopt;
  return find(component.parameters, *sibling) - component.parameters.begin();
}

double Fit::Descent::deviation(const std::vector<double> &at,
                               size_t index) const {
  std::optional<size_t> sibling = findSibling(index);
  return std::log(at[index] / parameter(index).prior /
                  (sibling ? at[*sibling] : 1));
}

double Fit::Descent::objectiveOf(const std::vector<double> &at,
                                 ArrayRef<double> residuals) const {
  double sum = 0;
  for (size_t p = 0; p < at.size(); ++p) {
    double off = deviation(at, p) / parameter(p).spread;
    sum += off * off / 2;
  }
  for (auto [row, residual] : zip_equal(used, residuals))
    if (!std::isnan(residual))
      sum += weightOf(row) * logCosh(residual / kScale);
  return sum;
}

void Fit::Descent::linearize() {
  constexpr double kStep = 0.01;
  size_t n = values.size();
  std::vector<std::vector<double>> slopes(n);
  for (size_t p = 0; p < n; ++p) {
    std::vector<double> moved = values;
    moved[p] *= std::exp(kStep);
    set(moved);
    slopes[p].assign(used.size(), 0);
    for (auto [i, row] : enumerate(used)) {
      if (std::isnan(base[i]) || !fit.dependsOn(row, component.parameters[p]))
        continue;
      double other = residual(row);
      if (!std::isnan(other))
        slopes[p][i] = (other - base[i]) / kStep;
    }
  }
  matrix.assign(n * n, 0);
  right.assign(n, 0);
  for (auto [i, row] : enumerate(used)) {
    if (std::isnan(base[i]))
      continue;
    // The slope of log cosh over its residual.
    double x = base[i] / kScale;
    double weight = weightOf(row) / (kScale * kScale) *
                    (std::fabs(x) > 1e-6 ? std::tanh(x) / x : 1);
    for (size_t p = 0; p < n; ++p) {
      right[p] -= weight * slopes[p][i] * base[i];
      for (size_t q = 0; q < n; ++q)
        matrix[p * n + q] += weight * slopes[p][i] * slopes[q][i];
    }
  }
  for (size_t p = 0; p < n; ++p) {
    double precision = 1 / (parameter(p).spread * parameter(p).spread);
    double force = precision * deviation(values, p);
    matrix[p * n + p] += precision;
    right[p] -= force;
    if (std::optional<size_t> sibling = findSibling(p)) {
      matrix[*sibling * n + *sibling] += precision;
      matrix[*sibling * n + p] -= precision;
      matrix[p * n + *sibling] -= precision;
      right[*sibling] += force;
    }
  }
}

std::vector<double> Fit::Descent::findStep(double damping) const {
  std::vector<double> damped = matrix;
  for (size_t p = 0; p < values.size(); ++p)
    damped[p * values.size() + p] *= 1 + damping;
  return solve(std::move(damped), right);
}

void Fit::Descent::run(const std::vector<double> &start) {
  constexpr unsigned kMostIterations = 60, kTries = 6;
  constexpr double kEnough = 1e-6;
  values = start;
  base = residuals(values);
  objective = objectiveOf(values, base);
  double damping = 0;
  for (unsigned iteration = 0; iteration < kMostIterations; ++iteration) {
    linearize();
    double before = objective;
    for (unsigned i = 0; i < kTries; ++i) {
      std::vector<double> step = findStep(damping), moved = values;
      for (size_t p = 0; p < values.size(); ++p)
        moved[p] = movedBy(parameter(p), values[p], step[p]);
      std::vector<double> next = residuals(moved);
      double found = objectiveOf(moved, next);
      if (found < objective) {
        values = std::move(moved);
        base = std::move(next);
        objective = found;
        damping = damping > 0.01 ? damping / 4 : 0;
        break;
      }
      damping = std::max(4 * damping, 0.1);
    }
    if (before - objective < kEnough * before)
      return;
  }
}

//===----------------------------------------------------------------------===//
// Fits
//===----------------------------------------------------------------------===//

/// Starts of the descents: the priors, and corners of a box around them where
/// rates are high or low while floors and losses are low or high, by one
/// deviation each.
static std::vector<std::vector<double>> listStarts(ArrayRef<size_t> indices) {
  std::vector<std::vector<double>> starts;
  for (auto [rates, others] :
       {std::pair(0, 0), std::pair(1, 1), std::pair(-1, -1)}) {
    std::vector<double> start;
    for (size_t index : indices) {
      const FitParameter &parameter = fitParameters()[index];
      int side = isShare(parameter) ? rates : others;
      start.push_back(
          movedBy(parameter, priorOf(index), double(side) * parameter.spread));
    }
    starts.push_back(std::move(start));
  }
  return starts;
}

std::vector<double> Fit::fit(const Component &component,
                             std::optional<size_t> left,
                             Evaluator &evaluator) const {
  Descent best(*this, component, left, evaluator);
  for (const std::vector<double> &start : listStarts(component.parameters)) {
    Descent descent(*this, component, left, evaluator);
    descent.run(start);
    if (descent.objective < best.objective) {
      best.values = std::move(descent.values);
      best.objective = descent.objective;
    }
  }
  return best.values;
}

FitValues Fit::fitAll(Evaluator &evaluator) const {
  FitValues values;
  for (size_t p = 0; p < fitParameters().size(); ++p)
    values.push_back(priorOf(p));
  // The constants of devices are fitted first, and are fixed when the constants
  // of experts are fitted.
  for (bool ofExperts : {false, true}) {
    forEachInParallel(
        components.size(), evaluator, [&](size_t i, Evaluator &own) {
          const Component &component = components[i];
          if (fitParameters()[component.parameters.front()].ofExperts !=
              ofExperts)
            return;
          std::vector<double> found = fit(component, std::nullopt, own);
          for (auto [p, value] : zip_equal(component.parameters, found))
            values[p] = value;
        });
    apply(values, evaluator);
  }
  return values;
}

FitValues Fit::fitWithout(size_t left, const FitValues &all,
                          Evaluator &evaluator) const {
  FitValues values = all;
  for (const Component &component : components) {
    if (none_of(component.rows,
                [&](size_t row) { return rows[row].group == left; }))
      continue;
    std::vector<double> found = fit(component, left, evaluator);
    for (auto [p, value] : zip_equal(component.parameters, found))
      values[p] = value;
  }
  return values;
}

void tessera::validate::forEachInParallel(
    size_t count, const Evaluator &evaluator,
    function_ref<void(size_t, Evaluator &)> body) {
  std::atomic<size_t> next = 0;
  std::vector<std::thread> threads;
  size_t processors = std::max(1u, std::thread::hardware_concurrency());
  for (size_t i = 0; i < std::min(count, processors); ++i)
    threads.emplace_back([&] {
      std::unique_ptr<Evaluator> own = evaluator.fork();
      for (size_t index; (index = next++) < count;)
        body(index, *own);
    });
  for (std::thread &thread : threads)
    thread.join();
}
