//===- MathFunctions.h - Functions of f32 in branch-free code ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_MATHFUNCTIONS_H
#define TESSERA_CODEGEN_MATHFUNCTIONS_H

#include "mlir/IR/PatternMatch.h"

namespace tessera {

/// Expands math.exp, exp2, log and log2 on f32 scalars, with at most 1.5 units
/// in the last place of error for every number (2 without fused multiply-add);
/// zeros, denormals, infinities and NaN as in IEEE 754.
void populateExponentialPatterns(mlir::RewritePatternSet &patterns);

/// Expands math.sin and math.cos on f32 scalars: at most 1.5 units in the last
/// place of error for every finite number, NaN for others.
void populateAnglePatterns(mlir::RewritePatternSet &patterns);

/// Expands math.isinf on scalars.
void populateInfinityPatterns(mlir::RewritePatternSet &patterns);

/// Gives the results of math.erf in `root` the signs of their arguments, which
/// MLIR's polynomial loses for zeros.
void keepSignsOfErrorFunctions(mlir::Operation *root);

} // namespace tessera

#endif // TESSERA_CODEGEN_MATHFUNCTIONS_H
