//===- VerifyPipeline.cpp - Proof of pipeline programs --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Stages/VerifyPipeline.h"
#include "JoinPipeline.h"
#include "tessera/Validation/VerifyPartition.h"

using namespace mlir;
using namespace tessera;

LogicalResult tessera::verifyPipeline(const PipelineProgram &program,
                                      FunctionOpInterface reference) {
  func::FuncOp first = program.functions.front();
  FailureOr<dist::MeshOp> mesh =
      dist::getOnlyMesh(first->getParentOfType<ModuleOp>());
  if (failed(mesh))
    return failure();
  for (unsigned choice = 0, choices = 1; choice < choices; ++choice) {
    Joiner joiner(program, choice);
    FailureOr<func::FuncOp> joined = joiner.join();
    if (failed(joined))
      return failure();
    choices = joiner.countChoices();
    LogicalResult proven =
        verifyPartition(*joined, mesh->getMesh().toMesh(), reference).report();
    joined->erase();
    if (failed(proven))
      return failure();
  }
  return success();
}
