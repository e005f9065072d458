//===- SplitStages.cpp - A local program as a pipeline program ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each pp rank gets a copy of the function in which a dist.pipeline replaces
// the dist.accumulate. StageAssignment.h assigns ops to stages, SplitTasks.cpp
// builds the tasks, SplitEpilogue.cpp handles the ops after the pipeline.
//
//===----------------------------------------------------------------------===//

#include "KeepBoundaries.h"
#include "MoveAdditions.h"
#include "Splitter.h"
#include "Staging.h"
#include "tessera/Stages/Passes.h"
#include "tessera/Stages/PipelineProgram.h"

namespace tessera {
#define GEN_PASS_DEF_SPLITSTAGESPASS
#include "tessera/Stages/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using dist::DistDialect;

void Splitter::makeFunctions() {
  builder.setInsertionPoint(whole);
  for (auto [number, rank] : llvm::enumerate(ranks)) {
    rank.function = func::FuncOp::create(
        builder, whole.getLoc(), (whole.getName() + "_" + Twine(number)).str(),
        whole.getFunctionType());
    rank.function->setDiscardableAttrs(whole->getDiscardableAttrDictionary());
    rank.function->setAttr(DistDialect::kPPRankAttr,
                           builder.getI64IntegerAttr(number));
    rank.function->setAttr(
        DistDialect::kReferenceAttr,
        FlatSymbolRefAttr::get(builder.getContext(), whole.getName()));
    SmallVector<Attribute> attrs;
    for (unsigned i = 0; i < whole.getNumArguments(); ++i)
      attrs.push_back(whole.getArgAttrDict(i));
    rank.function.setAllArgAttrs(attrs);
    Block *entry = rank.function.addEntryBlock();
    rank.values.map(whole.getArguments(), entry->getArguments());
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(entry);
    for (Operation &op : whole.getBody().front()) {
      if (&op == accumulate)
        break;
      builder.clone(op, rank.values);
    }
  }
}

LogicalResult Splitter::run() {
  for (Value value : body.getTerminator()->getOperands())
    (void)stages.getTerms(value, additions);
  makeFunctions();
  buildTasks();
  addTerms();
  for (size_t number = 0; number < ranks.size(); ++number)
    makePipeline(number);
  if (failed(placeEpilogue()))
    return failure();
  return finishFunctions();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
struct SplitStagesPass : tessera::impl::SplitStagesPassBase<SplitStagesPass> {
  using SplitStagesPassBase::SplitStagesPassBase;

  LogicalResult split(func::FuncOp function, const Layout &layout) {
    FailureOr<Staging> made = Staging::make(function, layout);
    if (failed(made))
      return failure();
    Staging &staging = *made;
    dist::AccumulateOp accumulate = staging.getAccumulate();
    setStageLayers(getOperation(), staging);
    // The functions of its pp ranks inherit its attributes.
    function->setAttr(
        DistDialect::kBubbleAttr,
        FloatAttr::get(Float64Type::get(&getContext()), staging.bubble));
    keepBoundaries(accumulate,
                   StageAssignment(accumulate, staging.getStarts()));
    moveAdditionsLast(accumulate,
                      StageAssignment(accumulate, staging.getStarts()));
    StageAssignment stages(accumulate, staging.getStarts());
    BoundarySlices slices(function);
    return Splitter(function, accumulate, stages, slices, staging.problem,
                    staging.schedule, bucketBytes)
        .run();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto attr = module->getAttrOfType<dist::PlanAttr>(DistDialect::kPlanAttr);
    if (!attr || attr.getPlan().pp == 1)
      return;
    for (auto function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (isToBeSplit(function) && failed(split(function, attr.getPlan())))
        return signalPassFailure();
  }
};
} // namespace
