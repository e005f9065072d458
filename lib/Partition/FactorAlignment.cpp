//===- FactorAlignment.cpp - Alignment of sizes for matmuls and vectors ---===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the dimensions that are the minor one of a matmul's tensor, and those
// among them that may be rounded up because nothing but their size would
// change: no op around them needs the true size, splits the dimension, or must
// be decomposed for it.
//
//===----------------------------------------------------------------------===//

#include "FactorSizes.h"
#include "tessera/Interfaces/CostOpInterface.h"
#include "tessera/Interfaces/PaddingOpInterface.h"
#include "tessera/Interfaces/ShardingRuleOpInterface.h"
#include <numeric>

using namespace mlir;
using namespace tessera;

int64_t tessera::getAlignment(int64_t size, int64_t multiple, int64_t vector) {
  if (multiple != kAutoMultiple)
    return std::max<int64_t>(multiple, 1);
  // Rounds to 16 bytes, or more for types wider than bf16, and to a GPU's tile
  // if that adds almost nothing.
  constexpr int64_t kLeastVector = 8, kTile = 64;
  vector = std::max(vector, kLeastVector);
  if (size % vector == 0)
    return 1;
  int64_t tiles = llvm::alignTo(size, kTile);
  if ((tiles - size) * 100 <= size)
    return kTile;
  int64_t vectors = llvm::alignTo(size, vector);
  return (vectors - size) * 8 <= size ? vector : 1;
}

/// Returns the elements in 16 bytes of the narrowest matrix that a matmul
/// reads.
static int64_t getVector(Operation *matmul) {
  int64_t vector = 1;
  for (Type type : matmul->getOperandTypes())
    if (auto matrix = dyn_cast<RankedTensorType>(type);
        matrix && matrix.getRank() >= 2)
      vector = std::max<int64_t>(
          vector, 128 / std::max(8u, matrix.getElementTypeBitWidth()));
  return vector;
}

/// Calls `visit` with each tensor of an op and its factors.
template <typename Visit>
static void visitTensors(Operation *op, const ShardingRule &rule, Visit visit) {
  for (auto [value, tensor] : llvm::zip(op->getOperands(), rule.operands))
    visit(value, tensor);
  for (auto [value, tensor] : llvm::zip(op->getResults(), rule.results))
    visit(value, tensor);
}

void FactorSizes::fix(unsigned node, const char *why) {
  Node &root = nodes[find(node)];
  if (!root.whyFixed)
    root.whyFixed = why;
}

void FactorSizes::findMinor(Operation *op) {
  if (getOpCost(op).kind != CostKind::Matmul)
    return;
  visitTensors(
      op, getShardingRule(op), [&](Value value, const TensorFactors &tensor) {
        if (tensor.size() < 2 || tensor.back().size() != 1)
          return;
        unsigned node = getNode(value, tensor.size() - 1);
        Node &root = nodes[find(node)];
        if (root.size != nodes[node].size)
          return;
        dist::ShardingAttr sharding = dist::getSharding(value);
        int64_t shards =
            sharding ? numShards(sharding.toSharding(mesh).dims.back().axes)
                     : 1;
        root.minorShards =
            std::lcm(std::max<int64_t>(root.minorShards, 1), shards);
        root.vector = std::max(root.vector, getVector(op));
      });
}

void FactorSizes::findFixed(Operation *op) {
  if (auto accumulate = dyn_cast<dist::AccumulateOp>(op)) {
    for (Value whole : accumulate.getSlices())
      fix(getNode(whole, 0), "it counts micro-batches");
    for (OpResult result : op->getResults())
      if (accumulate.isStacked(result.getResultNumber()))
        fix(getNode(result, 0), "it counts micro-batches");
  }
  if (passesOn(op))
    return;
  ShardingRule rule = getShardingRule(op);
  unsigned first = firstFactor.lookup(op);
  for (auto [i, factor] : llvm::enumerate(rule.factors))
    // Check this only where it matters, since it clones the op.
    if (factor.kind == FactorKind::Decomposed &&
        nodes[find(first + i)].minorShards) {
      llvm::SmallBitVector own(rule.factors.size());
      own.set(i);
      if (!absorbsPadding(op, rule, own))
        fix(first + i,
            "an op with a reduction of its own cannot be informed of "
            "padding");
    }
  auto it = unpaddable.find(op);
  auto isFixed = [&](unsigned factor) {
    return it != unpaddable.end() && it->second.test(factor);
  };
  visitTensors(op, rule, [&](Value value, const TensorFactors &tensor) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    for (int64_t dim = 0, e = type ? type.getRank() : 0; dim < e; ++dim)
      if (dim >= static_cast<int64_t>(tensor.size()) || tensor[dim].empty())
        fix(getNode(value, dim), "an op does not say what it is made of");
      else if (tensor[dim].size() > 1)
        fix(getNode(value, dim), "it is made of several factors");
      else if (isFixed(tensor[dim].front()))
        fix(getNode(value, dim), "an op needs its true size");
  });
  // Fix the dimensions that the rule does not cover.
  auto fixRest = [&](ValueRange values, size_t known) {
    for (Value value : values.drop_front(std::min(known, values.size())))
      if (auto type = dyn_cast<RankedTensorType>(value.getType()))
        for (int64_t dim = 0; dim < type.getRank(); ++dim)
          fix(getNode(value, dim), "an op does not say what it is made of");
  };
  fixRest(op->getOperands(), rule.operands.size());
  fixRest(op->getResults(), rule.results.size());
}

void FactorSizes::findAligned(ArrayRef<Block *> blocks) {
  for (Block *block : blocks)
    for (Operation &op : *block)
      findMinor(&op);
  for (Block *block : blocks)
    for (Operation &op : *block)
      findFixed(&op);
}
