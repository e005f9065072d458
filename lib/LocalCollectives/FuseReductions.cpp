//===- FuseReductions.cpp - Reductions and the ops after them -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FuseCollectives.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace tessera;

/// Returns the operand's local type with dimension `dim` divided by `n`.
static RankedTensorType getShardType(Value value, int64_t dim, int64_t n) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] /= n;
  return type.clone(shape);
}

/// Returns the longest prefix of `axes` inside `set`, and the rest of the set.
static std::pair<AxisList, AxisList> takePrefix(ArrayRef<AxisRef> axes,
                                                ArrayRef<AxisRef> set) {
  AxisList prefix, left(set);
  for (const AxisRef &axis : axes) {
    std::optional<AxisList> rest = subtractAxes(left, axis);
    if (!rest)
      break;
    left = *rest;
    prefix.push_back(axis);
  }
  return {prefix, left};
}

/// Rewrites an all_reduce over A whose slices all begin with the same P within
/// A: reduce_scatter over P, all_reduce over the rest of A, slices over the
/// rest of the lists.
static bool scatter(dist::AllReduceOp reduce, const FusionContext &context) {
  AxisList reduced = context.toAxes(reduce.getAxes()), common;
  std::optional<int64_t> dim;
  bool anySlice = false;
  for (Operation *user : reduce->getUsers()) {
    auto slice = dyn_cast<dist::AllSliceOp>(user);
    if (!slice)
      continue;
    AxisList axes = context.toAxes(slice.getAxes());
    common = anySlice ? commonPrefix(common, axes) : axes;
    if (anySlice && dim != static_cast<int64_t>(slice.getDim()))
      common.clear();
    anySlice = true;
    dim = slice.getDim();
  }
  if (!anySlice)
    return false;
  auto [prefix, left] = takePrefix(common, reduced);
  if (llvm::any_of(reduce->getUsers(), [](Operation *user) {
        return !isa<dist::AllSliceOp>(user);
      })) {
    context.missed(reduce, "all_reduce and slice",
                   "another use needs it whole");
    return false;
  }
  if (prefix.empty()) {
    context.missed(reduce, "all_reduce and slice",
                   "the slices do not begin with one of its axes");
    return false;
  }
  OpBuilder builder(reduce);
  Value value = dist::ReduceScatterOp::create(
      builder, reduce.getLoc(),
      getShardType(reduce.getInput(), *dim, numShards(prefix)),
      reduce.getInput(), *dim, reduce.getKind(), context.toAttr(prefix),
      reduce.getMesh(),
      /*from=*/dist::ShardingAttr(), /*to=*/dist::ShardingAttr());
  if (!left.empty())
    value = dist::AllReduceOp::create(
        builder, reduce.getLoc(), value.getType(), value, reduce.getKind(),
        context.toAttr(left), reduce.getMesh(), /*from=*/dist::ShardingAttr(),
        /*to=*/dist::ShardingAttr());
  for (Operation *user : llvm::make_early_inc_range(reduce->getUsers())) {
    auto slice = cast<dist::AllSliceOp>(user);
    AxisList rest = dropPrefix(prefix, context.toAxes(slice.getAxes()));
    if (rest.empty()) {
      slice.getResult().replaceAllUsesWith(value);
      slice.erase();
      continue;
    }
    slice.getInputMutable().assign(value);
    slice.setAxesAttr(context.toAttr(rest));
  }
  context.passed(reduce, "all_reduce and slice to reduce_scatter");
  reduce.erase();
  return true;
}

/// Rewrites a reduce_scatter used only by the inverse all_gather to an
/// all_reduce.
static bool reduceWhole(dist::AllGatherOp gather,
                        const FusionContext &context) {
  auto scatter = gather.getInput().getDefiningOp<dist::ReduceScatterOp>();
  if (!scatter || scatter.getDim() != gather.getDim() ||
      scatter.getAxes() != gather.getAxes())
    return false;
  if (!scatter->hasOneUse() || scatter->getBlock() != gather->getBlock()) {
    context.missed(gather, "reduce_scatter and all_gather",
                   "the scattered sum has another use");
    return false;
  }
  OpBuilder builder(gather);
  Value value = dist::AllReduceOp::create(
      builder, scatter.getLoc(), gather.getType(), scatter.getInput(),
      scatter.getKind(), scatter.getAxes(), scatter.getMesh(),
      /*from=*/dist::ShardingAttr(), /*to=*/dist::ShardingAttr());
  context.passed(gather, "reduce_scatter and all_gather to all_reduce");
  gather.getResult().replaceAllUsesWith(value);
  gather.erase();
  scatter.erase();
  return true;
}

/// Rewrites an op that is linear in two reductions over the same axes, which
/// only it uses: it runs on the partial values, and its result is reduced.
static bool reduceOnce(Operation *op, const FusionContext &context) {
  auto iface = dyn_cast<ShardingRuleOpInterface>(op);
  if (!iface || op->getNumOperands() != 2 || op->getNumResults() != 1)
    return false;
  Operation *first = op->getOperand(0).getDefiningOp(),
            *second = op->getOperand(1).getDefiningOp();
  if (!isa_and_nonnull<dist::AllReduceOp, dist::ReduceScatterOp>(first) ||
      !second || first == second || first->getName() != second->getName() ||
      first->getPropertiesAsAttribute() != second->getPropertiesAsAttribute() ||
      first->getOperand(0).getType() != second->getOperand(0).getType() ||
      first->getResult(0).getType() != op->getResult(0).getType())
    return false;
  auto reduce = dyn_cast<dist::AllReduceOp>(first);
  ::tessera::ReductionKind kind = dist::toPlain(
      reduce ? reduce.getKind() : cast<dist::ReduceScatterOp>(first).getKind());
  if (!iface.commutesWithReduction(kind, llvm::SmallBitVector(2, true)))
    return false;
  if (!first->hasOneUse() || !second->hasOneUse() ||
      first->getBlock() != op->getBlock() ||
      second->getBlock() != op->getBlock()) {
    context.missed(op, "sum of two reductions", "one of them has another use");
    return false;
  }
  OpBuilder builder(op);
  Type type = first->getOperand(0).getType();
  FailureOr<Operation *> sum = iface.cloneWithShapes(
      builder, {first->getOperand(0), second->getOperand(0)}, type);
  if (failed(sum))
    return false;
  IRMapping mapping;
  mapping.map(first->getOperand(0), (*sum)->getResult(0));
  Operation *reduced = builder.clone(*first, mapping);
  context.passed(op, "sum of two reductions to one");
  op->getResult(0).replaceAllUsesWith(reduced->getResult(0));
  op->erase();
  first->erase();
  second->erase();
  return true;
}

bool tessera::fuseReductions(Block &block, const FusionContext &context) {
  bool changed = false;
  for (Operation &op : llvm::make_early_inc_range(block))
    if (auto gather = dyn_cast<dist::AllGatherOp>(op))
      changed |= reduceWhole(gather, context);
    else if (!isa<dist::CollectiveOpInterface>(op))
      changed |= reduceOnce(&op, context);
  SmallVector<dist::AllReduceOp> reductions(block.getOps<dist::AllReduceOp>());
  for (dist::AllReduceOp op : reductions)
    changed |= scatter(op, context);
  return changed;
}
