//===- Tolerance.h - How far outputs may differ -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A partitioned program rounds at other points, for example in partial sums.
// The effect on an output depends on the number of roundings before it and on
// their amplification by the program. So the original runs again with random
// roundings, and the spread of the outputs is measured (Monte Carlo arithmetic:
// Parker 1997; by Connolly, Higham and Mary 2021 errors of random roundings
// grow with the square root of their number, as those to the nearest do in
// practice).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_INTERPRETER_TOLERANCE_H
#define TESSERA_LIB_INTERPRETER_TOLERANCE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Interpreter/Tensor.h"

namespace tessera::interp {

/// Distance |a - b| of two numbers; infinite if only one is NaN, or if one is
/// infinite and they differ.
double distanceOf(const ElementType &type, Cell a, Cell b);

/// The largest finite magnitude of a float tensor; 1 for integers and zeros.
double scaleOf(const Tensor &tensor);

/// The effect of roundings on the outputs of a function.
class RoundingSpread {
public:
  /// Measures the outputs `expected` of a function run `steps` times on
  /// `inputs`; both must outlive this object.
  RoundingSpread(mlir::func::FuncOp function, const RankTensors &inputs,
                 const RankTensors &expected, int64_t steps);

  /// Returns `tolerance` if `difference` is within it. Otherwise returns the
  /// larger of it and three times the largest difference that random roundings
  /// cause in output `i`. It runs as often as it takes to allow the difference,
  /// at most eight times.
  double widen(unsigned i, double difference, double tolerance);

private:
  /// Runs once more. Returns false after eight runs.
  bool sample();

  mlir::func::FuncOp function;
  const RankTensors &inputs, &expected;
  int64_t steps;
  unsigned numSamples = 0;
  /// The largest difference, by output.
  std::vector<double> largest;
};

} // namespace tessera::interp

#endif // TESSERA_LIB_INTERPRETER_TOLERANCE_H
