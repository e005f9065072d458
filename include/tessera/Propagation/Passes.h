//===- Passes.h - Propagation of shardings ----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PROPAGATION_PASSES_H
#define TESSERA_PROPAGATION_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "tessera/Propagation/PropagationProblem.h"

namespace tessera {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tessera/Propagation/Passes.h.inc"

/// Settings of `propagateShardings`.
struct PropagationOptions {
  /// Attach the origin of each axis.
  bool explain = false;
  /// Cost that resolves conflicts; if empty, the time on the links of the mesh
  /// (CollectiveTime.h).
  TransferCost transferCost;
  /// Leave a copy of each constant for each use, even if shardings are equal.
  bool keepsCopies = false;
};

/// Propagates shardings, as the pass does, for callers with their own cost.
/// Reports errors at the ops concerned.
mlir::LogicalResult propagateShardings(mlir::ModuleOp module,
                                       const PropagationOptions &options = {});

/// Replaces each op below `root` that has `dist.rule` by dist.foreign.
/// `onReplace` sees both before the op is erased.
void wrapForeignOps(
    mlir::Operation *root,
    llvm::function_ref<void(mlir::Operation *, mlir::Operation *)> onReplace =
        nullptr);

} // namespace tessera

#endif // TESSERA_PROPAGATION_PASSES_H
