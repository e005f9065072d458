//===- ReshardCost.cpp - Chooses factor axes by the cost of reshards ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Partition/ReshardCost.h"
#include "tessera/Propagation/FactorProjection.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>

using namespace tessera;
using llvm::ArrayRef;

TransferSum tessera::getReshardCost(ReshardPlanner &planner,
                                    const Sharding &from, const Sharding &to,
                                    ArrayRef<int64_t> shape,
                                    int64_t elementBytes) {
  if (from.samePlacement(to))
    return {};
  const ReshardPlan &plan = planner.plan(from, to, shape, elementBytes);
  if (!plan.error.empty())
    return {std::numeric_limits<double>::infinity(), 0};
  return {plan.time, plan.elements() * elementBytes};
}

Sharding tessera::getOperandSharding(const ShardingRule &rule,
                                     const TensorFactors &dims, int64_t rank,
                                     const FactorAxes &axes) {
  if (static_cast<int64_t>(dims.size()) != rank)
    return Sharding::replicatedOf(rank);
  return unprojectTensor(rule, dims, axes);
}

Sharding tessera::getResultSharding(const ShardingRule &rule,
                                    const TensorFactors &dims,
                                    const FactorAxes &axes) {
  Sharding result = unprojectTensor(rule, dims, axes);
  for (auto [f, factor] : llvm::enumerate(rule.factors)) {
    if (factor.kind != FactorKind::Reduction || axes[f].empty() ||
        hasFactor(dims, f))
      continue;
    result.unreduced.append(axes[f].begin(), axes[f].end());
    result.reduction = factor.reduction;
  }
  llvm::sort(result.unreduced);
  result.unreduced = mergeAdjacent(result.unreduced);
  return result;
}

bool tessera::canShardTensors(const ShardingRule &rule,
                              const FactorAxes &axes) {
  auto fits = [&](const TensorFactors &dims) {
    Sharding sharding = unprojectTensor(rule, dims, axes);
    llvm::SmallVector<AxisList, 8> back =
        projectTensor(rule, dims, sharding.dims);
    return llvm::all_of(dims, [&](const DimFactors &dim) {
      return llvm::all_of(dim, [&](unsigned f) {
        return mergeAdjacent(back[f]) == mergeAdjacent(axes[f]);
      });
    });
  };
  std::optional<ReductionKind> kind;
  for (auto [f, factor] : llvm::enumerate(rule.factors)) {
    if (factor.kind != FactorKind::Reduction || axes[f].empty())
      continue;
    if (kind && *kind != factor.reduction)
      return false;
    kind = factor.reduction;
  }
  return llvm::all_of(rule.operands, fits) && llvm::all_of(rule.results, fits);
}

namespace {

/// Above this number of combinations, the search goes factor by factor.
constexpr size_t kMaxCombinations = 4096;
/// Repeating work on more devices must save this factor of the time.
constexpr double kRepeatedWork = 4;

class Chooser {
public:
  Chooser(ReshardPlanner &planner, const ShardingRule &rule,
          ArrayRef<ShardedTensor> operands, ArrayRef<ShardedTensor> results,
          ArrayRef<AxisList> pinned)
      : planner(planner), rule(rule), operands(operands), results(results),
        pinned(pinned), candidates(rule.factors.size()) {}

  FactorChoice run();
  TransferSum getCost(const FactorAxes &axes) const;

private:
  void collect(const ShardedTensor &tensor, const TensorFactors &dims);
  void addCandidate(unsigned factor, ArrayRef<AxisRef> axes);
  bool isAllowed(unsigned factor, ArrayRef<AxisRef> axes) const;
  void consider(const FactorAxes &axes);
  void enumerate(unsigned factor, FactorAxes &axes);
  void descend();
  FactorChoice pick() const;

  ReshardPlanner &planner;
  const ShardingRule &rule;
  ArrayRef<ShardedTensor> operands, results;
  ArrayRef<AxisList> pinned;
  /// Axes that a factor may take, in order of preference.
  std::vector<std::vector<AxisList>> candidates;
  /// The cheapest choice for each number of devices that share the work.
  std::vector<std::pair<int64_t, FactorChoice>> best;
};

} // namespace

void Chooser::addCandidate(unsigned factor, ArrayRef<AxisRef> axes) {
  FactorKind kind = rule.factors[factor].kind;
  if (kind == FactorKind::Decomposed || kind == FactorKind::Replicated)
    axes = {};
  for (size_t n = axes.size() + 1; n-- > 0;) {
    AxisList prefix(axes.take_front(n));
    if (!llvm::is_contained(candidates[factor], prefix))
      candidates[factor].push_back(prefix);
  }
}

void Chooser::collect(const ShardedTensor &tensor, const TensorFactors &dims) {
  if (!tensor.sharding || dims.size() != tensor.sharding->dims.size())
    return;
  llvm::SmallVector<AxisList, 8> projected =
      projectTensor(rule, dims, tensor.sharding->dims);
  for (const DimFactors &dim : dims)
    for (unsigned f : dim)
      addCandidate(f, projected[f]);
}

