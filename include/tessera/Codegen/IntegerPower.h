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

/// Makes a loop of products of each math.ipowi on scalars in `root`. A power
/// wraps; a negative one of 1 and -1 is 1 or -1, of 0
/// -1, of other numbers 0.
void expandIntegerPowers(mlir::Operation *root);

} // namespace tessera

#endif // TESSERA_CODEGEN_INTEGERPOWER_H
