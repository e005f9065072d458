//===- IntegerPower.h - Integer powers as products --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_INTEGERPOWER_H
#define TESSERA_CODEGEN_INTEGERPOWER_H

#include "mlir/IR/Operation.h"

namespace tessera {

/// Replaces each math.ipowi on scalars in `root` by a loop of products. A power
/// wraps. A negative power of 1 is 1, of -1 is 1 or -1, of 0 is -1, and of
/// other numbers is 0.
void expandIntegerPowers(mlir::Operation *root);

} // namespace tessera

#endif // TESSERA_CODEGEN_INTEGERPOWER_H
