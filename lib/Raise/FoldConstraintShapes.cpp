//===- FoldConstraintShapes.cpp - Constraints before changes of shape -----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FoldShapes.h"
#include "ParameterViews.h"
#include "TensorTypes.h"
#include "dialects/Dist/Dist.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace tessera;

/// Applies the constraint of `op` to `x`, whose dimension i is dimension
/// `dims[i]` of the operand of `op`.
static Value constrain(OpBuilder &b, dist::ConstraintOp op, Value x,
                       ArrayRef<int64_t> dims) {
  dist::ShardingAttr sharding = op.getSharding();
  SmallVector<dist::DimShardingAttr> own;
  for (int64_t dim : dims)
    own.push_back(sharding.getDims()[dim]);
  auto moved = dist::ShardingAttr::get(
      op.getContext(), sharding.getMesh(), own, sharding.getReplicated(),
      sharding.getUnreduced(), sharding.getReduction());
  return dist::ConstraintOp::create(b, op.getLoc(), x, moved);
}

namespace {

/// Moves a constraint before the broadcast that adds dimensions of size 1 to
/// its operand.
struct ConstraintOfUnits : OpRewritePattern<dist::ConstraintOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(dist::ConstraintOp op,
                                PatternRewriter &rewriter) const override {
    auto broadcast = op.getInput().getDefiningOp<nn::BroadcastOp>();
    if (!broadcast || typeOf(broadcast.getX()).getNumElements() !=
                          typeOf(broadcast).getNumElements())
      return failure();
    ArrayRef<dist::DimShardingAttr> dims = op.getSharding().getDims();
    for (auto [dim, attr] : llvm::enumerate(dims))
      if (!llvm::is_contained(broadcast.getDims(), int64_t(dim)) &&
          !attr.getAxes().empty())
        return failure();
    Value x = constrain(rewriter, op, broadcast.getX(), broadcast.getDims());
    rewriter.replaceOpWithNewOp<nn::BroadcastOp>(op, op.getType(), x,
                                                 broadcast.getDims());
    return success();
  }
};

/// Moves a constraint before a reshape that merges dimensions, if these can
/// hold its axes, so that the reshape reaches a matmul: if 4 heads of 12 are
/// merged, 2 shards of 48 are 2 shards of the heads.
struct ConstraintOfMerged : OpRewritePattern<dist::ConstraintOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(dist::ConstraintOp op,
                                PatternRewriter &rewriter) const override {
    auto merged = op.getInput().getDefiningOp<tensor::CollapseShapeOp>();
    dist::ShardingAttr sharding = op.getSharding();
    dist::MeshOp mesh = dist::lookupMesh(op, sharding.getMesh());
    if (!merged || !merged->hasOneUse() || !mesh)
      return failure();
    Mesh plain = mesh.getMesh().toMesh();
    bool isWhole = false;
    Sharding own =
        shardView(sharding.toSharding(plain), merged.getResultType().getShape(),
                  makeIdentity(merged.getSrcType().getShape()), isWhole);
    if (!isWhole)
      return failure();
    Value x = dist::ConstraintOp::create(
        rewriter, op.getLoc(), merged.getSrc(),
        dist::ShardingAttr::get(sharding.getMesh(), plain, own));
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(
        op, op.getType(), x, merged.getReassociationIndices());
    return success();
  }
};

/// Moves a constraint before a transpose that no matmul absorbs, so that a
/// later transpose absorbs it.
struct ConstraintOfTranspose : OpRewritePattern<dist::ConstraintOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(dist::ConstraintOp op,
                                PatternRewriter &rewriter) const override {
    auto transpose = op.getInput().getDefiningOp<nn::TransposeOp>();
    if (!transpose || !transpose->hasOneUse() ||
        transpose.getX().getDefiningOp<nn::EinsumOp>())
      return failure();
    SmallVector<int64_t> dims =
        invertPermutationVector(transpose.getPermutation());
    Value x = constrain(rewriter, op, transpose.getX(), dims);
    rewriter.replaceOpWithNewOp<nn::TransposeOp>(op, op.getType(), x,
                                                 transpose.getPermutation());
    return success();
  }
};

} // namespace

void tessera::populateConstraintShapePatterns(RewritePatternSet &patterns) {
  patterns.add<ConstraintOfUnits, ConstraintOfMerged, ConstraintOfTranspose>(
      patterns.getContext());
}
