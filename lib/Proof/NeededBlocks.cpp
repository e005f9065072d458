//===- NeededBlocks.cpp - Blocks that uses of a value need ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NeededBlocks.h"
#include "dialects/NN/NN.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tessera/Interfaces/ShardingRuleOpInterface.h"
#include <numeric>

using namespace mlir;
using namespace tessera;

namespace {

/// Follows uses to an op that determines the sharding of their values.
class Finder {
public:
  Finder(const StateMap &states, Placements &placements, bool guesses)
      : states(states), placements(placements), guesses(guesses) {}

  std::optional<Placements::Id> find(Value value, int64_t dim,
                                     int64_t multiple) {
    if (++numVisited > kMostVisited)
      return std::nullopt;
    for (OpOperand &use : value.getUses())
      if (auto found = findAt(use, dim, multiple);
          found && fits(*found, multiple))
        return found;
    return std::nullopt;
  }

private:
  bool fits(Placements::Id found, int64_t multiple) const {
    return placements.getCount(found) % multiple == 0;
  }

  std::optional<Placements::Id> findAt(OpOperand &use, int64_t dim,
                                       int64_t multiple) {
    Operation *op = use.getOwner();
    if (op->hasTrait<OpTrait::ReturnLike>())
      return readResult(op, use.getOperandNumber(), dim);
    if (auto collective = dyn_cast<dist::CollectiveOpInterface>(op))
      return findBefore(collective, dim, multiple);
    if (auto call = dyn_cast<CallOpInterface>(op))
      return readArgument(call, use.getOperandNumber(), dim);
    if (auto mask = dyn_cast<nn::MaskPaddingOp>(op);
        mask && mask.getDim() == static_cast<uint64_t>(dim))
      return readOffset(mask);
    if (isa<dist::ToPartialOp>(op))
      return find(op->getResult(0), dim, multiple);
    return op->getNumRegions() == 0 || isa<ShardingRuleOpInterface>(op)
               ? findThroughRule(use, dim, multiple)
               : std::nullopt;
  }

  std::optional<Placements::Id> readResult(Operation *op, unsigned index,
                                           int64_t dim) {
    auto function = dyn_cast<FunctionOpInterface>(op->getParentOp());
    if (!function)
      return std::nullopt;
    return readSharding(dist::getResultSharding(function, index), dim);
  }

  /// Reads the sharding that a callee declares.
  std::optional<Placements::Id> readArgument(CallOpInterface call,
                                             unsigned index, int64_t dim) {
    auto callee = dyn_cast_or_null<FunctionOpInterface>(call.resolveCallable());
    if (!callee || callee.isExternal())
      return std::nullopt;
    return readSharding(dist::getSharding(callee.getArgument(index)), dim);
  }

  std::optional<Placements::Id> readSharding(dist::ShardingAttr attr,
                                             int64_t dim) {
    if (!attr)
      return std::nullopt;
    Sharding sharding = attr.toSharding(placements.getMesh());
    if (dim >= static_cast<int64_t>(sharding.dims.size()))
      return std::nullopt;
    return placements.get(sharding.dims[dim].axes);
  }

  std::optional<Placements::Id> readOffset(nn::MaskPaddingOp op) {
    if (!op.getOffset())
      return Placements::kWhole;
    const ShardState *offset = states.findWithEnds(op.getOffset());
    if (!offset || !offset->numbers)
      return std::nullopt;
    return placements.findBlocks(*offset->numbers,
                                 getSize(op.getX(), op.getDim()));
  }

  /// The placement before the collective that gives the needed one after it.
  std::optional<Placements::Id> findBefore(dist::CollectiveOpInterface op,
                                           int64_t dim, int64_t multiple) {
    if (op->getNumOperands() != 1 || isa<dist::BroadcastOp>(op))
      return std::nullopt;
    AxisList axes = op.getAxes().toAxes(placements.getMesh());
    int64_t size = numShards(axes), before = getSize(op->getOperand(0), dim);
    int64_t after = getSize(op->getResult(0), dim);
    if (auto permute = dyn_cast<dist::CollectivePermuteOp>(*op)) {
      auto found = find(op->getResult(0), dim, multiple);
      return found ? undo(permute, *found, axes) : found;
    }
    if (after == before)
      return find(op->getResult(0), dim, multiple);
    if (after == before * size) {
      auto found =
          find(op->getResult(0), dim, multiple / std::gcd(multiple, size));
      if (!found && guesses && fits(Placements::kWhole, multiple))
        found = Placements::kWhole;
      return found ? placements.slice(*found, axes) : found;
    }
    if (before != after * size)
      return std::nullopt;
    auto found = find(op->getResult(0), dim, multiple * size);
    return found ? placements.gather(*found, axes) : found;
  }

