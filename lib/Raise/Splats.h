//===- Splats.h - Constants of one value ------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RAISE_SPLATS_H
#define TESSERA_LIB_RAISE_SPLATS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

namespace tessera {

/// Whether a value is a constant tensor of one value.
inline bool isSplat(mlir::Value value) {
  mlir::SplatElementsAttr splat;
  return mlir::matchPattern(value, mlir::m_Constant(&splat));
}

/// Such a constant with another shape.
inline mlir::Value resizeSplat(mlir::OpBuilder &b, mlir::Value constant,
                               llvm::ArrayRef<int64_t> shape) {
  mlir::SplatElementsAttr splat;
  mlir::matchPattern(constant, mlir::m_Constant(&splat));
  auto type = mlir::cast<mlir::RankedTensorType>(constant.getType());
  mlir::Attribute resized = splat.resizeSplat(type.clone(shape));
  return mlir::arith::ConstantOp::create(b, constant.getLoc(),
                                         mlir::cast<mlir::TypedAttr>(resized));
}

} // namespace tessera

#endif // TESSERA_LIB_RAISE_SPLATS_H
