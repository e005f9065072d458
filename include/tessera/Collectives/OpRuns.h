//===- OpRuns.h - How often ops run, and their sums -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COLLECTIVES_OPRUNS_H
#define TESSERA_COLLECTIVES_OPRUNS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tessera {

/// How often the regions of an op run: of a loop with constant bounds and of
/// dist.accumulate; 1 of all others.
int64_t getNumRuns(mlir::Operation *op);

/// Cost of an op, where `ofOp` says that of a single op: the sum over the ops
/// in its regions, as often as they run; of regions that exclude each other
/// (scf.if) that of the one that costs most. An op without regions, one that
/// says its cost itself, and one whose regions cost nothing (the scalars of a
/// linalg.generic, the collectives of a bucket where these do not count) costs
/// what `ofOp` says of it.
double sumOverRuns(mlir::Operation *op,
                   llvm::function_ref<double(mlir::Operation *)> ofOp);

} // namespace tessera

#endif // TESSERA_COLLECTIVES_OPRUNS_H
