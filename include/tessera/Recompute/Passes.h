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
#include <functional>

namespace tessera {

/// How to find out what memory a device's program needs.
struct ArenaMeasure {
  /// Bytes of the arena of a partitioned module, a copy that it may change.
  std::function<mlir::FailureOr<int64_t>(mlir::ModuleOp)> bytes;
  /// Adds the dialects that this needs.
  std::function<void(mlir::DialectRegistry &)> dialects;
};

/// With `auto=<bytes>` the bytes are those of the arena.
std::unique_ptr<mlir::Pass> createSelectRecomputePass(ArenaMeasure measure);

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tessera/Recompute/Passes.h.inc"

} // namespace tessera

#endif // TESSERA_RECOMPUTE_PASSES_H
