//===- FoldBroadcasts.cpp - Broadcasts and dimensions of size 1 -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementwiseShapes.h"
#include "FoldShapes.h"
#include "TensorTypes.h"

#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace tessera;

namespace {

/// Merges a broadcast of a broadcast into one broadcast.
struct BroadcastTwice : OpRewritePattern<nn::BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::BroadcastOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getX().getType() == op.getType()) {
      rewriter.replaceOp(op, op.getX());
      return success();
    }
    auto first = op.getX().getDefiningOp<nn::BroadcastOp>();
    if (!first)
      return failure();
    SmallVector<int64_t> dims;
    for (int64_t dim : first.getDims())
      dims.push_back(op.getDims()[dim]);
    rewriter.replaceOpWithNewOp<nn::BroadcastOp>(op, op.getType(), first.getX(),
                                                 dims);
    return success();
  }
};

/// Rewrites an expand_shape that only adds dimensions of size 1 to a broadcast.
struct ExpandIsBroadcast : OpRewritePattern<tensor::ExpandShapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ExpandShapeOp op,
                                PatternRewriter &rewriter) const override {
    auto dims = matchUnits(op);
    if (!dims)
      return failure();
    rewriter.replaceOpWithNewOp<nn::BroadcastOp>(op, op.getResultType(),
                                                 op.getSrc(), *dims);
    return success();
  }
};

/// Merges a collapse_shape that drops dimensions of size 1 into the broadcast
/// before.
struct CollapseOfBroadcast : OpRewritePattern<tensor::CollapseShapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::CollapseShapeOp op,
                                PatternRewriter &rewriter) const override {
    auto broadcast = op.getSrc().getDefiningOp<nn::BroadcastOp>();
    auto after = broadcast ? matchUnits(op) : std::nullopt;
    if (!after)
      return failure();
    SmallVector<int64_t> kept, dims;
    for (auto [own, dim] : llvm::enumerate(broadcast.getDims()))
      if (const int64_t *found = llvm::find(*after, dim);
          found != after->end()) {
        kept.push_back(own);
        dims.push_back(found - after->begin());
      }
    Value x = dropUnits(rewriter, op.getLoc(), broadcast.getX(), kept);
    rewriter.replaceOpWithNewOp<nn::BroadcastOp>(op, op.getResultType(), x,
                                                 dims);
    return success();
  }
};

/// Drops dimensions of size 1 that a broadcast adds and that are then merged
/// with others.
struct MergeOfAddedUnits : OpRewritePattern<tensor::CollapseShapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::CollapseShapeOp op,
                                PatternRewriter &rewriter) const override {
    auto broadcast = op.getSrc().getDefiningOp<nn::BroadcastOp>();
    if (!broadcast || matchUnits(op))
      return failure();
    SmallVector<int64_t> shape, place(op.getSrcType().getRank(), -1);
    SmallVector<ReassociationIndices> groups;
    for (const ReassociationIndices &group : op.getReassociationIndices()) {
      ReassociationIndices &kept = groups.emplace_back();
      for (int64_t dim : group) {
        int64_t size = op.getSrcType().getDimSize(dim);
        bool isLast = dim == group.back();
        if (size == 1 && !llvm::is_contained(broadcast.getDims(), dim) &&
            !(isLast && kept.empty()))
          continue;
        place[dim] = shape.size();
        kept.push_back(place[dim]);
        shape.push_back(size);
      }
    }
    if (shape.size() == place.size())
      return failure();
    SmallVector<int64_t> dims;
    for (int64_t dim : broadcast.getDims())
      dims.push_back(place[dim]);
    Value x = nn::BroadcastOp::create(rewriter, op.getLoc(),
                                      broadcast.getType().clone(shape),
                                      broadcast.getX(), dims);
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(op, op.getType(), x,
                                                         groups);
    return success();
  }
};

/// Moves a collapse_shape that drops dimensions of size 1 after an elementwise
/// op, so that it meets the broadcast that adds them again.
struct ElementwiseOfUnits : RewritePattern {
  ElementwiseOfUnits(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    auto first = findAlike(op, [](Value operand) {
      return operand.getDefiningOp<tensor::CollapseShapeOp>();
    });
    auto kept = first ? matchUnits(first) : std::nullopt;
    if (!kept)
      return failure();
    ArrayRef<int64_t> shape = first.getSrcType().getShape();
    auto groups = first.getReassociationIndices();
    Value whole =
        resizeElementwise(rewriter, op, shape, [&](Value operand) -> Value {
          auto broadcast = operand.getDefiningOp<nn::BroadcastOp>();
          if (!broadcast)
            return operand.getDefiningOp<tensor::CollapseShapeOp>().getSrc();
          SmallVector<int64_t> dims;
          for (int64_t dim : broadcast.getDims())
            dims.push_back((*kept)[dim]);
          return nn::BroadcastOp::create(rewriter, op->getLoc(),
                                         typeOf(operand).clone(shape),
                                         broadcast.getX(), dims);
        });
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(
        op, typeOf(op->getResult(0)), whole, groups);
    return success();
  }
};

