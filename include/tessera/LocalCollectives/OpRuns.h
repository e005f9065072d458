//===- OpRuns.h - Numbers of runs of ops, and their sums --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LOCALCOLLECTIVES_OPRUNS_H
#define TESSERA_LOCALCOLLECTIVES_OPRUNS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tessera {

/// Number of runs of the regions of an op: trips of a loop with constant
/// bounds, micro-batches of a dist.accumulate; 1 for all others. A loop up to
/// the largest index ends by a condition of its own, so its trips are unknown.
int64_t getNumRuns(mlir::Operation *op);

/// Cost of an op, given the cost `ofOp` of a single op: the sum over the ops in
/// its regions, times their runs. Regions that exclude each other (scf.if)
/// count with the most expensive one. An op without regions, one that gives its
/// own cost, and one whose regions cost nothing (the scalars of a
/// linalg.generic, the collectives of a bucket if these do not count) costs
/// `ofOp`.
double sumOverRuns(mlir::Operation *op,
                   llvm::function_ref<double(mlir::Operation *)> ofOp);

} // namespace tessera

#endif // TESSERA_LOCALCOLLECTIVES_OPRUNS_H
