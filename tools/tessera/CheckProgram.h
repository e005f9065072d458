//===- CheckProgram.h - What is asked of a program --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The phase of a program, and whether options fit it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_CHECKPROGRAM_H
#define TESSERA_TOOLS_CHECKPROGRAM_H

#include "mlir/IR/BuiltinOps.h"
#include "tessera/Phases/Phases.h"
#include "llvm/Support/Error.h"

namespace tessera {

/// True if the program has local functions: it is already partitioned and, if
/// it is trained, has its training step.
bool isLocal(mlir::ModuleOp module);

/// True if the program has been through phase schedule: its memory is planned.
bool isScheduled(mlir::ModuleOp module);

/// Warns if nothing says what to shard: each device would compute the whole
/// program.
void warnIfCopied(mlir::ModuleOp module, const PipelineOptions &phases);

/// Fails if a sharding file is to be read or written and the phases up to
/// `last` (none: all) do not come to it.
llvm::Error checkShardings(mlir::ModuleOp module, const PipelineOptions &phases,
                           std::optional<Phase> last);

} // namespace tessera

#endif // TESSERA_TOOLS_CHECKPROGRAM_H
