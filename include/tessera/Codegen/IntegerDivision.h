//===- IntegerDivision.h - Integer division for every divisor ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM does not define a division by zero, or of the least integer by -1, and a
// processor traps. In Tessera a quotient by zero is all ones and its remainder
// is the dividend (as in RISC-V and XLA), and the quotient of the least integer
// by -1 wraps.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_INTEGERDIVISION_H
#define TESSERA_CODEGEN_INTEGERDIVISION_H

#include "mlir/IR/Operation.h"

namespace tessera {

/// Rewrites the integer divisions and remainders in `root` whose divisor may be
/// 0 or -1, so that none divides by 0 and no signed one by -1.
void defineIntegerDivisions(mlir::Operation *root);

} // namespace tessera

#endif // TESSERA_CODEGEN_INTEGERDIVISION_H
