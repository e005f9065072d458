//===- ExpectedOps.cpp - Ops of the reference on a shard ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExpectedOps.h"
#include "ReferenceValues.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tessera;

ExpectedOps::~ExpectedOps() {
  for (Operation &op : block)
    op.dropAllReferences();
  block.clear();
}

static std::vector<bool> toVector(const llvm::SmallBitVector &bits) {
  std::vector<bool> list(bits.size());
  for (unsigned i : bits.set_bits())
    list[i] = true;
  return list;
}

const ExpectedOp &ExpectedOps::get(Operation *op, const ShardingRule &rule,
                                   const llvm::SmallBitVector &padded,
                                   const llvm::SmallBitVector &positioned) {
  auto [it, isNew] =
      made.try_emplace(Key(op, toVector(padded), toVector(positioned)));
  ExpectedOp &expected = it->second;
  if (!isNew)
    return expected;
  expected.op = op;
  expected.rule = rule;
  expected.tokens.resize(rule.factors.size());
  expected.absorbed.resize(rule.factors.size());
  if (padded.none() && positioned.none())
    return expected;
  OpBuilder builder(context);
  builder.setInsertionPointToEnd(&block);
  expected.op = builder.clone(*op);
  auto iface = cast<ShardingRuleOpInterface>(expected.op);
  for (unsigned factor : padded.set_bits())
    expected.absorbed[factor] =
        iface.absorbPadding(factor, rule.factors[factor].size);
  for (unsigned factor : positioned.set_bits()) {
    Value token = block.addArgument(builder.getIndexType(), op->getLoc());
    expected.tokens[factor] = token;
    iface.setPositionOffset(factor, token);
  }
  // A body that reads its position is positional from now on.
  expected.rule = getShardingRule(expected.op);
  return expected;
}

bool ExpectedOps::hasPropertiesOf(Operation *local, Operation *expected) {
  if (haveSameProperties(local, expected))
    return true;
  auto iface = dyn_cast<ShardingRuleOpInterface>(expected);
  if (!iface || local->getNumOperands() != expected->getNumOperands())
    return false;
  OpBuilder builder(context);
  builder.setInsertionPointToEnd(&block);
  FailureOr<Operation *> clone = iface.cloneWithShapes(
      builder, local->getOperands(), local->getResultTypes());
  if (failed(clone))
    return false;
  bool same = (*clone)->getName() == local->getName() &&
              haveSameProperties(local, *clone);
  // Ops that the clone needs were inserted before it and may stay.
  (*clone)->erase();
  return same;
}

/// Compares two regions within bodies; `mapping` maps values of one to values
/// of the other.
static bool isSameBody(Region &local, Region &expected, IRMapping &mapping,
                       llvm::function_ref<bool(Value, Value)> sameOutside,
                       llvm::function_ref<bool(Operation *)> isLeftOut) {
  if (!llvm::hasNItems(local, 1) || !llvm::hasNItems(expected, 1))
    return local.empty() && expected.empty();
  Block &a = local.front(), &b = expected.front();
  auto kept = llvm::make_filter_range(
      b, [&](Operation &op) { return !isLeftOut || !isLeftOut(&op); });
  if (a.getNumArguments() != b.getNumArguments() ||
      a.getOperations().size() !=
          static_cast<size_t>(std::distance(kept.begin(), kept.end())))
    return false;
  for (auto [left, right] : llvm::zip(a.getArguments(), b.getArguments())) {
    if (left.getType() != right.getType())
      return false;
    mapping.map(left, right);
  }
  auto isSame = [&](Value left, Value right) {
    if (Value mapped = mapping.lookupOrNull(left))
      return mapped == right;
    return sameOutside(left, right);
  };
  for (auto [left, right] : llvm::zip(a, kept)) {
    if (left.getName() != right.getName() ||
        left.getNumOperands() != right.getNumOperands() ||
        left.getNumRegions() != right.getNumRegions() ||
        left.getResultTypes() != right.getResultTypes() ||
        !haveSameProperties(&left, &right))
      return false;
    for (auto [x, y] : llvm::zip(left.getOperands(), right.getOperands()))
      if (!isSame(x, y))
        return false;
    for (auto [x, y] : llvm::zip(left.getRegions(), right.getRegions()))
      if (!isSameBody(x, y, mapping, sameOutside, isLeftOut))
        return false;
    mapping.map(left.getResults(), right.getResults());
  }
  return true;
}

bool tessera::isSameRegion(Region &local, Region &expected,
                           llvm::function_ref<bool(Value, Value)> sameOutside,
                           llvm::function_ref<bool(Operation *)> isLeftOut) {
  IRMapping mapping;
  return isSameBody(local, expected, mapping, sameOutside, isLeftOut);
}
