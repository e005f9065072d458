//===- NeutralElements.h - Neutral elements of reductions -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The values that padding may hold without a mask. They follow from the
// ShardingRuleOpInterface of ops; both the compiler and the proof use these
// functions.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_NEUTRALELEMENTS_H
#define TESSERA_INTERFACES_NEUTRALELEMENTS_H

#include "tessera/Interfaces/ShardingRuleOpInterface.h"

namespace tessera {

/// The value that a linalg.fill writes everywhere; null if `op` is not a fill,
/// or its body does something else.
mlir::Value getFilledScalar(mlir::Operation *op);

/// True if `value` is a constant, a splat or a linalg.fill of the neutral
/// element of a reduction; either zero is neutral in a sum.
bool isNeutral(mlir::Value value, ReductionKind kind);

/// Whether padding of zeros stays zero. Bit i of `zeros` says that operand i
/// has some factor and is 0 at some positions along it; the other operands do
/// not have the factor. True if the results that have the factor are 0 at these
/// positions, and sums along the factor ignore them. An operand without the
/// factor is assumed to be finite.
bool keepsZeros(mlir::Operation *op, const llvm::SmallBitVector &zeros);

/// True if the results are 0 wherever the operands of `zeros` are, or NaN where
/// another operand is not finite.
bool makesZeros(mlir::Operation *op, const llvm::SmallBitVector &zeros);

/// True if the op, which is not a linalg op, may reduce over padding of
/// `factor` that is neutral in the factor's reduction: a sum of zeros in which
/// the op is linear, a maximum or a minimum that the op commutes with (f(max(a,
/// b)) = max(f(a), f(b)) for a lowest a means that f(a) is at most f(b) for any
/// b), or an op that allows it itself. `having` are the operands that have the
/// factor.
bool keepsNeutral(mlir::Operation *op, const ShardingRule &rule,
                  unsigned factor, const llvm::SmallBitVector &having);

} // namespace tessera

#endif // TESSERA_INTERFACES_NEUTRALELEMENTS_H
