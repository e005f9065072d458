//===- TensorBuilder.h - Ops on tensors of a graph --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_IMPORT_TENSORBUILDER_H
#define TESSERA_LIB_IMPORT_TENSORBUILDER_H

#include "dialects/NN/NN.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "tessera/Import/ModelConfig.h"

namespace tessera {

/// Builds ops on tensors, and functions of tensors that are several ops.
class TensorBuilder {
public:
  TensorBuilder(mlir::MLIRContext &context, mlir::Type element)
      : element(element), builder(mlir::UnknownLoc::get(&context), &context) {}

protected:
  mlir::Location at(llvm::StringRef name);

  mlir::Value einsum(llvm::StringRef spec, mlir::Value lhs, mlir::Value rhs);
  mlir::Value einsum(llvm::StringRef spec, mlir::Value lhs, mlir::Value rhs,
                     mlir::Type resultElement);

  /// Returns a number in each element of a tensor like `like`.
  mlir::Value splat(mlir::Value like, double number);
  mlir::Value splatOf(mlir::RankedTensorType type, double number);

  mlir::Value scaleBy(mlir::Value x, double factor);

  /// Repeats `x` along the leading dimensions that only `like` has.
  mlir::Value broadcastTo(mlir::Value x, mlir::Value like);

  /// Returns the sum of all elements, as a scalar.
  mlir::Value sum(mlir::Value x);

  /// Builds e / (1 + e) for x below 0, else 1 / (1 + e), with e = exp(-|x|):
  /// precise also for results near 0, and with a finite gradient everywhere.
  mlir::Value sigmoid(mlir::Value x);

  /// Divides rows by their sums, which are `eps` larger.
  mlir::Value divideBySum(mlir::Value rows, double eps);

  mlir::Value activate(Activation activation, mlir::Value x);

  /// Builds a select, since a maximum has another gradient at 0.
  mlir::Value relu(mlir::Value x);

  /// Builds cap tanh(x / cap), which is below `cap`.
  mlir::Value limit(mlir::Value x, double cap);

  /// The type of parameters and activations.
  const mlir::Type element;
  mlir::ImplicitLocOpBuilder builder;
};

} // namespace tessera

#endif // TESSERA_LIB_IMPORT_TENSORBUILDER_H
