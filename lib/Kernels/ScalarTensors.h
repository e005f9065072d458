//===- ScalarTensors.h - Scalars that are in memory -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_KERNELS_SCALARTENSORS_H
#define TESSERA_LIB_KERNELS_SCALARTENSORS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tessera {

/// The tensor that a scalar is stored as. An index has 64 bits.
mlir::RankedTensorType getTensorOfScalar(mlir::Type type);

/// The scalar of this type that a tensor of rank 0 holds.
mlir::Value loadScalar(mlir::ImplicitLocOpBuilder &b, mlir::Value tensor,
                       mlir::Type type);

/// A tensor of rank 0 that holds the scalar.
mlir::Value storeScalar(mlir::ImplicitLocOpBuilder &b, mlir::Value scalar);

} // namespace tessera

#endif // TESSERA_LIB_KERNELS_SCALARTENSORS_H
