//===- OpStates.cpp - The ways to run an op -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpStates.h"
#include "tessera/Interfaces/Limits.h"
#include "tessera/Partition/ReshardCost.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>
#include <set>

using namespace tessera;

namespace {

/// Assigns one unit after the other.
class StateBuilder {
public:
  StateBuilder(const ShardingRule &rule, const OpChoices &choices)
      : rule(rule), choices(choices), placed(rule.factors.size()) {}

  std::vector<RunState> run() {
    place(0);
    return std::move(states);
  }

private:
  void place(size_t unit);
  void placeSplit(size_t unit);
  void finish();
  bool mayHave(const FactorAxes &axes) const;
  bool isPinned(const FactorAxes &axes) const;
  void add(const FactorAxes &axes, const llvm::SmallBitVector &operands);

  const ShardingRule &rule;
  const OpChoices &choices;
  /// The units of each factor.
  llvm::SmallVector<llvm::SmallVector<AxisList, 2>, 8> placed;
  AxisList partial;
  std::vector<RunState> states;
  std::set<std::vector<int64_t>> seen;
};

} // namespace

std::optional<int64_t> tessera::getShardSize(int64_t size, int64_t shards) {
  int64_t each = llvm::divideCeil(size, shards);
  if (each * shards * 100 > size * kMaxPaddedPercent)
    return std::nullopt;
  return each;
}

void StateBuilder::place(size_t unit) {
  if (unit == choices.units.size())
    return finish();
  const AxisList &axes = choices.units[unit];
  place(unit + 1);
  for (auto [f, factor] : llvm::enumerate(rule.factors)) {
    if (factor.kind == FactorKind::Replicated || factor.size == 1)
      continue;
    for (size_t at = placed[f].size() + 1; at-- > 0;) {
      placed[f].insert(placed[f].begin() + at, axes);
      place(unit + 1);
      placed[f].erase(placed[f].begin() + at);
    }
  }
  placeSplit(unit);
  if (choices.linear.empty())
    return;
  size_t before = partial.size();
  partial.append(axes.begin(), axes.end());
  place(unit + 1);
  partial.truncate(before);
}

/// Gives the major part of an axis to a factor that cannot be split further,
/// and the minor part to another: 8 devices share 4 groups of 2 heads.
void StateBuilder::placeSplit(size_t unit) {
  if (choices.units[unit].size() != 1)
    return;
  AxisRef axis = choices.units[unit].front();
  for (auto [f, factor] : llvm::enumerate(rule.factors)) {
    int64_t major = std::gcd(factor.size, axis.size);
    if (factor.kind == FactorKind::Replicated || major == 1 ||
        major == axis.size)
      continue;
    for (auto [g, other] : llvm::enumerate(rule.factors)) {
      if (g == f || other.kind == FactorKind::Replicated ||
          other.size % (axis.size / major) != 0)
        continue;
      placed[f].push_back({{axis.axis, axis.preSize, major}});
      placed[g].push_back(
          {{axis.axis, axis.preSize * major, axis.size / major}});
      place(unit + 1);
      placed[f].pop_back();
      placed[g].pop_back();
    }
  }
}

bool StateBuilder::mayHave(const FactorAxes &axes) const {
  for (auto [f, list] : llvm::enumerate(axes)) {
    int64_t size = rule.factors[f].size, shards = numShards(list);
    if (size % shards == 0)
      continue;
    if (choices.unpaddable.test(f) || !getShardSize(size, shards))
      return false;
  }
  return canShardTensors(rule, axes);
}

bool StateBuilder::isPinned(const FactorAxes &axes) const {
  AxisList held;
  for (const AxisList &list : choices.pinned)
    held.append(list);
  for (auto [f, list] : llvm::enumerate(choices.pinned))
    if (!isPrefix(list, axes[f]) ||
        overlapsAny(dropPrefix(list, axes[f]), held))
      return false;
  return true;
}

void StateBuilder::add(const FactorAxes &axes,
                       const llvm::SmallBitVector &operands) {
  RunState state;
  state.axes = axes;
  state.partial = partial;
  llvm::sort(state.partial);
  state.partial = mergeAdjacent(state.partial);
  state.partialOperands = operands;
  std::vector<int64_t> key;
  auto addAxes = [&](const AxisList &list) {
    for (const AxisRef &axis : list)
      key.insert(key.end(), {axis.axis, axis.preSize, axis.size});
    key.push_back(-1);
  };
  llvm::for_each(state.axes, addAxes);
  addAxes(state.partial);
  for (unsigned operand : operands.set_bits())
    key.push_back(operand);
  if (!seen.insert(key).second)
    return;
  for (auto [factor, list] : llvm::zip(rule.factors, axes))
    state.isDecomposed |=
        factor.kind == FactorKind::Decomposed && !list.empty();
  states.push_back(std::move(state));
}

void StateBuilder::finish() {
  FactorAxes axes(rule.factors.size());
  for (auto [list, units] : llvm::zip(axes, placed)) {
    for (const AxisList &unit : units)
      list.append(unit.begin(), unit.end());
    list = mergeAdjacent(list);
  }
  if (!mayHave(axes) || !isPinned(axes))
    return;
  if (partial.empty())
    return add(axes, llvm::SmallBitVector(rule.operands.size()));
  for (const llvm::SmallBitVector &operands : choices.linear)
    add(axes, operands);
}

std::vector<RunState> tessera::getOpStates(const ShardingRule &rule,
                                           const OpChoices &choices) {
  return StateBuilder(rule, choices).run();
}
