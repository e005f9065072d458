//===- SplitByMemory.cpp - Stages that fit the device ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/SplitByMemory.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace tessera;
using namespace tessera::cost;

/// If the fullest stage is this many times too large, no split that takes as
/// long fits.
static constexpr double kHopeless = 1.5;

/// A split that takes as long lowers the mean of all stages by this share at
/// most.
static constexpr double kLowerMean = 0.05;

/// Maximum number of splits to try: a search evaluates many plans.
static constexpr int kMaxTried = 32;

bool tessera::cost::isSplitByTime(const Layout &layout) {
  return layout.pp > 1 && !layout.evenStages && layout.stageLayers.empty() &&
         layout.scheduleFile.empty();
}

namespace {

/// Moves from a split to one whose fullest stage needs less, as long as there
/// is one that takes as long.
class SplitFitter {
public:
  SplitFitter(const PricedModel &model, const MemoryModel &memory,
              const StagedModel &byTime, const Plan &wanted,
              const Machine &machine, schedule::PipelinePricer &pricer,
              const MemoryConstants &constants)
      : model(model), memory(memory), byTime(byTime), machine(machine),
        pricer(pricer), constants(constants), best(wanted) {
    best.stageLayers = byTime.getPlan().stageLayers;
    measure(best, byTime);
    least = byTime.price(best, byTime.leastSeconds()).total;
  }

  /// The peak of the fullest stage, and the mean of all stages.
  double getPeak() const { return peak; }
  double getMean() const { return mean; }
  const Plan &getBest() const { return best; }

  void tryEven();
  bool moveBlock();

private:
  /// Takes the plan if its fullest stage needs less and it takes as long.
  bool consider(const Plan &plan);
  void measure(const Plan &plan, const StagedModel &staged);
  bool isLegal(const std::vector<double> &counts) const;

  const PricedModel &model;
  const MemoryModel &memory;
  const StagedModel &byTime;
  const Machine &machine;
  schedule::PipelinePricer &pricer;
  const MemoryConstants &constants;
  Plan best;
  double peak = 0, mean = 0;
  int fullest = 0, tried = 0;
  /// The lower bound and the price of the step that is split by time.
  double least = 0;
  std::optional<double> seconds;
};

} // namespace

void SplitFitter::measure(const Plan &plan, const StagedModel &staged) {
  auto stages = memory.stages(staged.getChunks(), plan, machine.execution,
                              staged.getPipeline(), pricer, constants);
  fullest = static_cast<int>(fullestStage(stages));
  peak = stages[fullest].bytes.total();
  mean = 0;
  for (const StageMemory &stage : stages)
    mean += stage.bytes.total() / double(stages.size());
}

/// Only the chunks at the ends may have no block, since they have other layers.
bool SplitFitter::isLegal(const std::vector<double> &counts) const {
  return llvm::all_of(ArrayRef(counts).drop_front().drop_back(),
                      [](double count) { return count > 0; }) &&
         counts.front() >= 0 && counts.back() >= 0;
}

bool SplitFitter::consider(const Plan &plan) {
  if (++tried > kMaxTried)
    return false;
  Expected<StagedModel> staged =
      StagedModel::make(model, plan, machine, pricer);
  if (!staged) {
    consumeError(staged.takeError());
    return false;
  }
  double other = staged->price(plan, staged->leastSeconds()).total;
  if (other > (1 + kSlowerSplit) * least || other < (1 - kFasterSplit) * least)
    return false;
  SplitFitter moved = *this;
  moved.measure(plan, *staged);
  if (moved.peak >= peak)
    return false;
  if (!seconds)
    seconds = byTime.price(best, byTime.pipelineSeconds(pricer)).total;
  double taken = staged->price(plan, staged->pipelineSeconds(pricer)).total;
  if (taken > (1 + kSlowerSplit) * *seconds)
    return false;
  best = plan;
  peak = moved.peak;
  fullest = moved.fullest;
  return true;
}

void SplitFitter::tryEven() {
  Plan even = best;
  even.stageLayers.clear();
  // Write the blocks to the plan: a plan that splits evenly by itself lists
  // none.
  std::vector<double> counts;
  for (const ModelWork::Runs &runs : assignChunks(model.layers, even))
    for (const ModelWork::Run &run : runs)
      if (run.kind == model.layers[findBlocks(model.layers)].kind)
        counts.push_back(run.count);
  if (counts.size() != best.stageLayers.size() || !isLegal(counts))
    return;
  even.stageLayers = std::move(counts);
  consider(even);
}

/// Moves a block off the fullest rank, to the chunk with the largest gain.
bool SplitFitter::moveBlock() {
  const schedule::ScheduleProblem &problem = byTime.getPipeline().problem;
  Plan from = best;
  bool isMoved = false;
  int rank = fullest;
  auto numStages = static_cast<int>(from.stageLayers.size());
  for (int chunk = 0; chunk < problem.chunks; ++chunk)
    for (int to = numStages - 1; to >= 0; --to) {
      int stage = problem.stageOf({rank, chunk});
      Plan moved = from;
      moved.stageLayers[stage] -= 1;
      moved.stageLayers[to] += 1;
      if (to != stage && isLegal(moved.stageLayers))
        isMoved |= consider(moved);
    }
  return isMoved;
}

std::optional<Plan> tessera::cost::splitByMemory(
    const PricedModel &model, const MemoryModel &memory,
    const StagedModel &byTime, const Plan &wanted, const Machine &machine,
    schedule::PipelinePricer &pricer, double limit,
    const MemoryConstants &constants) {
  if (byTime.getPlan().stageLayers.empty())
    return std::nullopt;
  SplitFitter fitter(model, memory, byTime, wanted, machine, pricer, constants);
  if (fitter.getPeak() <= limit ||
      fitter.getMean() * (1 - kLowerMean) > limit ||
      fitter.getPeak() > kHopeless * limit)
    return std::nullopt;
  fitter.tryEven();
  while (fitter.moveBlock())
    ;
  if (fitter.getPeak() > limit)
    return std::nullopt;
  return fitter.getBest();
}
