//===- GradientCheck.h - Gradients compared with differences ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Differentiates a function of f64 tensors, interprets it, and compares with
// central differences of the interpreted original.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_UNIT_TRAINING_GRADIENTCHECK_H
#define TESSERA_TEST_UNIT_TRAINING_GRADIENTCHECK_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Interpreter/InputData.h"

namespace tessera {

struct GradientCheckOptions {
  uint64_t seed = 0;
  /// Inputs are made positive, at least 1/2: for logarithms and roots.
  bool positive = false;
  /// Elements of each argument that are compared: the one with the largest
  /// gradient and others evenly spaced; 0 for all.
  int64_t samples = 0;
};

/// Checks the gradients of sum_i <result_i, seed_i> with respect to every float
/// argument of `function`, on random inputs and seeds. For each argument max|g
/// - d| <= 1e-6 max|d| + e must hold over the compared elements; d is the
/// fourth-order central difference and e the error from the rounding of the
/// sum. Reports to GoogleTest.
void checkGradients(mlir::func::FuncOp function,
                    const GradientCheckOptions &options = {});

/// A test's context with every dialect of the compiler loaded.
std::unique_ptr<mlir::MLIRContext> makeContext();

/// Turns all f32 and bf16 values of a module into f64.
void convertToF64(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_TEST_UNIT_TRAINING_GRADIENTCHECK_H
