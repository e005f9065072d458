//===- Passes.h - Recomputation ---------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RECOMPUTE_PASSES_H
#define TESSERA_RECOMPUTE_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "tessera/Recompute/Recompute.h"

namespace tessera {

/// The fewest and the most bytes that a device of a partitioned module can keep
/// for the backward: for one micro-batch, or by pp rank (`dist.held`) for the
/// micro-batches that it keeps at once. With several blocks with gradients, the
/// greatest of each. Empty if there is nothing to keep.
std::vector<KeptRange> getKeptRanges(mlir::ModuleOp module);

/// The ops that the backward recomputes according to the module's dist.plan,
/// with their time, as if each device had all of each value: under `selective`
/// and `full`. Under `auto` they depend on an arena; `none` recomputes only ops
/// that take no time.
std::vector<mlir::Operation *> getRepeatedOps(mlir::ModuleOp module);

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tessera/Recompute/Passes.h.inc"

} // namespace tessera

#endif // TESSERA_RECOMPUTE_PASSES_H
