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

#include "MoveAdditions.h"
#include "Splitter.h"
#include "StageSplit.h"
#include "tessera/Cluster/CollectiveTime.h"
#include "tessera/Cluster/LinksAttr.h"
#include "tessera/Schedule/PipelinePricer.h"
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

/// Blocks of each stage, where earlier stages get what does not divide.
static std::vector<double> distributeEvenly(int64_t blocks, int64_t stages) {
  std::vector<double> layers;
  for (int64_t stage = 0; stage < stages; ++stage)
    layers.push_back(
        static_cast<double>(blocks / stages + (stage < blocks % stages)));
  return layers;
}

namespace {
/// The schedule of a program and where its stages begin.
class Staging {
public:
  Staging(dist::AccumulateOp accumulate, const Plan &plan)
      : accumulate(accumulate), plan(plan),
        candidates(findSplitCandidates(accumulate)) {}

  llvm::Error make();
  SmallVector<Operation *> getStarts() const {
    return llvm::map_to_vector(
        points, [&](int point) { return candidates.points[point - 1].op; });
  }
  std::vector<double> getLayers() const {
    return getStageLayers(candidates, points);
  }

  schedule::ScheduleProblem problem;
  schedule::Schedule schedule;

private:
  llvm::Error readFile(schedule::Schedule &list);
  llvm::Error findPoints();
  llvm::Error checkLayers() const;
  schedule::PipelineTimes getTimes(const schedule::SplitPoints &points) const;

  dist::AccumulateOp accumulate;
  const Plan &plan;
  SplitCandidates candidates;
  schedule::SplitProblem split;
  schedule::SplitPoints points;
  schedule::Pipeline pipeline;
  schedule::PipelinePricer pricer;
};
} // namespace

/// The lists of the plan's file.
llvm::Error Staging::readFile(schedule::Schedule &list) {
  auto buffer = llvm::MemoryBuffer::getFile(plan.scheduleFile);
  if (!buffer)
    return llvm::createStringError("schedule: cannot read " +
                                   plan.scheduleFile + ": " +
                                   buffer.getError().message());
  auto read =
      schedule::readScheduleCsv((*buffer)->getBuffer(), plan.scheduleFile);
  if (!read)
    return llvm::createStringError("schedule: " +
                                   llvm::toString(read.takeError()));
  auto count = static_cast<int64_t>(accumulate.getCount());
  if (read->problem.ranks != plan.pp || read->problem.microBatches != count)
    return llvm::createStringError(
        "schedule: " + plan.scheduleFile + ": expects " + Twine(plan.pp) +
        " ranks and " + Twine(count) + " micro-batches but got " +
        Twine(read->problem.ranks) + " and " +
        Twine(read->problem.microBatches));
  problem = read->problem;
  list = std::move(read->schedule);
  return llvm::Error::success();
}

/// Blocks of stages that were given fit the model.
llvm::Error Staging::checkLayers() const {
  int stages = problem.stages();
  double sum =
      std::accumulate(plan.stageLayers.begin(), plan.stageLayers.end(), 0.0);
  if (candidates.blocks == 0)
    return llvm::createStringError(
        "stage-layers: expects a model with numbered blocks (parameters such "
        "as 'blocks.3.w') but got none");
  if (sum == double(candidates.blocks) &&
      plan.stageLayers.size() == static_cast<size_t>(stages))
    return llvm::Error::success();
  return llvm::createStringError("stage-layers: expects " + Twine(stages) +
                                 " numbers that add up to the " +
                                 Twine(candidates.blocks) +
                                 " blocks of the model but got " +
                                 findPlanField("stage-layers")->print(plan));
}

