//===- TensorTypes.h - Types of tensors -------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RAISE_TENSORTYPES_H
#define TESSERA_LIB_RAISE_TENSORTYPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace tessera {

/// Returns the type of a value that is a ranked tensor.
inline mlir::RankedTensorType typeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// Returns the type of a ranked tensor; null for any other value.
inline mlir::RankedTensorType findTensorType(mlir::Value value) {
  return mlir::dyn_cast<mlir::RankedTensorType>(value.getType());
}

} // namespace tessera

#endif // TESSERA_LIB_RAISE_TENSORTYPES_H
