//===- FitRecompute.h - Recomputation within an arena -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PIPELINES_FITRECOMPUTE_H
#define TESSERA_LIB_PIPELINES_FITRECOMPUTE_H

#include "mlir/Pass/PassManager.h"
#include <functional>
#include <memory>

namespace tessera {

/// The recomputation of a partitioned module. Where its plan says
/// `auto=<bytes>`, the bytes are those of a device's arena: trials on copies
/// of the module find how many bytes of a micro-batch may be kept. `plansArena`
/// adds the passes from there to a planned arena.
std::unique_ptr<mlir::Pass>
createFitRecomputePass(std::function<void(mlir::OpPassManager &)> plansArena);

} // namespace tessera

#endif // TESSERA_LIB_PIPELINES_FITRECOMPUTE_H
