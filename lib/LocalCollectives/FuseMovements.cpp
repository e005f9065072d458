//===- FuseMovements.cpp - Sequences of gathers, slices and all-to-alls ---===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FuseCollectives.h"

using namespace mlir;
using namespace tessera;

/// Replaces `op` by `value` and erases ops without remaining uses.
static void replace(Operation *op, Value value) {
  Operation *source = op->getOperand(0).getDefiningOp();
  op->getResult(0).replaceAllUsesWith(value);
  op->erase();
  if (source && source->use_empty() && source->getResults()[0] != value)
    source->erase();
}

/// True if `op` is the only user of `source`, so that merging them moves no
/// more.
static bool isOnlyFor(Operation *source, Operation *op) {
  return source->hasOneUse() && source->getBlock() == op->getBlock();
}

/// Returns the axes of `sliced` before its suffix `gathered`; none if it does
/// not end with `gathered`.
static std::optional<AxisList> getLeading(ArrayRef<AxisRef> sliced,
                                          ArrayRef<AxisRef> gathered) {
  if (sliced.size() < gathered.size() ||
      sliced.take_back(gathered.size()) != gathered)
    return std::nullopt;
  return AxisList(sliced.drop_back(gathered.size()));
}

/// Rewrites the slice of one dimension after the all_gather of another over the
/// same axes to an all_to_all. The slice's additional axes are sliced before
/// it.
static bool toAllToAll(dist::AllSliceOp slice, dist::AllGatherOp gather,
                       const FusionContext &context) {
  AxisList gathered = context.toAxes(gather.getAxes());
  std::optional<AxisList> leading =
      getLeading(context.toAxes(slice.getAxes()), gathered);
  if (!leading || overlapsAny(*leading, gathered))
    return false;
  OpBuilder builder(slice);
  Location loc = slice.getLoc();
  Value value = gather.getInput();
  dist::ShardingAttr none;
  if (!leading->empty()) {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[slice.getDim()] /= numShards(*leading);
    value = dist::AllSliceOp::create(builder, loc, type.clone(shape), value,
                                     slice.getDim(), context.toAttr(*leading),
                                     slice.getMesh(), none, none);
  }
  value = dist::AllToAllOp::create(
      builder, loc, slice.getType(), value, gather.getDim(), slice.getDim(),
      gather.getAxes(), slice.getMesh(), none, none);
  context.passed(slice, "all_gather and slice to an all_to_all");
  replace(slice, value);
  return true;
}

