//===- FoldRopeShapes.cpp - Changes of shape before ropes -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FoldShapes.h"
#include "TensorTypes.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace tessera;

/// Builds the op on another tensor with `dim` as its dimension of positions.
static Value buildRope(PatternRewriter &rewriter, nn::RopeOp op, Value x,
                       int64_t dim) {
  auto copy = cast<nn::RopeOp>(rewriter.clone(*op));
  copy.getXMutable().assign(x);
  copy.setDim(dim);
  copy.getResult().setType(typeOf(x));
  return copy.getResult();
}

namespace {

/// Moves a rope after a transpose that keeps the last dimension.
struct TransposeOfRope : OpRewritePattern<nn::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto rope = op.getX().getDefiningOp<nn::RopeOp>();
    ArrayRef<int64_t> permutation = op.getPermutation();
    if (!rope || !rope->hasOneUse() ||
        permutation.back() != int64_t(permutation.size()) - 1)
      return failure();
    Value x = buildTranspose(rewriter, op.getLoc(), rope.getX(), permutation);
    int64_t dim = invertPermutationVector(permutation)[rope.getDim()];
    rewriter.replaceOp(op, buildRope(rewriter, rope, x, dim));
    return success();
  }
};

/// Moves a rope after splits of dimensions that it does not read.
struct SplitOfRope : OpRewritePattern<tensor::ExpandShapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ExpandShapeOp op,
                                PatternRewriter &rewriter) const override {
    auto rope = op.getSrc().getDefiningOp<nn::RopeOp>();
    auto groups = op.getReassociationIndices();
    if (!rope || !rope->hasOneUse() || groups.back().size() != 1 ||
        groups[rope.getDim()].size() != 1)
      return failure();
    Value x = tensor::ExpandShapeOp::create(
        rewriter, op.getLoc(), op.getResultType(), rope.getX(), groups);
    rewriter.replaceOp(
        op, buildRope(rewriter, rope, x, groups[rope.getDim()].front()));
    return success();
  }
};

/// Moves a rope after a broadcast that adds dimensions of size 1.
struct UnitsOfRope : OpRewritePattern<nn::BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::BroadcastOp op,
                                PatternRewriter &rewriter) const override {
    auto rope = op.getX().getDefiningOp<nn::RopeOp>();
    if (!rope || !rope->hasOneUse() ||
        typeOf(rope).getNumElements() != op.getType().getNumElements() ||
        op.getDims().back() != op.getType().getRank() - 1)
      return failure();
    Value x = nn::BroadcastOp::create(rewriter, op.getLoc(), op.getType(),
                                      rope.getX(), op.getDims());
    rewriter.replaceOp(
        op, buildRope(rewriter, rope, x, op.getDims()[rope.getDim()]));
    return success();
  }
};

} // namespace

void tessera::populateRopeShapePatterns(RewritePatternSet &patterns) {
  patterns.add<TransposeOfRope, SplitOfRope, UnitsOfRope>(
      patterns.getContext());
}
