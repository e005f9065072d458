//===- ScalarTensors.h - Scalars stored in memory ---------------*- C++ -*-===//
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

/// Returns the tensor type in which a scalar is stored. An index has 64 bits.
mlir::RankedTensorType getTensorOfScalar(mlir::Type type);

/// Loads the scalar of this type from a tensor of rank 0.
mlir::Value loadScalar(mlir::ImplicitLocOpBuilder &b, mlir::Value tensor,
                       mlir::Type type);

/// Stores the scalar in a tensor of rank 0.
mlir::Value storeScalar(mlir::ImplicitLocOpBuilder &b, mlir::Value scalar);

} // namespace tessera

#endif // TESSERA_LIB_KERNELS_SCALARTENSORS_H
