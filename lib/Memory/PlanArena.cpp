//===- PlanArena.cpp - Offsets for the tensors of a step function ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArenaAttributes.h"
#include "dialects/RT/RT.h"
#include "tessera/Memory/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_PLANARENAPASS
#include "tessera/Memory/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using rt::RTDialect;

namespace {
struct PlanArenaPass : tessera::impl::PlanArenaPassBase<PlanArenaPass> {
  using PlanArenaPassBase::PlanArenaPassBase;
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    // rt-plan-pipeline plans pipelines together with their tasks.
    if (func.isExternal() || func->hasAttr(RTDialect::kKernelAttr) ||
        func->hasAttr(RTDialect::kTaskAttr) || findPipeline(func))
      return;
    if (failed(checkTensors(func)))
      return signalPassFailure();
    StepBlocks blocks(func, reuse, check ? TESSERA_RT_CANARY_BYTES : 0);
    if (failed(blocks.build()))
      return signalPassFailure();
    FailureOr<ArenaPlan> plan = planChecked(func, blocks.problem);
    if (failed(plan))
      return signalPassFailure();
    annotateOffsets(func, blocks, *plan);
    annotateArena(func, blocks, *plan);
    if (check)
      annotateLifetimes(func, blocks, *plan,
                        llvm::seq<unsigned>(0, blocks.problem.blocks.size()));
  }
};
} // namespace
