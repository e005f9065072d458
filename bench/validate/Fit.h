//===- Fit.h - Constants of devices from published runs ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fits the few constants of each kind of device, so that the step times of all
// groups of rows are most likely, given the prior from data sheets and
// micro-benchmarks. A group is a table, or a part of it that differs in kind.
// All groups count equally, but groups of few rows count less. Leaving one
// group out measures how good the model is on runs that it has not seen.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_BENCH_VALIDATE_FIT_H
#define TESSERA_BENCH_VALIDATE_FIT_H

#include "Evaluate.h"
#include "llvm/Support/raw_ostream.h"

namespace tessera::validate {

/// A fitted constant, with the name that Evaluator::setConstant() takes.
struct FitParameter {
  /// A part of the device's name: all devices with it share the constant.
  std::string device, name;
  /// The most likely value without any run, and the standard deviation of its
  /// logarithm; for a device with a sibling the prior is a factor of the
  /// sibling's constant.
  double prior, spread;
  /// True if only rows of models with experts determine the constant; other
  /// rows do not depend on it.
  bool ofExperts = false;
  /// The device with the same chip, at another power or with other memory,
  /// whose constant of this name is multiplied by the prior. It precedes this
  /// one in fitParameters().
  std::string sibling = "";
};

/// All constants that are fitted.
const std::vector<FitParameter> &fitParameters();

/// A row of a group whose time is fitted.
struct FitRow {
  PlanRow row;
  size_t group = 0;
  double weight = 1;
};

/// Values of all parameters, in their order.
using FitValues = std::vector<double>;

/// Finds the most likely values. They minimize the sum of log cosh of the rows'
/// residuals (logarithms of predicted over measured time, which have a
/// hyperbolic secant distribution: normal near zero, Laplace far from it) and
/// of the squares of the constants' deviations from their priors. Gauss-Newton
/// with numerical derivatives descends from several fixed starts and the best
/// result is kept, so that values depend on the rows alone. Devices that share
/// no constant are fitted separately.
class Fit {
public:
  Fit(std::vector<FitRow> rows, size_t numGroups, Evaluator &evaluator);

  /// The values for all groups, which are also set in the evaluator. Uses all
  /// processors.
  FitValues fitAll(Evaluator &evaluator) const;
  /// The values for all groups except `left`; `all` are the values for all
  /// groups. Only constants that the group's devices share with other groups
  /// change.
  FitValues fitWithout(size_t left, const FitValues &all,
                       Evaluator &evaluator) const;
  /// Sets the values in the evaluator.
  static void apply(const FitValues &values, Evaluator &evaluator);

private:
  bool dependsOn(size_t row, size_t parameter) const;

  /// Constants that are connected by rows, and these rows.
  struct Component {
    std::vector<size_t> parameters, rows;
  };
  class Descent;

  /// The values of a component's constants, in their order.
  std::vector<double> fit(const Component &component,
                          std::optional<size_t> left,
                          Evaluator &evaluator) const;

  std::vector<FitRow> rows;
  std::vector<double> groupWeights;
  std::vector<std::string> devices;
  std::vector<Component> components;
};

/// Calls `body` for 0 ... count - 1 on all processors, each with its own
/// evaluator that has the constants of `evaluator`.
void forEachInParallel(size_t count, const Evaluator &evaluator,
                       llvm::function_ref<void(size_t, Evaluator &)> body);

} // namespace tessera::validate

#endif // TESSERA_BENCH_VALIDATE_FIT_H
