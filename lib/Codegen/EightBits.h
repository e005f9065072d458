//===- EightBits.h - Casts to and from floats of 8 bits ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM has no floats of 8 bits: in a kernel they are bytes, and casts are
// arithmetic on integers, without branches, which vectorises.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CODEGEN_EIGHTBITS_H
#define TESSERA_LIB_CODEGEN_EIGHTBITS_H

#include "mlir/IR/Builders.h"

namespace tessera {

/// Whether it is arith.extf from, or arith.truncf to, f8E4M3FN or f8E5M2.
bool isEightBitCast(mlir::Operation *op);

/// What such an op makes of `value`, a scalar: to the nearest, ties to even;
/// beyond the range infinity, or NaN where there is none. A NaN is 0x7f.
mlir::Value expandEightBitCast(mlir::OpBuilder &builder, mlir::Operation *op,
                               mlir::Value value);

} // namespace tessera

#endif // TESSERA_LIB_CODEGEN_EIGHTBITS_H