/// Removes a collapse_shape of dimensions of size 1 that a broadcast adds
/// again.
struct UnitsAgain : OpRewritePattern<nn::BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::BroadcastOp op,
                                PatternRewriter &rewriter) const override {
    auto collapse = op.getX().getDefiningOp<tensor::CollapseShapeOp>();
    auto kept = collapse ? matchUnits(collapse) : std::nullopt;
    if (!kept || collapse.getSrcType() != op.getType() ||
        op.getDims() != ArrayRef(*kept))
      return failure();
    rewriter.replaceOp(op, collapse.getSrc());
    return success();
  }
};

/// Moves an elementwise op before the broadcasts of all its operands, if no
/// operand has some dimension; splat constants fit any shape.
struct ElementwiseOfBroadcasts : RewritePattern {
  ElementwiseOfBroadcasts(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isPlainElementwise(op))
      return failure();
    RankedTensorType type = typeOf(op->getResult(0));
    llvm::SmallBitVector isKept(type.getRank());
    bool isSame = true;
    nn::BroadcastOp first;
    for (Value operand : op->getOperands()) {
      auto broadcast = operand.getDefiningOp<nn::BroadcastOp>();
      if (!broadcast && !isSplat(operand))
        return failure();
      if (!broadcast)
        continue;
      first = first ? first : broadcast;
      isSame &= broadcast.getDims() == first.getDims();
      for (int64_t dim : broadcast.getDims())
        isKept.set(dim);
    }
    if (!first || (isKept.all() && !isSame))
      return failure();
    SmallVector<int64_t> kept, shape, place(type.getRank());
    for (unsigned dim : isKept.set_bits()) {
      place[dim] = kept.size();
      kept.push_back(dim);
      shape.push_back(type.getDimSize(dim));
    }
    Value before =
        resizeElementwise(rewriter, op, shape, [&](Value operand) -> Value {
          auto broadcast = operand.getDefiningOp<nn::BroadcastOp>();
          SmallVector<int64_t> dims;
          for (int64_t dim : broadcast.getDims())
            dims.push_back(place[dim]);
          if (dims.size() == kept.size())
            return broadcast.getX();
          return nn::BroadcastOp::create(rewriter, op->getLoc(),
                                         typeOf(operand).clone(shape),
                                         broadcast.getX(), dims);
        });
    rewriter.replaceOpWithNewOp<nn::BroadcastOp>(op, type, before, kept);
    return success();
  }
};

/// Moves a reduction before the broadcast that adds dimensions of size 1 to its
/// operand.
struct ReduceOfBroadcast : OpRewritePattern<nn::ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ReduceOp op,
                                PatternRewriter &rewriter) const override {
    auto broadcast = op.getX().getDefiningOp<nn::BroadcastOp>();
    if (!broadcast || typeOf(broadcast.getX()).getNumElements() !=
                          typeOf(broadcast).getNumElements())
      return failure();
    SmallVector<int64_t> reduced, shape, kept;
    int64_t after = 0, next = 0;
    for (int64_t dim = 0; dim < typeOf(broadcast).getRank(); ++dim) {
      bool isReduced = llvm::is_contained(op.getDims(), dim);
      bool isOld = next < int64_t(broadcast.getDims().size()) &&
                   broadcast.getDims()[next] == dim;
      if (isOld && isReduced)
        reduced.push_back(next);
      if (isOld && !isReduced) {
        kept.push_back(after);
        shape.push_back(typeOf(broadcast).getDimSize(dim));
      }
      next += isOld;
      after += !isReduced;
    }
    Value x = broadcast.getX();
    if (!reduced.empty())
      x = nn::ReduceOp::create(rewriter, op.getLoc(), typeOf(x).clone(shape),
                               op.getKind(), x, reduced);
    if (x.getType() == op.getType())
      rewriter.replaceOp(op, x);
    else
      rewriter.replaceOpWithNewOp<nn::BroadcastOp>(op, op.getType(), x, kept);
    return success();
  }
};

/// Rewrites rows of broadcast ids to broadcast rows.
struct EmbeddingOfBroadcast : OpRewritePattern<nn::EmbeddingOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::EmbeddingOp op,
                                PatternRewriter &rewriter) const override {
    auto ids = op.getIds().getDefiningOp<nn::BroadcastOp>();
    if (!ids)
      return failure();
    RankedTensorType type = op.getType();
    SmallVector<int64_t> shape(typeOf(ids.getX()).getShape());
    SmallVector<int64_t> dims(ids.getDims());
    shape.push_back(type.getShape().back());
    dims.push_back(type.getRank() - 1);
    Value rows = nn::EmbeddingOp::create(
        rewriter, op.getLoc(), type.clone(shape), op.getTable(), ids.getX(),
        op.getOffset(), op.getRowsAttr());
    rewriter.replaceOpWithNewOp<nn::BroadcastOp>(op, type, rows, dims);
    return success();
  }
};

} // namespace

void tessera::populateBroadcastPatterns(RewritePatternSet &patterns) {
  patterns
      .add<BroadcastTwice, ExpandIsBroadcast, CollapseOfBroadcast,
           MergeOfAddedUnits, ElementwiseOfUnits, UnitsAgain,
           ElementwiseOfBroadcasts, ReduceOfBroadcast, EmbeddingOfBroadcast>(
          patterns.getContext());
}
