//===- NeutralElements.h - What changes nothing in a reduction --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What padding may hold without a mask. It follows from what ops say of
// themselves through ShardingRuleOpInterface; the compiler and the proof ask
// here alike.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_NEUTRALELEMENTS_H
#define TESSERA_INTERFACES_NEUTRALELEMENTS_H

#include "tessera/Interfaces/ShardingRuleOpInterface.h"

namespace tessera {

/// What a linalg.fill puts everywhere; null if `op` is none, or has a body that
/// does something else.
mlir::Value getFilledScalar(mlir::Operation *op);

/// True if `value` is a constant, a splat or a linalg.fill of the element that
/// changes nothing in a reduction, either zero in a sum.
bool isNeutral(mlir::Value value, ReductionKind kind);

/// Whether padding of zeros stays zero. Bit i of `zeros` says that operand i
/// has some factor and is 0 at some positions along it; the other operands do
/// not have the factor. True if the results that have the factor are 0 at these
/// positions, and nothing from there counts in what the op sums up along it. An
/// operand without the factor is taken to be finite.
bool keepsZeros(mlir::Operation *op, const llvm::SmallBitVector &zeros);

/// True if the results are 0 everywhere where the operands of `zeros` are: or
/// NaN, where another operand is not finite.
bool makesZeros(mlir::Operation *op, const llvm::SmallBitVector &zeros);

/// True if the op, which is none of linalg, may reduce over padding of `factor`
/// that is neutral in the factor's reduction: a sum of zeros in which the op is
/// linear, a maximum or a minimum that the op commutes with (f(max(a, b)) =
/// max(f(a), f(b)) for a lowest a says that f(a) is no larger than any f(b)),
/// or an op that says so itself. `having` are the operands that have the
/// factor.
bool keepsNeutral(mlir::Operation *op, const ShardingRule &rule,
                  unsigned factor, const llvm::SmallBitVector &having);

} // namespace tessera

#endif // TESSERA_INTERFACES_NEUTRALELEMENTS_H
