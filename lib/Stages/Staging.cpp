//===- Staging.cpp - Starts of stages and their schedule ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Staging.h"
#include "SumOps.h"
#include "tessera/Schedule/ScheduleCsv.h"
#include "tessera/Stages/PipelineProgram.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace tessera;

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
