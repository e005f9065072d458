//===- FitRecompute.h - Fits recomputation to an arena ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PHASES_FITRECOMPUTE_H
#define TESSERA_LIB_PHASES_FITRECOMPUTE_H

#include "mlir/Pass/PassManager.h"
#include <functional>
#include <memory>

namespace tessera {

/// Chooses the recomputation of a partitioned module. If its plan has
/// `auto=<bytes>`, these are the bytes of a device's arena: trials on copies of
/// the module find how many bytes of a micro-batch may be kept. `plansArena`
/// adds the passes from a partitioned module to a planned arena.
std::unique_ptr<mlir::Pass>
createFitRecomputePass(std::function<void(mlir::OpPassManager &)> plansArena);

} // namespace tessera

#endif // TESSERA_LIB_PHASES_FITRECOMPUTE_H
