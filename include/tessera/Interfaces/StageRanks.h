//===- StageRanks.h - The paths of a pipeline -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The attribute `paths` of dist.pipeline and rt.pipeline: `[[0, 1], [1, 0]]`
// has the pp rank of each stage, in order, for each path of micro-batches.
// lib/Schedule decides which lists of paths a schedule can have.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_STAGERANKS_H
#define TESSERA_INTERFACES_STAGERANKS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Support/LLVM.h"

namespace tessera {

/// The pp ranks by path and stage, for paths that pass verifyPaths().
mlir::SmallVector<mlir::SmallVector<int64_t>>
readStageRanks(mlir::ArrayAttr paths);

/// Fails with an error at `op` that begins with `label` unless all paths have
/// the same length, their pp ranks are numbered from 0 to the largest, and
/// their number divides the micro-batches.
mlir::LogicalResult verifyPaths(mlir::Operation *op, const char *label,
                                mlir::ArrayAttr paths, int64_t microBatches);

} // namespace tessera

#endif // TESSERA_INTERFACES_STAGERANKS_H
