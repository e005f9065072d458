//===- LinalgBodies.h - Analysis of the bodies of linalg ops ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A body computes on scalars. Its effect on partial values and on zeros follows
// from the interfaces of its ops.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_LINALGBODIES_H
#define TESSERA_INTERFACES_LINALGBODIES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "tessera/Interfaces/ShardingRule.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallBitVector.h"
#include <optional>

namespace tessera {

/// The kind of reduction that all outputs compute. None if one of them is not a
/// known associative and commutative reduction, or adds a value that depends on
/// a running value, as prefix sums do.
std::optional<ReductionKind> getReductionKind(mlir::linalg::LinalgOp op);

/// The operand that output `index`, a reduction, adds to its running value.
mlir::OpOperand &getAdded(mlir::linalg::LinalgOp op, unsigned index);

/// True if all yielded values are partial when the arguments `partial` are.
bool yieldsPartial(mlir::linalg::LinalgOp op, ReductionKind kind,
                   llvm::DenseSet<mlir::Value> partial);

/// True if the body, run with 0 for the operands `zeros`, yields zeros, or adds
/// zeros to a running value whose operand is not in `zeros`.
bool yieldsZeros(mlir::linalg::LinalgOp op, const llvm::SmallBitVector &zeros);

} // namespace tessera

#endif // TESSERA_INTERFACES_LINALGBODIES_H
