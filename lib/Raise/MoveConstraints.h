//===- MoveConstraints.h - Constraints inside raised groups -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves a constraint on a value inside a group of ops to an operand or the
// result of the op that replaces the group:
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

/// Shardings of a group's input and of its result; null if there is none.
struct MovedConstraints {
  dist::ShardingAttr x, y;
};

/// Converts `sharding` to a value of `rank` dimensions. Dimension i of the
/// sharding becomes dimension `dims[i]` of the value, or is dropped if that is
/// -1; the other dimensions are open. Null if this changes the meaning: for
/// axes that must stay replicated, and for partial values.
dist::ShardingAttr moveSharding(dist::ShardingAttr sharding,
                                llvm::ArrayRef<int64_t> dims, int64_t rank);

/// Joins `more` into `sharding`: a dimension that is open and without axes in
/// one takes the other. False if they differ otherwise or `more` is null.
bool joinSharding(dist::ShardingAttr &sharding, dist::ShardingAttr more);

/// Moves the constraints of a region. A constraint on rows moves to the nearer
/// of x and y, through elementwise ops; one on a number per row moves to y.
/// None if a constraint cannot move, which `blocking` then is.
std::optional<MovedConstraints> moveConstraints(const RowRegion &region,
                                                dist::ConstraintOp &blocking);

/// The same for a linear region: constraints move to y if rows are whole.
std::optional<MovedConstraints> moveConstraints(const LinearRows &region,
                                                dist::ConstraintOp &blocking);

/// Constrains `value` to a sharding; returns it unchanged without one.
mlir::Value constrain(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value,
                      dist::ShardingAttr sharding);

/// Emits a remark at a constraint that prevents the group around it from being
/// raised to `op`.
void reportBlocked(dist::ConstraintOp blocking, llvm::StringRef op);

} // namespace tessera

#endif // TESSERA_LIB_RAISE_MOVECONSTRAINTS_H
