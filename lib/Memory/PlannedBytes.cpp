//===- PlannedBytes.cpp - The arena size that a step would need -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Memory/PlannedBytes.h"
#include "StepBlocks.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace tessera;

FailureOr<int64_t> tessera::getPlannedBytes(func::FuncOp func) {
  // Building the blocks inserts copies, so it runs on a clone, next to the
  // kernels that it calls.
  OpBuilder builder(func);
  auto copy = cast<func::FuncOp>(builder.clone(*func));
  ScopedDiagnosticHandler quiet(func.getContext(),
                                [](Diagnostic &) { return success(); });
  StepBlocks blocks(copy, /*reuse=*/true, /*canary=*/0);
  bool isBuilt =
      succeeded(blocks.build()) && !llvm::errorToBool(blocks.problem.check());
  int64_t bytes = isBuilt ? planArena(blocks.problem).bytes : 0;
  copy.erase();
  if (!isBuilt)
    return failure();
  return bytes;
}
