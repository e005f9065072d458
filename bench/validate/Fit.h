//===- Fit.h - Constants of devices from published runs ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The few constants of each kind of device that make the step times of all
// groups of rows most likely at once, given what data sheets and
// micro-benchmarks say of them (the prior). A group is a table, or the part of
// it that differs in kind; each counts as much as any other, but for those of a
// few rows, which count for less. Leaving one out says how good the model is on
// runs that it has not seen.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_BENCH_VALIDATE_FIT_H
#define TESSERA_BENCH_VALIDATE_FIT_H

#include "Evaluate.h"
#include "llvm/Support/raw_ostream.h"

namespace tessera::validate {

/// A constant that is fitted, by name as Evaluator::setConstant() takes it.
struct FitParameter {
  /// A part of the device's name: all devices with it share the constant.
  std::string device, name;
  /// The value that is likeliest without a run, and the standard deviation of
  /// its logarithm; of a device with a sibling, times the sibling's constant.
  double prior, spread;
  /// Rows of models with experts determine it, and nothing else; of others they
  /// are no matter.
  bool ofExperts = false;
  /// The device with the same chip, at another power or with other memory,
  /// whose constant of this name is multiplied by the prior. It stands before
  /// this one in fitParameters().
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

/// The most likely values: least are the sum of log cosh of the rows' residuals
/// (the logarithms of predicted over measured, which have a hyperbolic secant
/// distribution: near zero a normal one, far from it a Laplace one) and of the
/// squares of the constants' deviations from their priors. From several fixed
/// starts Gauss-Newton with derivatives by differences; the best end is kept,
/// so that values depend on the rows alone. Devices that share no constant are
/// fitted apart.
class Fit {
public:
  Fit(std::vector<FitRow> rows, size_t numGroups, Evaluator &evaluator);

  /// The values for all groups, which the evaluator is given. Uses all
  /// processors.
  FitValues fitAll(Evaluator &evaluator) const;
  /// The values for all groups but `left`, of which `all` are those of all:
  /// only constants that the group's devices share with others move.
  FitValues fitWithout(size_t left, const FitValues &all,
                       Evaluator &evaluator) const;
  /// Gives the evaluator the values.
  static void apply(const FitValues &values, Evaluator &evaluator);

private:
  bool dependsOn(size_t row, size_t parameter) const;

  /// Constants of which each pair is joined by rows, and the rows of them.
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

/// Calls `body` for 0 ... count - 1 on all processors, each with an evaluator
/// of its own that has the constants of `evaluator`.
void forEachInParallel(size_t count, const Evaluator &evaluator,
                       llvm::function_ref<void(size_t, Evaluator &)> body);

} // namespace tessera::validate

#endif // TESSERA_BENCH_VALIDATE_FIT_H
