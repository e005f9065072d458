//===- StageTable.h - The stages of a pipeline program ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_STAGES_STAGETABLE_H
#define TESSERA_STAGES_STAGETABLE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

namespace tessera {

/// Prints a table of the stages of a module's pipeline programs, or nothing if
/// there are none. Columns: pp rank; blocks of the model; milliseconds of the
/// tasks F, B and W with one micro-batch, by the price that stages are split by
/// (without a separate B, the BW counts as B); bytes that a device sends to the
/// next stage and to the previous one; bytes that the stage keeps of a
/// micro-batch for later tasks (frames, without boundaries and before the arena
/// rounds them). Expects programs that readPipelineProgram() accepts.
void printStages(mlir::ModuleOp module, llvm::raw_ostream &os);

} // namespace tessera

#endif // TESSERA_STAGES_STAGETABLE_H
