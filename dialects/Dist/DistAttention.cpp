//===- DistAttention.cpp - Verifier of attention around a ring ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

SmallVector<AllGatherOp, 2> RingAttentionOp::getGathers() {
  return llvm::to_vector<2>(getBody().front().getOps<AllGatherOp>());
}

SmallVector<ReduceScatterOp, 2> RingAttentionOp::getScatters() {
  return llvm::to_vector<2>(getBody().front().getOps<ReduceScatterOp>());
}

Operation *RingAttentionOp::getAttention() {
  for (Operation &op : getBody().front().without_terminator())
    if (!isa<CollectiveOpInterface, AxisOffsetOp>(op))
      return &op;
  return nullptr;
}

YieldOp RingAttentionOp::getYield() {
  return cast<YieldOp>(getBody().front().getTerminator());
}

/// True for collectives of local values along one dimension over the same axes.
template <typename Op>
static bool areAlike(ArrayRef<Op> ops, int64_t dim, AxesAttr axes) {
  return llvm::all_of(ops, [&](Op op) {
    return !op.getFromAttr() && int64_t(op.getDim()) == dim &&
           op.getAxes() == axes;
  });
}

LogicalResult RingAttentionOp::verifyRegions() {
  Block &block = getBody().front();
  auto yield = dyn_cast<YieldOp>(block.back());
  if (block.getArgumentTypes() != getOperandTypes() || !yield ||
      yield.getOperandTypes() != getResultTypes())
    return emitOpError("(C1) expects a region that takes the operands and "
                       "yields the results' types");
  SmallVector<AllGatherOp, 2> gathers = getGathers();
  SmallVector<ReduceScatterOp, 2> scatters = getScatters();
  Operation *attention = getAttention();
  int64_t others =
      llvm::count_if(block.without_terminator(), [](Operation &op) {
        return !isa<AxisOffsetOp, AllGatherOp, ReduceScatterOp>(op);
      });
  if (gathers.size() != 2 || others != 1 ||
      (!scatters.empty() && scatters.size() != 2))
    return emitOpError("(C2) expects two all-gathers, an op, and two or no "
                       "reduce-scatters but got ")
           << gathers.size() << ", " << others << " and " << scatters.size();
  int64_t dim = gathers.front().getDim();
  AxesAttr axes = gathers.front().getAxes();
  auto isTaken = [&](AllGatherOp gather) {
    return isa<BlockArgument>(gather.getInput()) &&
           llvm::is_contained(attention->getOperands(), gather.getResult());
  };
  if (!areAlike<AllGatherOp>(gathers, dim, axes) ||
      !areAlike<ReduceScatterOp>(scatters, dim, axes) ||
      !llvm::all_of(gathers, isTaken))
    return emitOpError("(C2) expects gathers of arguments for the op, and "
                       "scatters, along dimension ")
           << dim << " over " << axes;
  // The results of the op, the last ones scattered.
  SmallVector<Value> made(attention->getResults());
  for (auto [i, scatter] : llvm::enumerate(scatters)) {
    Value &last = made[made.size() - 2 + i];
    if (scatter.getKind() != dist::ReductionKind::Sum ||
        scatter.getInput() != last)
      return emitOpError("(C2) expects reduce-scatters of sums of the op's "
                         "last results");
    last = scatter.getResult();
  }
  if (ValueRange(made) != ValueRange(yield.getOperands()))
    return emitOpError("(C3) expects to yield the results of the op, scattered "
                       "where they are");
  return success();
}
