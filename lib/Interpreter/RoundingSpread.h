//===- RoundingSpread.h - What roundings make of outputs --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A partitioned program rounds elsewhere: parts of a sum, for example. What
// that may do to an output depends on how many roundings are before it and on
// how the program amplifies them. So the original is run again with each
// rounding at random, and the outputs' spread is measured (Monte Carlo
// arithmetic: Parker 1997; by Connolly, Higham and Mary 2021 errors of random
// roundings grow with the square root of their number, as those to the nearest
// do in practice).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_INTERPRETER_ROUNDINGSPREAD_H
#define TESSERA_LIB_INTERPRETER_ROUNDINGSPREAD_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Interpreter/Tensor.h"

namespace tessera::interp {

class RoundingSpread {
public:
  /// Of the outputs `expected` of a function run `steps` times on `inputs`,
  /// which both outlive this.
  RoundingSpread(mlir::func::FuncOp function, const RankTensors &inputs,
                 const RankTensors &expected, int64_t steps);

  /// `tolerance` if `difference` is within it. Else the larger of it and three
  /// times the largest difference that random roundings made of output `i`, in
  /// as many runs as it takes to allow the difference, at most eight.
  double widen(unsigned i, double difference, double tolerance);

private:
  /// Runs once more; false after eight runs.
  bool sample();

  mlir::func::FuncOp function;
  const RankTensors &inputs, &expected;
  int64_t steps;
  unsigned numSamples = 0;
  /// By output.
  std::vector<double> largest;
};

} // namespace tessera::interp

#endif // TESSERA_LIB_INTERPRETER_ROUNDINGSPREAD_H
