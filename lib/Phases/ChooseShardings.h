//===- ChooseShardings.h - Chooses searched or named shardings --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PHASES_CHOOSESHARDINGS_H
#define TESSERA_LIB_PHASES_CHOOSESHARDINGS_H

#include "mlir/Pass/PassManager.h"
#include "tessera/Phases/Phases.h"

namespace tessera {

/// Makes the choice in `options` for a module at phase input, by trials up to
/// phase schedule.
std::unique_ptr<mlir::Pass>
createChooseShardingsPass(const PipelineOptions &options);

/// Runs the passes that `build` adds after the choice has been made.
std::unique_ptr<mlir::Pass>
createChosenPass(std::function<void(mlir::OpPassManager &)> build);

} // namespace tessera

#endif // TESSERA_LIB_PHASES_CHOOSESHARDINGS_H
