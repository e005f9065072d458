//===- DifferentiableOpInterface.h - Gradients of ops -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_DIFFERENTIABLEOPINTERFACE_H
#define TESSERA_INTERFACES_DIFFERENTIABLEOPINTERFACE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/SmallVector.h"

namespace tessera {

/// The inputs with which an op builds its gradients, and the gradients that it
/// sets. All tensors are global.
class GradientBuilder {
public:
  /// `resultGradients` has one entry per result: of the result's shape, or null
  /// for a zero gradient. `gradientTypes` has one entry per operand: the
  /// required element type of its gradient, the operand's own or a wider one;
  /// null if no gradient is needed.
  GradientBuilder(mlir::OpBuilder &builder, mlir::Operation *op,
                  llvm::ArrayRef<mlir::Value> resultGradients,
                  llvm::ArrayRef<mlir::Type> gradientTypes)
      : builder(builder), loc(op->getLoc()), resultGradients(resultGradients),
        gradientTypes(gradientTypes), operandGradients(op->getNumOperands()) {}

  /// The gradient of a result; null if it is zero.
  mlir::Value ofResult(unsigned result) const {
    return resultGradients[result];
  }
  bool isNeeded(unsigned operand) const { return bool(gradientTypes[operand]); }
  /// The required element type of a needed operand's gradient. An op that
  /// cannot compute it directly may give the operand's type: it is then cast.
  mlir::Type elementType(unsigned operand) const {
    return gradientTypes[operand];
  }
  void setOperand(unsigned operand, mlir::Value gradient) {
    operandGradients[operand] = gradient;
  }
  /// One entry per operand; null if none was set (a zero gradient).
  llvm::ArrayRef<mlir::Value> getOperandGradients() const {
    return operandGradients;
  }

  mlir::OpBuilder &builder;
  const mlir::Location loc;

private:
  llvm::ArrayRef<mlir::Value> resultGradients;
  llvm::ArrayRef<mlir::Type> gradientTypes;
  llvm::SmallVector<mlir::Value> operandGradients;
};

/// Attaches the interface to the upstream ops that have a gradient: elementwise
/// arith and math, and the tensor ops that change shapes. Gradients use ops of
/// arith, math, tensor and linalg, so callers must load these dialects.
void registerUpstreamGradients(mlir::DialectRegistry &registry);

} // namespace tessera

#include "tessera/Interfaces/DifferentiableOpInterface.h.inc"

#endif // TESSERA_INTERFACES_DIFFERENTIABLEOPINTERFACE_H
