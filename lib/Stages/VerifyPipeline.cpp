//===- VerifyPipeline.cpp - Proof of pipeline programs --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Stages/VerifyPipeline.h"
#include "JoinPipeline.h"
#include "tessera/Proof/VerifyPartition.h"

using namespace mlir;
using namespace tessera;

/// The ways of micro-batches through a program.
static SmallVector<Way> getWays(const PipelineProgram &program) {
  bool hasBoth = llvm::any_of(program.pipelines, [](dist::PipelineOp pipeline) {
    return llvm::any_of(
        pipeline.getOps<dist::TaskOp>(), [&](dist::TaskOp task) {
          return task.getKind() == dist::TaskKind::Backward &&
                 pipeline.getTask(dist::TaskKind::InputGrad, task.getChunk());
        });
  });
  SmallVector<Way> ways;
  for (int path = 0; path < program.problem.numPaths(); ++path)
    for (bool whole : {false, true})
      if (!whole || hasBoth)
        ways.push_back({path, whole});
  return ways;
}

/// True if the program is refuted, with an error, when all micro-batches go one
/// way. Terms of other ways cannot fix that, since they come from other data.
static bool isRefuted(const PipelineProgram &program, const Mesh &mesh,
                      FunctionOpInterface reference, unsigned choice) {
  for (Way way : getWays(program)) {
    FailureOr<func::FuncOp> joined = Joiner(program, choice, way).join();
    if (failed(joined))
      continue;
    PartitionVerdict verdict = verifyPartition(*joined, mesh, reference);
    bool refuted = verdict.answer == PartitionAnswer::Refuted;
    if (refuted)
      (void)verdict.report();
    joined->erase();
    if (refuted)
      return true;
  }
  return false;
}

LogicalResult tessera::verifyPipeline(const PipelineProgram &program,
                                      FunctionOpInterface reference) {
  func::FuncOp first = program.functions.front();
  FailureOr<dist::MeshOp> meshOp =
      dist::getOnlyMesh(first->getParentOfType<ModuleOp>());
  if (failed(meshOp))
    return failure();
  Mesh mesh = meshOp->getMesh().toMesh();
  for (unsigned choice = 0, choices = 1; choice < choices; ++choice) {
    Joiner joiner(program, choice);
    FailureOr<func::FuncOp> joined = joiner.join();
    if (failed(joined)) {
      const PartitionVerdict &doubt = joiner.getDoubt();
      if (doubt.op && !isRefuted(program, mesh, reference, choice))
        (void)doubt.report();
      return failure();
    }
    choices = joiner.countChoices();
    LogicalResult proven = verifyPartition(*joined, mesh, reference).report();
    joined->erase();
    if (failed(proven))
      return failure();
  }
  return success();
}
