//===- Passes.h - Passes of pipeline programs -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_STAGES_PASSES_H
#define TESSERA_STAGES_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "tessera/Proof/VerifyPartition.h"

namespace tessera {

/// Creates `dist-check-pipelines` that proves programs against the functions in
/// `reference`, by name.
std::unique_ptr<mlir::Pass>
createCheckPipelinesPass(std::shared_ptr<ReferenceProgram> reference);

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tessera/Stages/Passes.h.inc"

} // namespace tessera

#endif // TESSERA_STAGES_PASSES_H