  /// The placement before `op` that becomes `id` after it.
  Placements::Id undo(dist::CollectivePermuteOp op, Placements::Id id,
                      ArrayRef<AxisRef> axes) {
    std::vector<int32_t> sources = getSources(op, placements);
    std::vector<int32_t> targets(sources.size());
    for (auto [device, source] : llvm::enumerate(sources))
      targets[source] = device;
    return placements.permute(id, targets, axes);
  }

  static int64_t getSize(Value value, int64_t dim) {
    return cast<RankedTensorType>(value.getType()).getDimSize(dim);
  }

  /// The blocks that results need, if they have each factor of the dimension
  /// separate.
  std::optional<Placements::Id> findThroughExpansion(Operation *op,
                                                     const ShardingRule &rule,
                                                     const DimFactors &list,
                                                     int64_t multiple) {
    Placements::Id all = Placements::kWhole;
    for (unsigned factor : list) {
      std::optional<Placements::Id> found;
      for (auto [value, tensor] : llvm::zip(op->getResults(), rule.results))
        for (auto [other, factors] : llvm::enumerate(tensor))
          if (!found && factors == DimFactors{factor})
            found = find(value, other, /*multiple=*/1);
      if (!found)
        return std::nullopt;
      all = placements.combine(all, *found);
    }
    return fits(all, multiple) ? std::optional(all) : std::nullopt;
  }

  bool isLike(const DimFactors &whole, const DimFactors &major) const {
    return whole == major ||
           (guesses && !whole.empty() && whole.front() == major.front());
  }

  static bool needsWhole(const ShardingRule &rule, const DimFactors &factors) {
    return llvm::all_of(factors, [&](unsigned factor) {
      FactorKind kind = rule.factors[factor].kind;
      return kind == FactorKind::Replicated || kind == FactorKind::Decomposed;
    });
  }

  /// The blocks that another operand has along the dimension, or a result
  /// needs.
  std::optional<Placements::Id> findThroughRule(OpOperand &use, int64_t dim,
                                                int64_t multiple) {
    Operation *op = use.getOwner();
    ShardingRule rule = getShardingRule(op);
    if (use.getOperandNumber() >= rule.operands.size())
      return std::nullopt;
    const TensorFactors &mine = rule.operands[use.getOperandNumber()];
    if (dim < static_cast<int64_t>(mine.size()) && needsWhole(rule, mine[dim]))
      return Placements::kWhole;
    if (dim >= static_cast<int64_t>(mine.size()))
      return std::nullopt;
    if (mine[dim].size() > 1)
      return findThroughExpansion(op, rule, mine[dim], multiple);
    for (auto [value, tensor] : llvm::zip(op->getOperands(), rule.operands))
      for (auto [other, factors] : llvm::enumerate(tensor)) {
        const ShardState *found = states.findWithEnds(value);
        if (factors != mine[dim] || !found || other >= found->dims.size())
          continue;
        const DimState &state = found->dims[other];
        if (!state.uniform && fits(state.placement, multiple))
          return state.placement;
      }
    for (auto [value, tensor] : llvm::zip(op->getResults(), rule.results))
      for (auto [other, factors] : llvm::enumerate(tensor))
        if (isLike(factors, mine[dim]))
          if (auto found = find(value, other, multiple))
            return found;
    return std::nullopt;
  }

  static constexpr unsigned kMostVisited = 64;
  const StateMap &states;
  Placements &placements;
  bool guesses;
  unsigned numVisited = 0;
};

} // namespace

std::optional<Placements::Id>
tessera::findNeededBlocks(Value value, int64_t dim, int64_t multiple,
                          const StateMap &states, Placements &placements) {
  // Guesses in the second round: a gathered value is likely needed whole, and
  // the major factor of a dimension likely has whole minor factors.
  std::optional<Placements::Id> found;
  for (bool guesses : {false, true})
    if (!found)
      found = Finder(states, placements, guesses).find(value, dim, multiple);
  return found;
}
