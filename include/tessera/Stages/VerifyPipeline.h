//===- VerifyPipeline.h - Proof of pipeline programs ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_STAGES_VERIFYPIPELINE_H
#define TESSERA_STAGES_VERIFYPIPELINE_H

#include "tessera/Stages/PipelineProgram.h"

namespace tessera {

/// Proves, without any data, that a pipeline program computes the global
/// function `reference`: all functions together are one program of a device of
/// the mesh without the stage axis, which verifyPartition() checks. The proof
/// does not cover the lists: readPipelineProgram() has checked that they run
/// each task once per micro-batch. A result that several pp ranks have is
/// proven for each. Fails, with an error at the op, if it is refuted or not
/// provable.
mlir::LogicalResult verifyPipeline(const PipelineProgram &program,
                                   mlir::FunctionOpInterface reference);

} // namespace tessera

#endif // TESSERA_STAGES_VERIFYPIPELINE_H
