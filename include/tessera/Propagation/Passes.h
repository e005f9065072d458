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
  /// Attach where each axis came from.
  bool explain = false;
  /// Cost by which conflicts are resolved; where it is empty, the time on the
  /// links of the mesh (CollectiveTime.h).
  TransferCost transferCost;
  /// Leave a copy of each constant for each use, though some are sharded alike.
  bool keepsCopies = false;
};

/// What the pass does, for callers with a cost of their own. Reports errors at
/// the ops they are about.
mlir::LogicalResult propagateShardings(mlir::ModuleOp module,
                                       const PropagationOptions &options = {});

} // namespace tessera

#endif // TESSERA_PROPAGATION_PASSES_H
