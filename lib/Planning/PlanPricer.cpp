//===- PlanPricer.cpp - Prices many layouts of one model fast ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Planning/PlanPricer.h"
#include "tessera/Cost/MatmulFormat.h"
#include "tessera/Cost/SplitByMemory.h"
#include "tessera/Support/Errors.h"

using namespace tessera;
using namespace tessera::cost;

/// Returns the position of an execution among those that were priced. Plans
/// that follow each other mostly have the same.
int64_t PlanPricer::indexOf(const Execution &execution) {
  if (!executions.empty() && executions[lastExecution] == execution)
    return lastExecution;
  auto *found = llvm::find(executions, execution);
  lastExecution = found - executions.begin();
  if (found == executions.end())
    executions.push_back(execution);
  return lastExecution;
}

/// Returns the fields on which a plan's layers and the links under them depend.
/// The pipeline, the schedule and the batch are not among them. The data axis
/// is included if layers communicate over it: to gather parameters, and to send
/// tokens to experts sharded over it.
PlanPricer::Key PlanPricer::keyOf(const cost::ExecutedPlan &l) {
  bool gathers = l.zero == 3 && l.dp * l.cp > 1;
  return {l.tp, l.cp, l.cpMethod.kind, l.cpMethod.headDevices, l.sp, l.seq,
          l.documentTokens, l.microBatch, gathers, l.ep, l.etp,
          gathers || l.ep > 1 ? l.dp : 0, int64_t(l.recompute),
          int64_t(l.precision), int64_t(l.gradDType), l.weightBytes, l.dropout,
          l.loraRank, int64_t(l.loraTargets), l.overlapTp, l.keepGathered,
          indexOf(l), l.sumsApart ? l.microBatches : 0,
          // A tied table is stored twice.
          subject.dense && subject.dense->tiedHead && l.pp > 1,
          // A mesh inside one group of a level has the group's links; a larger
          // one has the links of the level that it fills.
          l.gpus()};
}

llvm::Expected<const PlanPricer::Layers *>
PlanPricer::getLayers(const cost::ExecutedPlan &plan, const Machine &machine) {
  auto layers = findLayers(plan, machine);
  if (!layers)
    return layers.takeError();
  return *layers;
}

llvm::Expected<ModelWork> PlanPricer::readWork(const cost::ExecutedPlan &plan) {
  llvm::Expected<ModelWork> work = subject.readLayers(reader, plan);
  if (!work || !subject.dense)
    return work;
  auto [found, isNew] = figures.try_emplace(plan.seq);
  if (isNew)
    found->second = {countParameters(*subject.dense),
                     modelFlopsPerToken(*subject.dense, plan.seq)};
  std::tie(work->modelParameters, work->modelFlopsPerToken) = found->second;
  return work;
}

llvm::Expected<PlanPricer::Layers *>
PlanPricer::findLayers(const cost::ExecutedPlan &plan, const Machine &machine) {
  Key key = keyOf(plan);
  auto found = models.find(key);
  if (found != models.end() && (!keepsWork || found->second.work))
    return &found->second;
  llvm::Expected<ModelWork> work =
      keepsWork ? readWork(plan) : subject.readLayers(reader, plan);
  if (!work)
    return work.takeError();
  if (found == models.end()) {
    Layers layers{priceModel(*work, machine), MemoryModel(*work)};
    found = models.emplace(std::move(key), std::move(layers)).first;
  }
  if (keepsWork)
    found->second.work = std::move(*work);
  return &found->second;
}

llvm::Error PlanPricer::check(const cost::ExecutedPlan &plan) const {
  if (llvm::Error error = subject.check(plan))
    return takeFirst(std::move(error));
  if (llvm::Error error = cluster.checkSize(plan.gpus()))
    return error;
  return checkPrecision(plan.precision, cluster.device);
}

