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

/// A concat in the last dimension of a value that starts at `begin` there.
struct Separation {
  tensor::ConcatOp concat;
  Value source;
  int64_t begin;
};

/// Drops separations of neighbours that queries and keys share: a score is a
/// sum over their last dimension, in any order.
struct AttentionOfSeparated : OpRewritePattern<nn::AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::AttentionOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Separation> queries, keys;
    collect(op.getQ(), 0, queries);
    collect(op.getK(), 0, keys);
    bool isChanged = false;
    for (const Separation &query : queries)
      for (const Separation &key : keys)
        if (query.begin == key.begin && widthOf(query) == widthOf(key)) {
          rewriter.replaceOp(query.concat, query.source);
          rewriter.replaceOp(key.concat, key.source);
          isChanged = true;
        }
    return success(isChanged);
  }

private:
  static int64_t widthOf(const Separation &separation) {
    return typeOf(separation.source).getShape().back();
  }

  /// Whether a result has the last dimension of the first operand.
  static bool keepsLast(Operation *op) {
    if (auto transpose = dyn_cast<nn::TransposeOp>(op))
      return transpose.getPermutation().back() ==
             int64_t(transpose.getPermutation().size()) - 1;
    if (auto broadcast = dyn_cast<nn::BroadcastOp>(op))
      return !broadcast.getDims().empty() &&
             broadcast.getDims().back() == broadcast.getType().getRank() - 1 &&
             typeOf(broadcast.getX()).getShape().back() ==
                 broadcast.getType().getShape().back();
    if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
      return !collapse.getReassociationIndices().empty() &&
             collapse.getReassociationIndices().back().size() == 1;
    auto expand = dyn_cast<tensor::ExpandShapeOp>(op);
    return expand && !expand.getReassociationIndices().empty() &&
           expand.getReassociationIndices().back().size() == 1;
  }

  /// The value whose elements are those of `part`, from `offset` on every other
  /// one of the last dimension; null if there is none.
  static Value findEveryOther(Value part, int64_t offset) {
    auto slice = part.getDefiningOp<tensor::ExtractSliceOp>();
    if (!slice || slice.getType().getRank() != slice.getSourceType().getRank())
      return {};
    ArrayRef<int64_t> offsets = slice.getStaticOffsets();
    ArrayRef<int64_t> strides = slice.getStaticStrides();
    ArrayRef<int64_t> sizes = slice.getStaticSizes();
    ArrayRef<int64_t> from = slice.getSourceType().getShape();
    bool isWhole =
        sizes.drop_back() == from.drop_back() &&
        llvm::all_of(offsets.drop_back(), [](int64_t n) { return n == 0; }) &&
        llvm::all_of(strides.drop_back(), [](int64_t n) { return n == 1; });
    bool isHalf = offsets.back() == offset && strides.back() == 2 &&
                  2 * sizes.back() == from.back();
    return isWhole && isHalf ? slice.getSource() : Value();
  }

  /// Adds the separations in `x`, whose last dimension starts at `begin`, that
  /// nothing else reads.
  static void collect(Value x, int64_t begin, SmallVector<Separation> &found) {
    Operation *op = x.getDefiningOp();
    if (!op || !x.hasOneUse())
      return;
    if (keepsLast(op))
      return collect(op->getOperand(0), begin, found);
    auto concat = dyn_cast<tensor::ConcatOp>(op);
    if (!concat || int64_t(concat.getDim()) != typeOf(x).getRank() - 1)
      return;
    ValueRange parts = concat.getInputs();
    Value source = parts.size() == 2 ? findEveryOther(parts[0], 0) : Value();
    if (source && source == findEveryOther(parts[1], 1)) {
      found.push_back({concat, source, begin});
      return;
    }
    for (Value part : parts) {
      collect(part, begin, found);
      begin += typeOf(part).getShape().back();
    }
  }
};

} // namespace

void tessera::populateRopeShapePatterns(RewritePatternSet &patterns) {
  patterns.add<TransposeOfRope, SplitOfRope, UnitsOfRope, AttentionOfSeparated>(
      patterns.getContext());
}
