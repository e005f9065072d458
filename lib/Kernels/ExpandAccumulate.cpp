//===- ExpandAccumulate.cpp - Expands micro-batches to a loop -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds a loop over all micro-batches except the last, which runs after it.
// Ops that wait only for the sums can then overlap with the last backward.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "tessera/Kernels/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_EXPANDACCUMULATEPASS
#include "tessera/Kernels/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// Returns slice `index` along the first dimension, which the result lacks.
static Value getSlice(ImplicitLocOpBuilder &b, Value tensor,
                      OpFoldResult index) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)),
      sizes = getAsIndexOpFoldResult(b.getContext(), type.getShape()),
      strides(type.getRank(), b.getIndexAttr(1));
  offsets[0] = index;
  sizes[0] = b.getIndexAttr(1);
  Value slice = tensor;
  if (type.getDimSize(0) != 1)
    slice = tensor::ExtractSliceOp::create(b, tensor, offsets, sizes, strides);
  // The dimension of size 1 merges with the next one; a vector becomes a
  // scalar.
  SmallVector<ReassociationIndices> groups;
  for (int64_t i = 1; i < type.getRank(); ++i)
    groups.push_back({i});
  if (!groups.empty())
    groups.front().insert(groups.front().begin(), 0);
  auto collapsed = RankedTensorType::get(type.getShape().drop_front(),
                                         type.getElementType());
  return tensor::CollapseShapeOp::create(b, collapsed, slice, groups);
}

/// Clones the body for micro-batch `index` and returns the yielded values.
static SmallVector<Value> cloneBody(ImplicitLocOpBuilder &b,
                                    dist::AccumulateOp op, OpFoldResult index) {
  IRMapping mapping;
  Block &body = op.getBody().front();
  for (auto [argument, operand] :
       llvm::zip(body.getArguments(), op.getSlices()))
    mapping.map(argument, getSlice(b, operand, index));
  for (Operation &inner : body.without_terminator())
    b.clone(inner, mapping);
  SmallVector<Value> yielded;
  for (Value value : body.getTerminator()->getOperands())
    yielded.push_back(mapping.lookupOrDefault(value));
  return yielded;
}

/// Adds each value right after the op that computes it: a gradient shard dies
/// in its sum and does not wait for the other gradients.
static SmallVector<Value> addEach(ImplicitLocOpBuilder &b, ValueRange sums,
                                  ValueRange values) {
  SmallVector<Value> result;
  for (auto [sum, value] : llvm::zip(sums, values)) {
    OpBuilder::InsertionGuard guard(b);
    Operation *def = value.getDefiningOp();
    if (def && def->getBlock() == b.getBlock())
      b.setInsertionPointAfter(def);
    if (isa<FloatType>(getElementTypeOrSelf(sum)))
      result.push_back(arith::AddFOp::create(b, sum, value));
    else
      result.push_back(arith::AddIOp::create(b, sum, value));
  }
  return result;
}

static void expand(dist::AccumulateOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  int64_t last = int64_t(op.getCount()) - 1;
  SmallVector<Value> sums;
  if (last > 0) {
    SmallVector<Value> zeros;
    for (Type type : op.getResultTypes())
      zeros.push_back(
          arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(type))));
    auto loop = scf::ForOp::create(b, arith::ConstantIndexOp::create(b, 0),
                                   arith::ConstantIndexOp::create(b, last),
                                   arith::ConstantIndexOp::create(b, 1), zeros);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> values = cloneBody(b, op, loop.getInductionVar());
    scf::YieldOp::create(b, addEach(b, loop.getRegionIterArgs(), values));
    sums.assign(loop.getResults().begin(), loop.getResults().end());
  }
  SmallVector<Value> values = cloneBody(b, op, b.getIndexAttr(last));
  if (last > 0)
    values = addEach(b, sums, values);
  op.replaceAllUsesWith(values);
  op.erase();
}

namespace {
struct ExpandAccumulatePass
    : tessera::impl::ExpandAccumulatePassBase<ExpandAccumulatePass> {
  void runOnOperation() override {
    SmallVector<dist::AccumulateOp> ops;
    getOperation().walk([&](dist::AccumulateOp op) { ops.push_back(op); });
    for (dist::AccumulateOp op : ops)
      expand(op);
  }
};
} // namespace
