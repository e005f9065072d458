//===- ElementwiseShapes.h - Elementwise ops in other shapes ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RAISE_ELEMENTWISESHAPES_H
#define TESSERA_LIB_RAISE_ELEMENTWISESHAPES_H

#include "dialects/NN/NN.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tessera {

/// Whether a value is a splat constant.
inline bool isSplat(mlir::Value value) {
  mlir::SplatElementsAttr splat;
  return mlir::matchPattern(value, mlir::m_Constant(&splat));
}

/// The same splat constant with another shape.
inline mlir::Value resizeSplat(mlir::OpBuilder &b, mlir::Value constant,
                               llvm::ArrayRef<int64_t> shape) {
  mlir::SplatElementsAttr splat;
  mlir::matchPattern(constant, mlir::m_Constant(&splat));
  auto type = mlir::cast<mlir::RankedTensorType>(constant.getType());
  mlir::Attribute resized = splat.resizeSplat(type.clone(shape));
  return mlir::arith::ConstantOp::create(b, constant.getLoc(),
                                         mlir::cast<mlir::TypedAttr>(resized));
}

/// Whether an op makes one tensor element by element and has no attributes that
/// change its meaning. False for null.
inline bool isPlainElementwise(mlir::Operation *op) {
  return op &&
         (op->hasTrait<mlir::OpTrait::Elementwise>() ||
          mlir::isa<nn::StopGradientOp, nn::GeluOp, nn::SiluOp>(op)) &&
         mlir::isPure(op) && op->getNumResults() == 1 &&
         mlir::isa<mlir::RankedTensorType>(op->getResult(0).getType()) &&
         op->getDiscardableAttrs().empty();
}

/// A copy of an elementwise op with a result of another shape: splat constants
/// are resized, and `resize` gives the other operands in that shape.
inline mlir::Value
resizeElementwise(mlir::OpBuilder &b, mlir::Operation *op,
                  llvm::ArrayRef<int64_t> shape,
                  llvm::function_ref<mlir::Value(mlir::Value)> resize) {
  llvm::SmallVector<mlir::Value> operands;
  for (mlir::Value operand : op->getOperands())
    operands.push_back(isSplat(operand) ? resizeSplat(b, operand, shape)
                                        : resize(operand));
  mlir::Operation *copy = b.clone(*op);
  copy->setOperands(operands);
  mlir::Value result = copy->getResult(0);
  result.setType(
      mlir::cast<mlir::RankedTensorType>(result.getType()).clone(shape));
  return result;
}

} // namespace tessera

#endif // TESSERA_LIB_RAISE_ELEMENTWISESHAPES_H
