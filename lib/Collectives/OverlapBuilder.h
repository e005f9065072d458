//===- OverlapBuilder.h - A block of ops as work and transfers --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_COLLECTIVES_OVERLAPBUILDER_H
#define TESSERA_LIB_COLLECTIVES_OVERLAPBUILDER_H

#include "dialects/Dist/Dist.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tessera/Collectives/OverlapSchedule.h"
#include "tessera/LocalCollectives/OpRuns.h"
#include "llvm/ADT/DenseMap.h"

namespace tessera {

/// A block of a local function as a scheduling problem. Besides data
/// dependences, an order preserves writes in place: an op that may write over
/// an operand that dies there, or over a loop-carried value or an argument,
/// stays after all other readers.
struct BlockTasks {
  OverlapProblem problem;
  /// The op of each task; for a collective, itself or its dist.start.
  llvm::SmallVector<mlir::Operation *> ops;
  /// The order of the block. A collective without a start is waited for at
  /// once.
  OverlapOrder order;
  /// A transfer: the kind and axes of the collective, and the bytes that a
  /// device receives.
  struct Transfer {
    llvm::StringRef kind;
    std::string axes;
    int64_t bytes = 0;
  };
  llvm::DenseMap<unsigned, Transfer> transfers;
};

/// Returns the tasks of a block of a local function. Each of its loops is one
/// task.
BlockTasks buildOverlapTasks(mlir::Block &block);

/// Parameters are ready from the start, so all gathers could run at the start
/// and fill memory for long. A gather therefore starts no earlier than the work
/// on the layer before its own:
///
///     layer                     0         1         2
///     first task with its       3         5         8
///     gathered parameters
///     its gathers start from    0         3         5
void limitPrefetch(BlockTasks &tasks);

/// True for a collective over the stage axis. Other pp ranks run other
/// functions, whose ops would be ordered differently. So it keeps its position
/// relative to all ops before and after it.
bool crossesStages(dist::CollectiveOpInterface op);

/// Returns, for each dist.start of a function, the share of its collective's
/// time in which nothing else runs.
llvm::DenseMap<mlir::Operation *, double>
getExposedShares(mlir::FunctionOpInterface func);

/// Returns the dist.wait of a dist.start whose future has one use, in the same
/// block; null otherwise.
dist::WaitOp findWait(dist::StartOp start);

} // namespace tessera

#endif // TESSERA_LIB_COLLECTIVES_OVERLAPBUILDER_H
