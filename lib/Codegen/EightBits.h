//===- EightBits.h - Casts to and from 8-bit floats -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM has no 8-bit floats: in a kernel they are bytes, and casts are
// branch-free integer arithmetic, which LLVM vectorizes.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CODEGEN_EIGHTBITS_H
#define TESSERA_LIB_CODEGEN_EIGHTBITS_H

#include "mlir/IR/Builders.h"

namespace tessera {

/// True for arith.extf from, or arith.truncf to, f8E4M3FN or f8E5M2.
bool isEightBitCast(mlir::Operation *op);

/// Expands such an op for `value`, a scalar. It rounds to the nearest, ties to
/// even; values out of range become infinity, or NaN if the type has no
/// infinity. A NaN is 0x7f.
mlir::Value expandEightBitCast(mlir::OpBuilder &builder, mlir::Operation *op,
                               mlir::Value value);

} // namespace tessera

#endif // TESSERA_LIB_CODEGEN_EIGHTBITS_H
