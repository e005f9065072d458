//===- CountPairs.cpp - Balance of attention among devices ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts the pairs of a query and a visible key on each device, from the
// position of the device's first query. Used by the report of collectives.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "tessera/Partition/ContextChoice.h"
#include "tessera/Rings/Passes.h"
#include <algorithm>

namespace tessera {
#define GEN_PASS_DEF_COUNTPAIRSPASS
#include "tessera/Rings/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// The pairs of the queries at indices [first, first + count).
static int64_t countPairsAt(nn::AttentionOp attention, int64_t first,
                            int64_t count, int64_t keys) {
  auto pairsOf = [&](int64_t position, int64_t queries) {
    return static_cast<int64_t>(countPairs(
        position, queries, keys, attention.getCausal(), attention.getWindow()));
  };
  nn::ZigzagAttr order = attention.getOrderAttr();
  if (!order)
    return pairsOf(first, count);
  int64_t pairs = 0;
  for (int64_t i = first; i < first + count; ++i)
    pairs += pairsOf(order.getPosition(i), 1);
  return pairs;
}

/// The fewest and the most pairs of any device.
static std::pair<int64_t, int64_t> countPairs(nn::AttentionOp attention) {
  int64_t queries = attention.getQ().getType().getDimSize(1);
  int64_t keys = attention.getK().getType().getDimSize(1);
  if (std::optional<int64_t> size = attention.getKeySize())
    keys = std::min(keys, *size);
  int64_t shards = 1, step = 0;
  if (Value offset = attention.getQOffset())
    if (auto axis = offset.getDefiningOp<dist::AxisOffsetOp>()) {
      Mesh mesh = dist::lookupMesh(axis, axis.getMeshAttr()).getMesh().toMesh();
      shards = numShards(axis.getAxes().toAxes(mesh));
      step = axis.getLocalSize();
    }
  std::pair<int64_t, int64_t> range{INT64_MAX, 0};
  for (int64_t number = 0; number < shards; ++number) {
    int64_t pairs = countPairsAt(attention, number * step, queries, keys);
    range = {std::min(range.first, pairs), std::max(range.second, pairs)};
  }
  return range;
}

namespace {
struct CountPairsPass : tessera::impl::CountPairsPassBase<CountPairsPass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<FunctionOpInterface>()) {
      if (!func->hasAttr(dist::DistDialect::kLocalAttr))
        continue;
      std::pair<int64_t, int64_t> most{0, 0};
      func.walk([&](nn::AttentionOp attention) {
        std::pair<int64_t, int64_t> range = countPairs(attention);
        if (range.second > most.second)
          most = range;
      });
      if (most.second > 0)
        func->setAttr(
            dist::DistDialect::kPairsAttr,
            DenseI64ArrayAttr::get(&getContext(), {most.first, most.second}));
    }
  }
};
} // namespace
