//===- OpMatcherAlone.cpp - Local ops without a reference -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The op itself serves as the reference's op if there is no reference program,
// on global sizes computed from the blocks. On two devices:
//
//     local op           tensor<4x16> -> tensor<4x16>, dim 0 in blocks 0 1
//     global op          2 blocks of 4:   tensor<8x16> -> tensor<8x16>
//
// This checks only the data that devices hold, not the intended computation:
// operands that do not fit each other, positions, padding and partial values.
//
//===----------------------------------------------------------------------===//

#include "OpComparison.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tessera;

/// Infers the sizes of the global op from its operands; a factor that no
/// operand has counts as whole.
static ShardingRule inferGlobalRule(const MatchContext &context, Operation *op,
                                    const ShardingRule &localRule) {
  ShardingRule rule = localRule;
  for (auto [operand, tensor] : llvm::zip(op->getOperands(), rule.operands)) {
    const ShardState &state = context.states.getWithEnds(operand);
    for (auto [dim, list] : llvm::enumerate(tensor)) {
      if (list.empty() || state.dims[dim].uniform)
        continue;
      int64_t size = cast<RankedTensorType>(operand.getType()).getDimSize(dim) *
                     context.placements.getCount(state.dims[dim].placement);
      const ReferenceValue &value = context.reference.getValue(state.value);
      if (!value.freeDims.test(dim))
        size = cast<RankedTensorType>(value.type).getDimSize(dim);
      for (unsigned factor : ArrayRef(list).drop_front())
        size /= rule.factors[factor].size;
      rule.factors[list.front()].size = size;
    }
  }
  return rule;
}

/// The operand that holds the offset of a positional factor; null if there is
/// none. Queries a copy of the op.
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

/// Checks that a sharded factor whose index the op reads has the block's
/// offset.
static CheckResult checkPositions(OpComparison &c) {
  for (auto [i, factor] : llvm::enumerate(c.rule.factors)) {
    if (!factor.positional)
      continue;
    bool isSharded = c.factors[i].placement != Placements::kWhole;
    if (c.op->getNumRegions() != 0) {
      if (isSharded)
        return unknown("its body looks at positions, and there is no "
                       "reference to compare with");
      continue;
    }
    if (Value offset = findOffset(c.op, i)) {
      if (CheckResult check = checkOffset(c, offset, i); !check.fits())
        return check;
    } else if (isSharded) {
      return wrong("the op counts positions from 0, but the devices hold "
                   "different blocks");
    }
    c.factors[i].isUniform = false;
  }
  return {};
}

/// The type of a result on global sizes.
static Type getGlobalType(const OpComparison &c, OpResult result) {
  auto type = dyn_cast<RankedTensorType>(result.getType());
  unsigned number = result.getResultNumber();
  if (!type || number >= c.localRule.results.size())
    return result.getType();
  SmallVector<int64_t> shape(type.getShape());
  for (auto [dim, list] : llvm::enumerate(c.localRule.results[number])) {
    if (list.empty())
      continue;
    shape[dim] = 1;
    for (unsigned factor : list)
      shape[dim] *= c.factors[factor].globalSize;
  }
  return type.clone(shape);
}

Match tessera::matchAlone(MatchContext &context, Operation *op,
                          SmallVectorImpl<Type> &globalTypes) {
  for (Value operand : op->getOperands())
    if (hasEnds(context.states.getWithEnds(operand)))
      return {Fit::Unknown,
              "an operand was masked, and there is no reference that says how "
              "long it is",
              {}};
  ShardingRule localRule = getShardingRule(op);
  ShardingRule rule = inferGlobalRule(context, op, localRule);
  OpComparison c{context, op,   localRule,
                 nullptr, rule, llvm::SmallBitVector(rule.factors.size()),
                 {}};
  for (auto check : {readOperands, checkKinds, checkPositions})
    if (CheckResult found = check(c); !found.fits())
      return {found.fit, found.why, {}};
  Match match = matchBlocks(c);
  if (match.fit == Fit::Yes)
    for (OpResult result : op->getResults())
      globalTypes.push_back(getGlobalType(c, result));
  return match;
}
