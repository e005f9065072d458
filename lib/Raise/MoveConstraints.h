//===- MoveConstraints.h - Constraints of values that go --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A constraint on a value inside a group of ops is one on an operand or the
// result of the op that the group becomes:
//
//     %0 = x - mean                        %0 = nn.rms_norm x, gamma
//     %1 = dist.constraint %0 <S>    to    %1 = dist.constraint %0 <S>
//     %2 = %1 * gamma
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RAISE_MOVECONSTRAINTS_H
#define TESSERA_LIB_RAISE_MOVECONSTRAINTS_H

#include "LinearRows.h"
#include "RowRegion.h"
#include "dialects/Dist/Dist.h"

namespace tessera {

/// Shardings of the tensor that a group starts from and of its result; null:
/// none.
struct MovedConstraints {
  dist::ShardingAttr x, y;
};

/// `sharding` for a value of `rank` dimensions, whose dimension `dims[i]` is
/// its dimension i; those of -1 are left out, and the value's other dimensions
/// are open. Null where this would say something else: of axes that must stay
/// replicated, or of partial values.
dist::ShardingAttr moveSharding(dist::ShardingAttr sharding,
                                llvm::ArrayRef<int64_t> dims, int64_t rank);

/// Makes `sharding` say what `more` says beside: a dimension that is open and
/// without axes in one is as in the other. False where they differ otherwise,
/// or `more` is null.
bool joinSharding(dist::ShardingAttr &sharding, dist::ShardingAttr more);

/// Where the constraints of a region go. A constraint of rows goes to the
/// nearer one of x and y that follow elementwise; one of a number of each row
/// to y. None where one of them, which `blocking` then is, cannot move.
std::optional<MovedConstraints> moveConstraints(const RowRegion &region,
                                                dist::ConstraintOp &blocking);

/// The same of a linear region: to y, if rows are whole.
std::optional<MovedConstraints> moveConstraints(const LinearRows &region,
                                                dist::ConstraintOp &blocking);

/// `value` with a sharding; itself without one.
mlir::Value constrain(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value,
                      dist::ShardingAttr sharding);

/// A remark at a constraint for which the group around it is not raised to
/// `op`.
void reportBlocked(dist::ConstraintOp blocking, llvm::StringRef op);

} // namespace tessera

#endif // TESSERA_LIB_RAISE_MOVECONSTRAINTS_H
