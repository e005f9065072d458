//===- Staging.cpp - Starts of stages and their schedule ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Staging.h"
#include "SumOps.h"
#include "tessera/Cluster/CollectiveTime.h"
#include "tessera/Cluster/LinksAttr.h"
#include "tessera/Plan/PlanFields.h"
#include "tessera/Schedule/ScheduleCsv.h"
#include "tessera/Stages/PipelineProgram.h"
#include "llvm/Support/MemoryBuffer.h"
#include <numeric>

using namespace mlir;
using namespace tessera;

/// Blocks of each stage; earlier stages get the remainder.
static std::vector<double> distributeEvenly(int64_t blocks, int64_t stages) {
  int64_t least = blocks / stages;
  std::vector<double> layers;
  for (int64_t stage = 0; stage < stages; ++stage)
    layers.push_back(double(least + (stage < blocks % stages)));
  return layers;
}

/// Reads the action lists of the plan's file.
llvm::Error Staging::readFile(schedule::Schedule &list) {
  auto buffer = llvm::MemoryBuffer::getFile(layout.scheduleFile);
  if (!buffer)
    return llvm::createStringError("schedule: cannot read " +
                                   layout.scheduleFile + ": " +
                                   buffer.getError().message());
  auto read =
      schedule::readScheduleCsv((*buffer)->getBuffer(), layout.scheduleFile,
                                /*mayBeForward=*/!isTrained);
  if (!read)
    return llvm::createStringError("schedule: " +
                                   llvm::toString(read.takeError()));
  auto count = static_cast<int64_t>(accumulate.getCount());
  if (read->problem.ranks != layout.pp || read->problem.microBatches != count)
    return llvm::createStringError(
        "schedule: " + layout.scheduleFile + ": expects " + Twine(layout.pp) +
        " ranks and " + Twine(count) + " micro-batches but got " +
        Twine(read->problem.ranks) + " and " +
        Twine(read->problem.microBatches));
  problem = read->problem;
  list = std::move(read->schedule);
  return llvm::Error::success();
}

/// Checks that the given blocks per stage fit the model.
llvm::Error Staging::checkLayers() const {
  int stages = problem.stages();
  double sum = std::accumulate(layout.stageLayers.begin(),
                               layout.stageLayers.end(), 0.0);
  if (candidates.blocks == 0)
    return llvm::createStringError(
        "stage-layers: expects a model with numbered blocks (parameters such "
        "as 'blocks.3.w') but got none");
  if (sum == double(candidates.blocks) &&
      layout.stageLayers.size() == static_cast<size_t>(stages))
    return llvm::Error::success();
  return llvm::createStringError(
      "stage-layers: expects " + Twine(stages) +
      " numbers that add up to the " + Twine(candidates.blocks) +
      " blocks of the model but got " +
      findField<Layout>("stage-layers")->print(layout));
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
  if (!layout.stageLayers.empty())
    if (llvm::Error error = checkLayers())
      return error;
  split = makeSplitProblem(accumulate, candidates.points, stages);
  int64_t most = layout.evenStages
                     ? std::max<int64_t>(candidates.blocks, 1)
                     : static_cast<int64_t>(split.segments.size());
  if (stages > most)
    return llvm::createStringError(
        "pp: expects at most " + Twine(most) +
        " stages, as many as the points "
        "at which the model can be split allow, but got " +
        Twine(stages));
  if (!layout.stageLayers.empty() || layout.evenStages) {
    auto found = findSplitPoints(
        candidates, layout.evenStages
                        ? distributeEvenly(candidates.blocks, stages)
                        : layout.stageLayers);
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

/// Makes the action lists, with transfers posted as programs run them.
llvm::Error Staging::makeLists() {
  schedule::Schedule list;
  if (!layout.scheduleFile.empty()) {
    if (llvm::Error error = readFile(list))
      return error;
  } else if (layout.vpp > 1 && layout.schedule != ScheduleKind::Interleaved) {
    return llvm::createStringError("vpp: expects 1 with schedule " +
                                   stringify(layout.schedule) + " but got " +
                                   Twine(layout.vpp));
  } else {
    auto made = schedule::makeProblem(
        layout.schedule, static_cast<int>(layout.pp),
        static_cast<int>(layout.vpp), static_cast<int>(accumulate.getCount()));
    if (!made)
      return made.takeError();
    problem = *made;
  }
  pipeline = {problem, layout.schedule,
              layout.scheduleFile.empty() ? nullptr : &list};
  if (llvm::Error error = findPoints())
    return error;
  schedule = pricer.getSchedule(pipeline, getTimes(points));
  if (!isTrained) {
    if (problem.numPaths() > 1)
      return llvm::createStringError(
          "schedule: expects one with one copy of the model for a forward "
          "program but got " +
          stringify(layout.schedule));
    schedule = schedule::keepForwards(schedule);
  }
  schedule::ScheduleTiming timing =
      schedule::CompiledSchedule(problem, schedule).simulate(getTimes(points));
  if (timing.makespan() > 0)
    bubble = 1 - timing.maxBusy() / timing.makespan();
  schedule::insertTransfers(problem, schedule);
  schedule::postReceives(problem, schedule);
  return llvm::Error::success();
}

FailureOr<Staging> Staging::make(func::FuncOp function, const Layout &layout) {
  auto accumulates = function.getBody().getOps<dist::AccumulateOp>();
  if (!llvm::hasSingleElement(accumulates))
    return function.emitError("expects the micro-batches of one program to "
                              "split into pipeline stages");
  dist::AccumulateOp accumulate = *accumulates.begin();
  // Removes dead ops first, as stages begin at ops that stay.
  removeDead(accumulate.getBody().front());
  Staging staging(accumulate, layout);
  if (llvm::Error error = staging.makeLists())
    return function.emitError(llvm::toString(std::move(error)));
  return staging;
}

void tessera::setStageLayers(ModuleOp module, const Staging &staging) {
  StringRef name = dist::DistDialect::kPlanAttr;
  Plan plan = module->getAttrOfType<dist::PlanAttr>(name).getPlan();
  plan.stageLayers = staging.getLayers();
  plan.evenStages = false;
  module->setAttr(name, dist::PlanAttr::get(module.getContext(), plan));
}

bool tessera::isToBeSplit(func::FuncOp function) {
  return function->hasAttr(dist::DistDialect::kLocalAttr) &&
         !isPipelineFunction(function) && function.isPublic();
}
