//===- PlanPricer.cpp - Many layouts of one model, priced fast --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Planning/PlanPricer.h"

using namespace tessera;
using namespace tessera::cost;

/// All of a layout that its layers or the links under them depend on. The
/// pipeline, the schedule and the batch are not among it; of ZeRO only stage 3
/// and, with it, the ranks that parameters are gathered from.
PlanPricer::Key PlanPricer::keyOf(const Layout &l) const {
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
PlanPricer::findModel(const Layout &layout, const Machine &machine) {
  Key key = keyOf(layout);
  auto found = models.find(key);
  if (found != models.end())
    return &found->second;
  llvm::Expected<ModelWork> work = reader.read(config, layout);
  if (!work)
    return work.takeError();
  Priced priced{priceModel(*work, machine), MemoryModel(*work)};
  return &models.emplace(std::move(key), std::move(priced)).first->second;
}

llvm::Expected<PlanPrice> PlanPricer::price(const Layout &layout) {
  std::vector<std::string> errors = layout.check();
  if (errors.empty())
    errors = layout.checkModel(config.heads, config.kvHeads, config.ffn,
                               config.layers);
  if (!errors.empty())
    return llvm::createStringError(errors.front());
  Machine machine(cluster, layout);
  llvm::Expected<const Priced *> priced = findModel(layout, machine);
  if (!priced)
    return priced.takeError();
  llvm::Expected<StepTime> step =
      priceStep((*priced)->model, layout, machine, pipelines);
  if (!step)
    return step.takeError();
  PlanPrice price;
  price.step = *step;
  auto stages = (*priced)->memory.stages(
      assignChunks((*priced)->model.layers, layout), layout, pipelines);
  price.peakBytes = stages[fullestStage(stages)].bytes.total();
  price.fits = price.peakBytes <= machine.device.memoryBytes;
  return price;
}