/// Moves the slice of one dimension before the all_gather of another.
static bool sliceFirst(dist::AllSliceOp slice, dist::AllGatherOp gather,
                       const FusionContext &context) {
  if (!isOnlyFor(gather, slice)) {
    context.missed(slice, "slice before an all_gather",
                   "the gathered value has another use");
    return false;
  }
  if (overlapsAny(context.toAxes(gather.getAxes()),
                  context.toAxes(slice.getAxes())))
    return toAllToAll(slice, gather, context);
  auto type = cast<RankedTensorType>(gather.getInput().getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[slice.getDim()] /= numShards(context.toAxes(slice.getAxes()));
  OpBuilder builder(slice);
  Operation *part =
      cloneWithTypes(builder, slice, gather.getInput(), type.clone(shape));
  Operation *gathered =
      cloneWithTypes(builder, gather, part->getResult(0), slice.getType());
  context.passed(slice, "slice before an all_gather");
  replace(slice, gathered->getResult(0));
  return true;
}

/// Removes slice(all_gather), or leaves a gather over fewer axes if the slice
/// takes the major axes of the gathered ones.
static bool cancel(dist::AllSliceOp slice, const FusionContext &context) {
  auto gather = slice.getInput().getDefiningOp<dist::AllGatherOp>();
  if (!gather)
    return false;
  if (gather.getDim() != slice.getDim())
    return sliceFirst(slice, gather, context);
  AxisList gathered = context.toAxes(gather.getAxes()),
           sliced = context.toAxes(slice.getAxes());
  if (gathered == sliced) {
    context.passed(slice, "all_gather and slice cancel");
    replace(slice, gather.getInput());
    return true;
  }
  if (!isPrefix(sliced, gathered))
    return false;
  if (!isOnlyFor(gather, slice)) {
    context.missed(slice, "slice of an all_gather",
                   "the gathered value has another use");
    return false;
  }
  OpBuilder builder(slice);
  Value value = dist::AllGatherOp::create(
      builder, gather.getLoc(), slice.getType(), gather.getInput(),
      gather.getDim(), context.toAttr(dropPrefix(sliced, gathered)),
      gather.getMesh(), /*from=*/dist::ShardingAttr(),
      /*to=*/dist::ShardingAttr());
  context.passed(slice, "slice of an all_gather to a smaller all_gather");
  replace(slice, value);
  return true;
}

/// Merges all_gather(all_gather) or slice(slice) along one dimension.
template <typename Op>
static bool join(Op second, const FusionContext &context, StringRef what) {
  auto first = second.getInput().template getDefiningOp<Op>();
  if (!first || first.getDim() != second.getDim())
    return false;
  if (!isOnlyFor(first, second)) {
    context.missed(second, what, "the value between has another use");
    return false;
  }
  // A gather removes the minor axes first; a slice adds the major axes first.
  AxisList axes = context.toAxes(second.getAxes()),
           inner = context.toAxes(first.getAxes());
  if (isa<dist::AllSliceOp>(second.getOperation()))
    std::swap(axes, inner);
  axes.append(inner);
  OpBuilder builder(second);
  Operation *joined = builder.clone(*second.getOperation());
  joined->setOperand(0, first.getInput());
  cast<Op>(joined).setAxesAttr(context.toAttr(mergeAdjacent(axes)));
  context.passed(second, what);
  replace(second, joined->getResult(0));
  return true;
}

/// Merges an all_to_all d to e with a following op on e over the same axes: an
/// all_to_all e to f becomes d to f (or nothing), an all_gather of e becomes an
/// all_gather of d.
static bool follow(Operation *op, dist::AxesAttr axes, int64_t gathered,
                   const FusionContext &context) {
  auto first = op->getOperand(0).getDefiningOp<dist::AllToAllOp>();
  if (!first || first.getAxes() != axes ||
      static_cast<int64_t>(first.getSplitDim()) != gathered)
    return false;
  if (!isOnlyFor(first, op)) {
    context.missed(op, "chain after an all_to_all",
                   "the value between has another use");
    return false;
  }
  OpBuilder builder(op);
  Location loc = op->getLoc();
  if (auto gather = dyn_cast<dist::AllGatherOp>(op)) {
    context.passed(op, "all_to_all and all_gather to all_gather");
    replace(op,
            dist::AllGatherOp::create(
                builder, loc, gather.getType(), first.getInput(),
                first.getGatherDim(), axes, first.getMesh(),
                /*from=*/dist::ShardingAttr(), /*to=*/dist::ShardingAttr()));
    return true;
  }
  auto second = cast<dist::AllToAllOp>(op);
  if (second.getSplitDim() == first.getGatherDim()) {
    context.passed(op, "all_to_all and its inverse cancel");
    replace(op, first.getInput());
    return true;
  }
  context.passed(op, "two all_to_alls to one");
  replace(op, dist::AllToAllOp::create(
                  builder, loc, second.getType(), first.getInput(),
                  first.getGatherDim(), second.getSplitDim(), axes,
                  first.getMesh(), /*from=*/dist::ShardingAttr(),
                  /*to=*/dist::ShardingAttr()));
  return true;
}

bool tessera::fuseMovements(Block &block, const FusionContext &context) {
  bool changed = false;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto slice = dyn_cast<dist::AllSliceOp>(op))
      changed |=
          cancel(slice, context) || join(slice, context, "two slices to one");
    else if (auto gather = dyn_cast<dist::AllGatherOp>(op))
      changed |= follow(&op, gather.getAxes(), gather.getDim(), context) ||
                 join(gather, context, "two all_gathers to one");
    else if (auto move = dyn_cast<dist::AllToAllOp>(op))
      changed |= follow(&op, move.getAxes(), move.getGatherDim(), context);
  }
  return changed;
}
