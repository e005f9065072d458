//===- Passes.h - Strategies and the training step --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TRAINING_PASSES_H
#define TESSERA_TRAINING_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "tessera/Training/GivenLayout.h"

namespace tessera {

/// Creates the passes with their options as one struct.
std::unique_ptr<mlir::Pass> createPlanTrainingPass(const GivenLayout &layout);
std::unique_ptr<mlir::Pass> createApplyStrategyPass(const GivenLayout &layout);

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tessera/Training/Passes.h.inc"

} // namespace tessera

#endif // TESSERA_TRAINING_PASSES_H
