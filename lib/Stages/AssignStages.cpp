//===- AssignStages.cpp - Values that each pp rank keeps ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A value of the forward is stored once per micro-batch that is alive between
// the task that makes it and the last task that reads it. Under 1F1B on two pp
// ranks, with F and BW:
//
//     pp rank 0    F0 F1 BW0 F2 BW1 ...    two alive: F0 and F1
//     pp rank 1       F0 BW0 F1 BW1 ...    one alive
//
//===----------------------------------------------------------------------===//

#include "StageAssignment.h"
#include "Staging.h"
#include "tessera/Schedule/PeakBytes.h"
#include "tessera/Stages/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_ASSIGNSTAGESPASS
#include "tessera/Stages/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using dist::DistDialect;
using schedule::MicroBatchesAlive;
using schedule::Slot;

/// True if a task W reads a value.
static bool isKeptForWeightGrads(Value value, const StageAssignment &stages) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return stages.getClass(user) == TaskClass::Backward &&
           stages.isWeightGrad(user);
  });
}

/// Records for an op of the forward where its results are kept and how many
/// copies are alive.
static void markOp(Operation *op, const StageAssignment &stages,
                   const schedule::ScheduleProblem &problem,
                   ArrayRef<std::vector<MicroBatchesAlive>> alive) {
  bool isForWeights = llvm::any_of(op->getResults(), [&](Value value) {
    return isKeptForWeightGrads(value, stages);
  });
  int stage = stages.getStage(op);
  int64_t rank = problem.ranks, most = 1;
  for (int path = 0; path < problem.numPaths(); ++path) {
    Slot slot = problem.slotOf(stage, path * problem.microBatchesOf());
    const MicroBatchesAlive &counts = alive[slot.rank][slot.chunk];
    rank = std::min<int64_t>(rank, slot.rank);
    most = std::max<int64_t>(most, isForWeights ? counts.forwardToWeightGrad
                                                : counts.forwardToInputGrad);
  }
  Builder builder(op->getContext());
  op->setDiscardableAttr(DistDialect::kHeldAttr,
                         builder.getDenseI64ArrayAttr({rank, most}));
}

namespace {
struct AssignStagesPass
    : tessera::impl::AssignStagesPassBase<AssignStagesPass> {
  LogicalResult assign(func::FuncOp function, const Layout &layout) {
    FailureOr<Staging> made = Staging::make(function, layout);
    if (failed(made))
      return failure();
    Staging &staging = *made;
    dist::AccumulateOp accumulate = staging.getAccumulate();
    StageAssignment stages(accumulate, staging.getStarts());
    std::vector<std::vector<MicroBatchesAlive>> alive =
        schedule::countAlive(staging.problem, staging.schedule);
    for (Operation &op : accumulate.getBody().front().without_terminator())
      if (stages.getClass(&op) == TaskClass::Forward)
        markOp(&op, stages, staging.problem, alive);
    if (staging.hasBlocks())
      setStageLayers(getOperation(), staging);
    return success();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto attr = module->getAttrOfType<dist::PlanAttr>(DistDialect::kPlanAttr);
    if (!attr || attr.getPlan().pp == 1)
      return;
    for (auto function : module.getOps<func::FuncOp>())
      if (isToBeSplit(function) && failed(assign(function, attr.getPlan())))
        return signalPassFailure();
  }
};
} // namespace
