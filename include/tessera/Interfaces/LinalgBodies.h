//===- LinalgBodies.h - What the body of a linalg op does -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A body computes on scalars. What it does to partial values and to zeros
// follows from what its ops say of themselves, one by one.
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

/// The kind of reduction that all outputs compute. None if one of them is no
/// reduction that is known to be associative and commutative, or adds what
/// depends on a running value, as prefix sums do.
std::optional<ReductionKind> getReductionKind(mlir::linalg::LinalgOp op);

/// What output `index`, a reduction, adds to its running value.
mlir::OpOperand &getAdded(mlir::linalg::LinalgOp op, unsigned index);

/// True if all that the body yields is partial where the arguments `partial`
/// are.
bool yieldsPartial(mlir::linalg::LinalgOp op, ReductionKind kind,
                   llvm::DenseSet<mlir::Value> partial);

/// True if the body, run where the operands `zeros` are 0, yields zeros, or
/// adds zeros to a running value whose operand is none of them.
bool yieldsZeros(mlir::linalg::LinalgOp op, const llvm::SmallBitVector &zeros);

} // namespace tessera

#endif // TESSERA_INTERFACES_LINALGBODIES_H
