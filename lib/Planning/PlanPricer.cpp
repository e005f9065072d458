//===- PlanPricer.cpp - Many layouts of one model, priced fast --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Planning/PlanPricer.h"
#include "tessera/Support/Errors.h"

using namespace tessera;
using namespace tessera::cost;

/// All of a plan that its layers or the links under them depend on. The
/// pipeline, the schedule and the batch are not among it; of ZeRO only stage 3
/// and, with it, the ranks that parameters are gathered from.
PlanPricer::Key PlanPricer::keyOf(const Plan &l) const {
  bool gathers = l.zero == 3;
  return {l.tp, l.cp, l.sp, l.seq, l.microBatch,
          l.dp, // Ranks that share a parameter.
          gathers, int64_t(l.recompute), int64_t(l.precision),
          int64_t(l.gradDType), int64_t(l.attention), l.dropout, l.fusedLoss,
          l.frozen, l.overlapTp, l.eager, l.keepGathered,
          // A tied table is stored twice.
          config.tiedHead && l.pp > 1};
}

llvm::Expected<const PlanPricer::Priced *>
PlanPricer::findModel(const Plan &plan, const Machine &machine) {
  Key key = keyOf(plan);
  auto found = models.find(key);
  if (found != models.end())
    return &found->second;
  llvm::Expected<ModelWork> work = reader.read(config, plan);
  if (!work)
    return work.takeError();
  Priced priced{priceModel(*work, machine), MemoryModel(*work)};
  return &models.emplace(std::move(key), std::move(priced)).first->second;
}

llvm::Expected<PlanPrice> PlanPricer::price(const Plan &plan) {
  llvm::Error error = plan.check();
  if (!error)
    error = plan.checkModel(config.heads, config.kvHeads, config.ffn,
                            config.layers);
  if (error)
    return takeFirst(std::move(error));
  Machine machine(cluster, plan);
  llvm::Expected<const Priced *> priced = findModel(plan, machine);
  if (!priced)
    return priced.takeError();
  const PricedModel &model = (*priced)->model;
  llvm::Expected<Plan> split = splitByTime(model, plan, machine, pipelines);
  if (!split)
    return split.takeError();
  llvm::Expected<StepTime> step = priceStep(model, *split, machine, pipelines);
  if (!step)
    return step.takeError();
  PlanPrice price;
  price.step = *step;
  auto stages = (*priced)->memory.stages(assignChunks(model.layers, *split),
                                         *split, pipelines);
  price.peakBytes = stages[fullestStage(stages)].bytes.total();
  price.fits = price.peakBytes <= machine.device.memoryBytes;
  return price;
}
