//===- SplitStages.cpp - A local program as a pipeline program ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each pp rank gets a copy of the function in which a dist.pipeline takes the
// place of the dist.accumulate. Which op is of which stage: StageAssignment.h;
// its tasks: SplitTasks.cpp; what comes after it: SplitEpilogue.cpp.
//
//===----------------------------------------------------------------------===//

#include "Splitter.h"
#include "tessera/Schedule/Generators.h"
#include "tessera/Schedule/ScheduleCsv.h"
#include "tessera/Stages/Passes.h"
#include "tessera/Stages/PipelineProgram.h"
#include "tessera/Support/PlanFields.h"
#include "llvm/Support/MemoryBuffer.h"
#include <numeric>

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

/// Blocks of each stage: as given, or evenly, where earlier stages get what
/// does not divide.
static llvm::Expected<SmallVector<int64_t>>
getLayers(const Plan &plan, int64_t stages, int64_t blocks) {
  if (plan.stageLayers.empty()) {
    if (blocks < stages)
      return llvm::createStringError("pp: expects at most " + Twine(blocks) +
                                     " stages, the blocks of the model, but "
                                     "got " +
                                     Twine(stages));
    SmallVector<int64_t> layers;
    for (int64_t stage = 0; stage < stages; ++stage)
      layers.push_back(blocks / stages + (stage < blocks % stages));
    return layers;
  }
  SmallVector<int64_t> layers(plan.stageLayers.begin(), plan.stageLayers.end());
  int64_t sum = std::accumulate(layers.begin(), layers.end(), int64_t(0));
  if (sum != blocks || static_cast<int64_t>(layers.size()) != stages)
    return llvm::createStringError(
        "stage-layers: expects " + Twine(stages) +
        " numbers that add up to the " + Twine(blocks) +
        " blocks of the model but got " + Twine(layers.size()) +
        " that add up to " + Twine(sum));
  return layers;
}

/// The lists of a plan's schedule, by name or in a file, with transfers posted
/// as programs run them.
static llvm::Expected<schedule::ListedSchedule> makeSchedule(const Plan &plan,
                                                             int64_t count) {
  schedule::ListedSchedule made;
  auto microBatches = static_cast<int>(count);
  if (plan.scheduleFile.empty()) {
    auto problem =
        schedule::makeProblem(plan.schedule, static_cast<int>(plan.pp),
                              static_cast<int>(plan.vpp), microBatches);
    if (!problem)
      return problem.takeError();
    made.problem = *problem;
    made.schedule = schedule::generate(plan.schedule, *problem);
  } else {
    auto buffer = llvm::MemoryBuffer::getFile(plan.scheduleFile);
    if (!buffer)
      return llvm::createStringError("cannot read " + plan.scheduleFile + ": " +
                                     buffer.getError().message());
    auto read =
        schedule::readScheduleCsv((*buffer)->getBuffer(), plan.scheduleFile);
    if (!read)
      return read.takeError();
    made = std::move(*read);
    if (made.problem.ranks != plan.pp ||
        made.problem.microBatches != microBatches)
      return llvm::createStringError(
          plan.scheduleFile + ": expects " + Twine(plan.pp) + " ranks and " +
          Twine(microBatches) + " micro-batches but got " +
          Twine(made.problem.ranks) + " and " +
          Twine(made.problem.microBatches));
  }
  schedule::insertTransfers(made.problem, made.schedule);
  schedule::postReceives(made.problem, made.schedule);
  return made;
}

namespace {
struct SplitStagesPass : tessera::impl::SplitStagesPassBase<SplitStagesPass> {
  LogicalResult split(func::FuncOp function, const Plan &plan) {
    auto accumulates = function.getBody().getOps<dist::AccumulateOp>();
    if (!llvm::hasSingleElement(accumulates))
      return function.emitError("expects the micro-batches of one training "
                                "step to split into pipeline stages");
    dist::AccumulateOp accumulate = *accumulates.begin();
    auto made = makeSchedule(plan, accumulate.getCount());
    if (!made)
      return function.emitError("schedule: ")
             << llvm::toString(made.takeError());
    auto layers = getLayers(plan, made->problem.stages(),
                            StageAssignment::countBlocks(accumulate));
    if (!layers)
      return function.emitError(llvm::toString(layers.takeError()));
    StageAssignment stages(accumulate, *layers);
    return Splitter(function, accumulate, stages, made->problem, made->schedule)
        .run();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto attr = module->getAttrOfType<dist::PlanAttr>(DistDialect::kPlanAttr);
    if (!attr || attr.getPlan().pp == 1)
      return;
    for (auto function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (function->hasAttr(DistDialect::kLocalAttr) &&
          !isPipelineFunction(function) && function.isPublic() &&
          failed(split(function, attr.getPlan())))
        return signalPassFailure();
  }
};
} // namespace