/// True if the axes divide the factor and respect pinned axes, which stay on
/// their factor. Factors are padded for the axes that shard them in tensors.
/// But axes along a merged dimension may end within a factor, and then do not
/// divide it.
bool Chooser::isAllowed(unsigned factor, ArrayRef<AxisRef> axes) const {
  if (rule.factors[factor].size % numShards(axes) != 0)
    return false;
  for (auto [f, held] : llvm::enumerate(pinned))
    if (f == factor ? !isPrefix(held, axes) : overlapsAny(held, axes))
      return false;
  return true;
}

TransferSum Chooser::getCost(const FactorAxes &axes) const {
  TransferSum cost;
  for (auto [dims, tensor] : llvm::zip(rule.operands, operands))
    if (tensor.sharding && !tensor.isFree)
      cost += getReshardCost(
          planner, *tensor.sharding,
          getOperandSharding(rule, dims, tensor.sharding->rank(), axes),
          tensor.shape, tensor.elementBytes);
  for (auto [dims, tensor] : llvm::zip(rule.results, results))
    if (tensor.sharding)
      cost +=
          getReshardCost(planner, getResultSharding(rule, dims, axes),
                         *tensor.sharding, tensor.shape, tensor.elementBytes);
  return cost;
}

/// Records a choice that is not taken.
static void offerOther(FactorChoice &choice, const FactorAxes &axes,
                       const TransferSum &cost) {
  if (choice.hasOther() && !isShorter(cost, choice.otherCost))
    return;
  choice.otherAxes = axes;
  choice.otherCost = cost;
}

void Chooser::consider(const FactorAxes &axes) {
  if (!canShardTensors(rule, axes))
    return;
  int64_t shards = 1;
  for (const AxisList &a : axes)
    shards *= numShards(a);
  TransferSum cost = getCost(axes);
  auto it = llvm::find_if(best, [&](auto &b) { return b.first == shards; });
  if (it == best.end())
    best.push_back({shards, {axes, cost, {}, {}}});
  else if (isShorter(cost, it->second.cost))
    it->second = {axes, cost, it->second.axes, it->second.cost};
  else
    offerOther(it->second, axes, cost);
}

void Chooser::enumerate(unsigned factor, FactorAxes &axes) {
  if (factor == candidates.size()) {
    consider(axes);
    return;
  }
  for (const AxisList &candidate : candidates[factor]) {
    bool taken = false;
    for (unsigned f = 0; f < factor; ++f)
      taken |= overlapsAny(axes[f], candidate);
    if (taken || !isAllowed(factor, candidate))
      continue;
    axes[factor] = candidate;
    enumerate(factor + 1, axes);
  }
  axes[factor].clear();
}

/// Chooses one factor after the other, given the best choices of those before.
void Chooser::descend() {
  FactorAxes axes(rule.factors.size());
  for (unsigned f = 0; f < candidates.size(); ++f) {
    best.clear();
    for (const AxisList &candidate : candidates[f]) {
      bool taken = false;
      for (unsigned g = 0; g < f; ++g)
        taken |= overlapsAny(axes[g], candidate);
      if (taken || !isAllowed(f, candidate))
        continue;
      axes[f] = candidate;
      consider(axes);
    }
    axes[f].clear();
    if (!best.empty())
      axes = pick().axes;
  }
}

FactorChoice Chooser::pick() const {
  auto sorted = best;
  llvm::sort(sorted, [](auto &a, auto &b) { return a.first > b.first; });
  FactorChoice choice = sorted.front().second;
  for (auto &[shards, other] : llvm::drop_begin(sorted)) {
    if (other.cost.time * kRepeatedWork < choice.cost.time) {
      FactorChoice before = choice;
      choice = other;
      offerOther(choice, before.axes, before.cost);
    } else {
      offerOther(choice, other.axes, other.cost);
    }
  }
  return choice;
}

FactorChoice Chooser::run() {
  for (auto [dims, tensor] : llvm::zip(rule.results, results))
    collect(tensor, dims);
  for (auto [dims, tensor] : llvm::zip(rule.operands, operands))
    collect(tensor, dims);
  for (auto [f, held] : llvm::enumerate(pinned))
    addCandidate(f, held);
  size_t combinations = 1;
  for (unsigned f = 0; f < candidates.size(); ++f) {
    if (!llvm::is_contained(candidates[f], AxisList()))
      candidates[f].push_back({});
    combinations =
        std::min(combinations * candidates[f].size(), kMaxCombinations + 1);
  }
  FactorAxes axes(rule.factors.size());
  if (combinations <= kMaxCombinations)
    enumerate(0, axes);
  else
    descend();
  if (best.empty())
    return {axes, getCost(axes), {}, {}};
  return pick();
}

FactorChoice tessera::chooseFactors(ReshardPlanner &planner,
                                    const ShardingRule &rule,
                                    ArrayRef<ShardedTensor> operands,
                                    ArrayRef<ShardedTensor> results,
                                    ArrayRef<AxisList> pinned) {
  return Chooser(planner, rule, operands, results, pinned).run();
}

FactorChoice tessera::takeFactors(ReshardPlanner &planner,
                                  const ShardingRule &rule,
                                  ArrayRef<ShardedTensor> operands,
                                  ArrayRef<ShardedTensor> results,
                                  FactorAxes axes) {
  TransferSum cost =
      Chooser(planner, rule, operands, results, {}).getCost(axes);
  return {std::move(axes), cost, {}, {}};
}
