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

/// What an op gets to build its gradients with, and where it puts them. All
/// tensors are global.
class GradientBuilder {
public:
  /// `resultGradients` has an entry for each result: of the result's shape, or
  /// null where the gradient is zero. `gradientTypes` has an entry for each
  /// operand: the element type that its gradient shall have, the operand's own
  /// or a wider one; null where no gradient is asked for.
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
  /// Element type that the gradient of a needed operand shall have. An op that
  /// cannot make it directly may give its operand's: it is cast then.
  mlir::Type elementType(unsigned operand) const {
    return gradientTypes[operand];
  }
  void setOperand(unsigned operand, mlir::Value gradient) {
    operandGradients[operand] = gradient;
  }
  /// One entry an operand; null where none was set (a gradient of zero).
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
/// arith and math, and the tensor ops that change shapes. The gradients are
/// made of arith, math, tensor and linalg ops: who builds them has these
/// loaded.
void registerUpstreamGradients(mlir::DialectRegistry &registry);

} // namespace tessera

#include "tessera/Interfaces/DifferentiableOpInterface.h.inc"

#endif // TESSERA_INTERFACES_DIFFERENTIABLEOPINTERFACE_H
