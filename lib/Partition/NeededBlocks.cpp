//===- NeededBlocks.cpp - Which blocks the uses of a value need -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NeededBlocks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tessera/Interfaces/ShardingRuleOpInterface.h"

using namespace mlir;
using namespace tessera;

namespace {

/// Follows uses to what says where their values lie.
class Finder {
public:
  Finder(const llvm::DenseMap<Value, ShardState> &states,
         Placements &placements)
      : states(states), placements(placements) {}

  std::optional<Placements::Id> find(Value value, int64_t dim, int64_t count) {
    if (++numVisited > kMostVisited)
      return std::nullopt;
    for (OpOperand &use : value.getUses())
      if (auto found = findAt(use, dim, count); found && fits(*found, count))
        return found;
    return std::nullopt;
  }

private:
  bool fits(Placements::Id found, int64_t count) const {
    return count == 0 || placements.getCount(found) == count;
  }

  std::optional<Placements::Id> findAt(OpOperand &use, int64_t dim,
                                       int64_t count) {
    Operation *op = use.getOwner();
    if (op->hasTrait<OpTrait::ReturnLike>())
      return readResult(op, use.getOperandNumber(), dim);
    if (auto collective = dyn_cast<dist::CollectiveOpInterface>(op))
      return findBefore(collective, dim, count);
    if (isa<dist::ToPartialOp>(op))
      return find(op->getResult(0), dim, count);
    return op->getNumRegions() == 0 || isa<ShardingRuleOpInterface>(op)
               ? findThroughRule(use, dim, count)
               : std::nullopt;
  }

  std::optional<Placements::Id> readResult(Operation *op, unsigned index,
                                           int64_t dim) {
    auto function = dyn_cast<FunctionOpInterface>(op->getParentOp());
    if (!function)
      return std::nullopt;
    auto attr = function.getResultAttrOfType<dist::ShardingAttr>(
        index, dist::DistDialect::kShardingAttr);
    if (!attr)
      return std::nullopt;
    Sharding sharding = attr.toSharding(placements.getMesh());
    if (dim >= static_cast<int64_t>(sharding.dims.size()))
      return std::nullopt;
    return placements.get(sharding.dims[dim].axes);
  }

  /// The placement before the collective that gives what is needed after it.
  std::optional<Placements::Id> findBefore(dist::CollectiveOpInterface op,
                                           int64_t dim, int64_t count) {
    if (op->getNumOperands() != 1)
      return std::nullopt;
    AxisList axes = op.getAxes().toAxes(placements.getMesh());
    int64_t size = numShards(axes), before = getSize(op->getOperand(0), dim);
    int64_t behind = getSize(op->getResult(0), dim);
    if (behind == before)
      return find(op->getResult(0), dim, count);
    if (behind == before * size && count % size == 0) {
      auto found = find(op->getResult(0), dim, count / size);
      return found ? placements.slice(*found, axes) : found;
    }
    if (before != behind * size)
      return std::nullopt;
    auto found = find(op->getResult(0), dim, count * size);
    return found ? placements.gather(*found, axes) : found;
  }

  static int64_t getSize(Value value, int64_t dim) {
    return cast<RankedTensorType>(value.getType()).getDimSize(dim);
  }

  /// What another operand has of the dimension, or a result needs.
  std::optional<Placements::Id> findThroughRule(OpOperand &use, int64_t dim,
                                                int64_t count) {
    Operation *op = use.getOwner();
    ShardingRule rule = getShardingRule(op);
    if (use.getOperandNumber() >= rule.operands.size())
      return std::nullopt;
    const TensorFactors &mine = rule.operands[use.getOperandNumber()];
    if (dim >= static_cast<int64_t>(mine.size()) || mine[dim].size() != 1)
      return std::nullopt;
    for (auto [value, tensor] : llvm::zip(op->getOperands(), rule.operands))
      for (auto [other, factors] : llvm::enumerate(tensor)) {
        auto it = states.find(value);
        if (factors != mine[dim] || it == states.end() ||
            other >= it->second.dims.size())
          continue;
        const DimState &state = it->second.dims[other];
        if (!state.uniform && fits(state.placement, count))
          return state.placement;
      }
    for (auto [value, tensor] : llvm::zip(op->getResults(), rule.results))
      for (auto [other, factors] : llvm::enumerate(tensor))
        if (factors == mine[dim])
          if (auto found = find(value, other, count))
            return found;
    return std::nullopt;
  }

  static constexpr unsigned kMostVisited = 64;
  const llvm::DenseMap<Value, ShardState> &states;
  Placements &placements;
  unsigned numVisited = 0;
};

} // namespace

std::optional<Placements::Id>
tessera::findNeededBlocks(Value value, int64_t dim, int64_t count,
                          const llvm::DenseMap<Value, ShardState> &states,
                          Placements &placements) {
  return Finder(states, placements).find(value, dim, count);
}