schedule::PipelineTimes
Staging::getTimes(const schedule::SplitPoints &points) const {
  MeshLinks links;
  Mesh mesh;
  auto module = accumulate->getParentOfType<ModuleOp>();
  for (auto op : module.getOps<dist::MeshOp>()) {
    links = getMeshLinks(op);
    mesh = op.getMesh().toMesh();
  }
  auto getSeconds = [&](double bytes) {
    return mesh.stageAxis
               ? getCollectiveTime(links, mesh, CollectiveKind::Permute, bytes,
                                   mesh.fullAxis(*mesh.stageAxis))
               : 0.0;
  };
  return schedule::makePipelineTimes(problem, split, points, getSeconds);
}

llvm::Error Staging::findPoints() {
  int stages = problem.stages();
  if (!plan.stageLayers.empty())
    if (llvm::Error error = checkLayers())
      return error;
  split = makeSplitProblem(accumulate, candidates.points, stages);
  int64_t most = plan.evenStages ? std::max<int64_t>(candidates.blocks, 1)
                                 : static_cast<int64_t>(split.segments.size());
  if (stages > most)
    return llvm::createStringError(
        "pp: expects at most " + Twine(most) +
        " stages, as many as the points "
        "at which the model can be split allow, but got " +
        Twine(stages));
  if (!plan.stageLayers.empty() || plan.evenStages) {
    auto found = findSplitPoints(
        candidates, plan.evenStages
                        ? distributeEvenly(candidates.blocks, stages)
                        : plan.stageLayers);
    if (!found)
      return found.takeError();
    points = std::move(*found);
    return llvm::Error::success();
  }
  if (llvm::Error error = split.check())
    return error;
  // Enough for a few moves of each point.
  constexpr int kMaxPrices = 400;
  points = schedule::improveSplit(
      split, schedule::minimizeLongest(split),
      [&](const schedule::SplitPoints &moved) {
        return pricer.price(pipeline, getTimes(moved)).makespan;
      },
      kMaxPrices);
  return llvm::Error::success();
}

/// The lists, with transfers posted as programs run them.
llvm::Error Staging::make() {
  schedule::Schedule list;
  if (!plan.scheduleFile.empty()) {
    if (llvm::Error error = readFile(list))
      return error;
  } else if (plan.vpp > 1 && plan.schedule != ScheduleKind::Interleaved) {
    return llvm::createStringError("vpp: expects 1 with schedule " +
                                   stringify(plan.schedule) + " but got " +
                                   Twine(plan.vpp));
  } else {
    auto made = schedule::makeProblem(plan.schedule, static_cast<int>(plan.pp),
                                      static_cast<int>(plan.vpp),
                                      static_cast<int>(accumulate.getCount()));
    if (!made)
      return made.takeError();
    problem = *made;
  }
  pipeline = {problem, plan.schedule,
              plan.scheduleFile.empty() ? nullptr : &list};
  if (llvm::Error error = findPoints())
    return error;
  schedule = pricer.getSchedule(pipeline, getTimes(points));
  schedule::insertTransfers(problem, schedule);
  schedule::postReceives(problem, schedule);
  return llvm::Error::success();
}

namespace {
struct SplitStagesPass : tessera::impl::SplitStagesPassBase<SplitStagesPass> {
  LogicalResult split(func::FuncOp function, const Plan &plan) {
    auto accumulates = function.getBody().getOps<dist::AccumulateOp>();
    if (!llvm::hasSingleElement(accumulates))
      return function.emitError("expects the micro-batches of one training "
                                "step to split into pipeline stages");
    dist::AccumulateOp accumulate = *accumulates.begin();
    Staging staging(accumulate, plan);
    if (llvm::Error error = staging.make())
      return function.emitError(llvm::toString(std::move(error)));
    Plan split = plan;
    split.stageLayers = staging.getLayers();
    split.evenStages = false;
    getOperation()->setAttr(DistDialect::kPlanAttr,
                            dist::PlanAttr::get(&getContext(), split));
    moveAdditionsLast(accumulate,
                      StageAssignment(accumulate, staging.getStarts()));
    StageAssignment stages(accumulate, staging.getStarts());
    BoundarySlices slices(function);
    return Splitter(function, accumulate, stages, slices, staging.problem,
                    staging.schedule)
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