llvm::Expected<PlanPrice> PlanPricer::price(const cost::ExecutedPlan &plan,
                                            cost::ExecutedPlan *chosen) {
  if (llvm::Error error = check(plan))
    return std::move(error);
  if (!Subject::hasContextChoice(plan))
    return priceMethod(plan, chosen);
  std::optional<PlanPrice> fastest;
  for (const cost::ExecutedPlan &one : subject.listContextPlans(plan)) {
    cost::ExecutedPlan split;
    llvm::Expected<PlanPrice> price = priceMethod(one, &split);
    if (!price)
      return price.takeError();
    if (fastest && fastest->step.total <= price->step.total)
      continue;
    fastest = *price;
    if (chosen)
      *chosen = std::move(split);
  }
  return *fastest;
}

llvm::Expected<PlanReport> PlanPricer::report(const cost::ExecutedPlan &given,
                                              const PlanQuestion &question) {
  keepsWork = true;
  cost::ExecutedPlan plan = given;
  if (Subject::hasContextChoice(given)) {
    cost::ExecutedPlan chosen;
    llvm::Expected<PlanPrice> price = this->price(given, &chosen);
    if (!price)
      return price.takeError();
    plan.cpMethod = chosen.cpMethod;
  } else if (llvm::Error error = check(given)) {
    return std::move(error);
  }
  Machine machine(cluster, device, plan, plan.execution());
  llvm::Expected<Layers *> layers = findLayers(plan, machine);
  if (!layers)
    return layers.takeError();
  llvm::Expected<Plan> split = this->split(**layers, plan, machine);
  if (!split)
    return split.takeError();
  return makePlanReport({*(*layers)->work, (*layers)->model, (*layers)->memory},
                        plan, std::move(*split), cluster, machine, question,
                        pipelines);
}

llvm::Expected<Plan> PlanPricer::split(Layers &layers, Plan plan,
                                       const Machine &machine) {
  // Splits are cached only if they are by time: not for given ones, nor for
  // schedules from a file.
  if (!isSplitByTime(plan))
    return splitByTime(layers.model, std::move(plan), machine, pipelines);
  auto [found, isNew] =
      layers.splits.try_emplace({plan.pp, plan.chunks(), plan.schedule});
  if (isNew) {
    auto split = splitByTime(layers.model, plan, machine, pipelines);
    if (!split) {
      layers.splits.erase(found);
      return split.takeError();
    }
    found->second = std::move(split->stageLayers);
  }
  plan.stageLayers = found->second;
  return plan;
}

double PlanPricer::peakBytes(const Layers &layers, const StagedModel &staged) {
  auto stages = layers.memory.stages(staged.getChunks(), staged.getPlan(),
                                     staged.getExecution(),
                                     staged.getPipeline(), pipelines);
  return stages[fullestStage(stages)].bytes.total();
}

llvm::Expected<PlanPrice>
PlanPricer::priceMethod(const cost::ExecutedPlan &plan,
                        cost::ExecutedPlan *chosen) {
  Machine machine(cluster, device, plan, plan.execution());
  llvm::Expected<Layers *> layers = findLayers(plan, machine);
  if (!layers)
    return layers.takeError();
  const PricedModel &model = (*layers)->model;
  llvm::Expected<Plan> split = this->split(**layers, plan, machine);
  if (!split)
    return split.takeError();
  llvm::Expected<StagedModel> staged =
      StagedModel::make(model, std::move(*split), machine, pipelines);
  if (!staged)
    return staged.takeError();
  PlanPrice price;
  double capacity = machine.device.memoryBytes;
  price.peakBytes = peakBytes(**layers, *staged);
  if (price.peakBytes > capacity && isSplitByTime(plan))
    if (std::optional<Plan> fitting =
            splitByMemory(model, (*layers)->memory, *staged, plan, machine,
                          pipelines, capacity)) {
      staged =
          StagedModel::make(model, std::move(*fitting), machine, pipelines);
      if (!staged)
        return staged.takeError();
      price.peakBytes = peakBytes(**layers, *staged);
    }
  const Plan &priced = staged->getPlan();
  price.step = staged->price(priced, staged->pipelineSeconds(pipelines));
  price.fits = price.peakBytes <= capacity;
  if (chosen)
    *chosen = {priced, plan.execution()};
  return price;
}
