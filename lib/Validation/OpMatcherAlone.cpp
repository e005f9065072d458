//===- OpMatcherAlone.cpp - Local ops without a reference -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Without a reference program the op itself is taken for the reference's op, on
// global sizes that follow from the blocks. On two devices:
//
//     local op           tensor<4x16> -> tensor<4x16>, dim 0 in blocks 0 1
//     global op          2 blocks of 4:   tensor<8x16> -> tensor<8x16>
//
// So only what devices hold is checked, not what was to be computed: operands
// that do not fit each other, positions, padding and partial values.
//
//===----------------------------------------------------------------------===//

#include "OpMatcher.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tessera;

static RankedTensorType tensorOf(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

/// Sizes of the global op, from those of its operands; a factor that no operand
/// has is taken to be whole.
static ShardingRule inferGlobalRule(Operation *op,
                                    const ShardingRule &localRule,
                                    const ReferenceValues &reference,
                                    const StateMap &states,
                                    const Placements &placements) {
  ShardingRule rule = localRule;
  for (auto [operand, tensor] : llvm::zip(op->getOperands(), rule.operands)) {
    const ShardState &state = states.find(operand)->second;
    for (auto [dim, list] : llvm::enumerate(tensor)) {
      if (list.empty() || state.dims[dim].uniform)
        continue;
      int64_t size = cast<RankedTensorType>(operand.getType()).getDimSize(dim) *
                     placements.getCount(state.dims[dim].placement);
      const ReferenceValue &value = reference.getValue(state.value);
      if (!value.freeDims.test(dim))
        size = cast<RankedTensorType>(value.type).getDimSize(dim);
      for (unsigned factor : ArrayRef(list).drop_front())
        size /= rule.factors[factor].size;
      rule.factors[list.front()].size = size;
    }
  }
  return rule;
}

/// The operand that holds the offset of a positional factor; null if it has
/// none. Asks a copy of the op.
static Value findOffset(Operation *op, unsigned factor) {
  OpBuilder builder(op);
  Operation *clone = builder.clone(*op);
  Value token = arith::ConstantIndexOp::create(builder, op->getLoc(), 0);
  clone->moveAfter(token.getDefiningOp());
  cast<ShardingRuleOpInterface>(clone).setPositionOffset(factor, token);
  Value found;
  SmallVector<Operation *> helpers{token.getDefiningOp()};
  for (Value operand : clone->getOperands()) {
    Operation *definition = operand.getDefiningOp();
    if (!definition || definition == helpers.front() ||
        !llvm::is_contained(definition->getOperands(), token))
      continue;
    helpers.push_back(definition);
    for (Value inner : definition->getOperands())
      if (inner != token)
        found = inner;
  }
  clone->erase();
  for (Operation *helper : llvm::reverse(helpers))
    helper->erase();
  return found;
}

Match OpMatcher::matchAlone(Operation *local,
                            SmallVectorImpl<Type> &globalTypes) {
  op = local;
  told = {};
  localRule = getShardingRule(op);
  ReferenceOp target{op, {}, {}, {}};
  target.rule = inferGlobalRule(op, localRule, reference, states, placements);
  llvm::SmallBitVector none(target.rule.factors.size());
  auto run = [&] {
    fit = Fit::Yes;
    if (!readOperands(target.rule) || !checkKinds(target.rule, none))
      return fit;
    // A cut factor whose index the op uses needs the block's offset.
    for (auto [i, factor] : llvm::enumerate(target.rule.factors)) {
      if (!factor.positional)
        continue;
      if (op->getNumRegions() != 0) {
        if (factors[i].placement != Placements::kWhole)
          return fail(Fit::Unknown, "its body looks at positions, and there is "
                                    "no reference to compare with");
        continue;
      }
      Value offset = findOffset(op, i);
      if (offset) {
        if (Fit how = checkOffset(offset, i); how != Fit::Yes)
          return how;
      } else if (factors[i].placement != Placements::kWhole) {
        return fail(Fit::Wrong, "the op counts positions from 0, but the "
                                "devices hold different blocks");
      }
      factors[i].isUniform = false;
    }
    if (!checkSizes(target.rule) || !checkPadding(target.rule, none) ||
        !checkUniformSums(target.rule) || !findPartialAxes(target.rule) ||
        !checkInits() || !checkPartialOperands() ||
        !makeResults(target, target.rule))
      return fit;
    return Fit::Yes;
  };
  Match match = finish(run());
  if (match.fit != Fit::Yes)
    return match;
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    RankedTensorType type = tensorOf(result);
    if (!type || i >= localRule.results.size()) {
      globalTypes.push_back(result.getType());
      continue;
    }
    SmallVector<int64_t> shape(type.getShape());
    for (auto [dim, list] : llvm::enumerate(localRule.results[i])) {
      if (list.empty())
        continue;
      shape[dim] = 1;
      for (unsigned factor : list)
        shape[dim] *= factors[factor].globalSize;
    }
    globalTypes.push_back(type.clone(shape));
  }
  return match;
}
