//===- SignedDivision.h - Signed division that wraps ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM does not define the least integer divided by -1, and a processor traps.
// In a program it wraps, as a subtraction from zero does, and leaves 0.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_SIGNEDDIVISION_H
#define TESSERA_CODEGEN_SIGNEDDIVISION_H

#include "mlir/IR/Operation.h"

namespace tessera {

/// Rewrites the signed integer divisions and remainders in `root` whose divisor
/// may be -1: none of them is done by -1.
void wrapSignedDivisions(mlir::Operation *root);

} // namespace tessera

#endif // TESSERA_CODEGEN_SIGNEDDIVISION_H
