//===- Tolerance.cpp - How far outputs may differ -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tolerance.h"
#include "tessera/Interpreter/Verify.h"
#include <cmath>

using namespace mlir;
using namespace tessera::interp;

static constexpr unsigned kMaxSamples = 8;
/// The largest of eight samples is near 1.4 standard deviations of one number,
/// so three times it is beyond four.
static constexpr double kFactor = 3;

//===----------------------------------------------------------------------===//
// Differences
//===----------------------------------------------------------------------===//

double tessera::interp::distanceOf(const ElementType &type, Cell a, Cell b) {
  if (!type.isFloat())
    return std::fabs(static_cast<double>(a.i) - static_cast<double>(b.i));
  if (a.f == b.f || (std::isnan(a.f) && std::isnan(b.f)))
    return 0;
  return std::isfinite(a.f) && std::isfinite(b.f) ? std::fabs(a.f - b.f)
                                                  : INFINITY;
}

double tessera::interp::scaleOf(const Tensor &tensor) {
  double largest = 0;
  if (tensor.getElementType().isFloat())
    for (int64_t i = 0, n = tensor.getNumElements(); i < n; ++i)
      if (std::isfinite(tensor[i].f))
        largest = std::max(largest, std::fabs(tensor[i].f));
  return largest > 0 ? largest : 1;
}

double tessera::interp::relativeDifference(const Tensor &actual,
                                           const Tensor &expected) {
  double difference = 0;
  for (int64_t i = 0, n = expected.getNumElements(); i < n; ++i)
    difference = std::max(difference, distanceOf(expected.getElementType(),
                                                 actual[i], expected[i]));
  return difference / scaleOf(expected);
}

double tessera::interp::defaultTolerance(const ElementType &type) {
  if (!type.isFloat())
    return 0;
  if (type.getWidth() == 64)
    return 1e-12;
  if (type.getWidth() == 32)
    return 1e-5;
  return std::ldexp(1, 1 - static_cast<int>(type.getPrecision()));
}

//===----------------------------------------------------------------------===//
// Samples
//===----------------------------------------------------------------------===//

RoundingSpread::RoundingSpread(func::FuncOp function, const RankTensors &inputs,
                               const RankTensors &expected, int64_t steps)
    : function(function), inputs(inputs), expected(expected), steps(steps),
      largest(expected.size(), 0) {}

bool RoundingSpread::sample() {
  if (numSamples == kMaxSamples)
    return false;
  RandomRounding rounding(++numSamples);
  // A run that leaves the domain of an op is ignored.
  ScopedDiagnosticHandler quiet(function.getContext(),
                                [](Diagnostic &) { return success(); });
  FailureOr<RankTensors> results =
      interpretGlobal(function, inputs, /*statistics=*/nullptr, steps);
  if (failed(results))
    return true;
  for (auto [i, result] : llvm::enumerate(*results)) {
    double difference = 0;
    for (int64_t k = 0, n = result->getNumElements(); k < n; ++k) {
      double distance =
          distanceOf(result->getElementType(), (*result)[k], (*expected[i])[k]);
      if (std::isfinite(distance))
        difference = std::max(difference, distance);
    }
    largest[i] = std::max(largest[i], difference / scaleOf(*expected[i]));
  }
  return true;
}

double RoundingSpread::widen(unsigned i, double difference, double tolerance) {
  auto allowed = [&] { return std::max(tolerance, kFactor * largest[i]); };
  if (difference <= tolerance)
    return tolerance;
  if (std::isfinite(difference))
    while (difference > allowed() && sample())
      continue;
  return allowed();
}
