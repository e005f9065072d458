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
  /// its logarithm.
  double prior, spread;
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

class Fit {
public:
  Fit(std::vector<FitRow> rows, size_t numGroups, Evaluator &evaluator);

  /// The values for all groups but `left`; for all without it. From `start`,
  /// iteratively reweighted least squares of the logarithms of predicted over
  /// measured (their absolute values, nearly) and the prior, until they get
  /// smaller by less than 2e-5 of their sum.
  FitValues fit(const FitValues &start, std::optional<size_t> left);
  /// The values that the presets have.
  FitValues current();
  /// Gives the evaluator the values.
  void apply(const FitValues &values);

private:
  /// log(predicted / measured) of the rows of the groups that are asked for;
  /// none where a row has no price.
  std::vector<double> residuals(const FitValues &values,
                                std::optional<size_t> left);
  bool dependsOn(size_t row, size_t parameter) const;
  double weightOf(size_t row) const;
  /// What fit() makes least.
  double objective(const FitValues &values,
                   const std::vector<double> &residuals) const;

  std::vector<FitRow> rows;
  std::vector<double> groupWeights;
  Evaluator &evaluator;
  std::vector<std::string> devices;
};

} // namespace tessera::validate

#endif // TESSERA_BENCH_VALIDATE_FIT_H
