//===- ArenaAttributes.h - Attributes of a planned arena --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_MEMORY_ARENAATTRIBUTES_H
#define TESSERA_LIB_MEMORY_ARENAATTRIBUTES_H

#include "StepBlocks.h"

namespace tessera {

/// Returns the pipeline in a function's body; null if there is none.
rt::PipelineOp findPipeline(mlir::func::FuncOp func);

/// Checks that the function has one block, only tensors of known size as
/// arguments and results. Other values have no offset.
mlir::LogicalResult checkTensors(mlir::func::FuncOp func);

/// Returns a verified plan; see planArena() for `searches`. Fails, with an
/// error at `func`, if the problem is invalid or the plan is wrong.
mlir::FailureOr<ArenaPlan> planChecked(mlir::func::FuncOp func,
                                       const ArenaProblem &problem,
                                       bool searches = false);

/// Sets `rt.offsets` on ops and on the function.
void annotateOffsets(mlir::func::FuncOp func, const StepBlocks &blocks,
                     const ArenaPlan &plan);

/// Sets `rt.arena_bytes` and `rt.memory`, and emits remarks on the plan.
void annotateArena(mlir::func::FuncOp func, const StepBlocks &blocks,
                   const ArenaPlan &plan);

/// Sets `rt.begins` and `rt.ends` for the blocks with these numbers.
void annotateLifetimes(mlir::func::FuncOp func, const StepBlocks &blocks,
                       const ArenaPlan &plan,
                       llvm::iota_range<unsigned> numbers);

} // namespace tessera

#endif // TESSERA_LIB_MEMORY_ARENAATTRIBUTES_H
