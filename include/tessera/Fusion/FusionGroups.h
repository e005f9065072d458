//===- FusionGroups.h - Groups of ops that become one kernel ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Greedy, in program order: an op joins the group of one of its producers if
// both can be split into equally many rows, every value between them stays in
// its row, the group keeps its parallelism, and no path leaves the group and
// returns to it through the op.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_FUSION_FUSIONGROUPS_H
#define TESSERA_FUSION_FUSIONGROUPS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tessera {

/// Ops that become one kernel, in program order.
struct FusionGroup {
  llvm::SmallVector<mlir::linalg::GenericOp> ops;
  int64_t rows = 1;
};

/// The groups of all linalg.generic ops of `block`, and in `order` the groups
/// and the other ops, sorted so that operands come first.
struct FusionPlan {
  /// A group, or an op that is in no group (`op` is null for a group).
  struct Unit {
    mlir::Operation *op = nullptr;
    unsigned group = 0;
  };
  llvm::SmallVector<FusionGroup> groups;
  llvm::SmallVector<Unit> order;
};

/// Plans the groups of `block` without changing the IR.
FusionPlan planFusion(mlir::Block &block);

} // namespace tessera

#endif // TESSERA_FUSION_FUSIONGROUPS_H
