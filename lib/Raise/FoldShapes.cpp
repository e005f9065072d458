//===- FoldShapes.cpp - Moves and merges reshapes -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Adding dimensions of size 1 counts as a broadcast. So every pattern moves a
// broadcast towards the results, or merges two broadcasts:
//
//     x --broadcast--> f --drop 1s--> broadcast    becomes    x --> f
//     --broadcast-->
//
//===----------------------------------------------------------------------===//

#include "ElementwiseShapes.h"
#include "ParameterViews.h"
#include "SplitLetters.h"
#include "TensorTypes.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "tessera/Interfaces/ElementwiseBuilder.h"
#include "tessera/Raise/Passes.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tessera {
#define GEN_PASS_DEF_FOLDSHAPESPASS
#include "tessera/Raise/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// The position of each dimension of `small` in `whole`, if a reshape only adds
/// or drops dimensions of size 1. `groups` has one group of dimensions of
/// `whole` for each dimension of `small`. None for other reshapes.
static std::optional<SmallVector<int64_t>>
matchUnits(ArrayRef<ReassociationIndices> groups, RankedTensorType whole,
           RankedTensorType small) {
  SmallVector<int64_t> kept;
  for (auto [group, size] : llvm::zip_equal(groups, small.getShape())) {
    const int64_t *found = llvm::find_if(group, [&, size = size](int64_t dim) {
      return whole.getDimSize(dim) == size;
    });
    bool isUnits =
        found != group.end() && llvm::all_of(group, [&](int64_t dim) {
          return dim == *found || whole.getDimSize(dim) == 1;
        });
    if (!isUnits)
      return std::nullopt;
    kept.push_back(*found);
  }
  return kept;
}

/// The same for a reshape that drops dimensions, and for one that adds them.
static std::optional<SmallVector<int64_t>>
matchUnits(tensor::CollapseShapeOp op) {
  return matchUnits(op.getReassociationIndices(), op.getSrcType(),
                    op.getResultType());
}
static std::optional<SmallVector<int64_t>>
matchUnits(tensor::ExpandShapeOp op) {
  return matchUnits(op.getReassociationIndices(), op.getResultType(),
                    op.getSrcType());
}

/// Drops the dimensions of `x` that are not in `kept`; they have size 1.
static Value dropUnits(OpBuilder &b, Location loc, Value x,
                       ArrayRef<int64_t> kept) {
  RankedTensorType type = typeOf(x);
  if (int64_t(kept.size()) == type.getRank())
    return x;
  SmallVector<int64_t> shape;
  SmallVector<ReassociationIndices> groups;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    // Leading dimensions of size 1 join the first group.
    if (llvm::is_contained(kept, dim)) {
      shape.push_back(type.getDimSize(dim));
      if (shape.size() > 1 || groups.empty())
        groups.push_back({});
    } else if (groups.empty() && !kept.empty()) {
      groups.push_back({});
    }
    if (!groups.empty())
      groups.back().push_back(dim);
  }
  return tensor::CollapseShapeOp::create(b, loc, type.clone(shape), x, groups);
}

static Value transpose(OpBuilder &b, Location loc, Value x,
                       ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(typeOf(x).getDimSize(dim));
  return nn::TransposeOp::create(b, loc, typeOf(x).clone(shape), x,
                                 permutation);
}

/// Appends a group of dimensions to `order`, and returns their positions there.
static ReassociationIndices takeGroup(ArrayRef<int64_t> group,
                                      SmallVectorImpl<int64_t> &order) {
  ReassociationIndices taken;
  for (int64_t dim : group) {
    taken.push_back(order.size());
    order.push_back(dim);
  }
  return taken;
}

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

/// Moves an elementwise op before the broadcasts of all its operands; splat
/// constants fit any shape.
struct ElementwiseOfBroadcasts : RewritePattern {
  ElementwiseOfBroadcasts(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isPlainElementwise(op))
      return failure();
    nn::BroadcastOp first;
    for (Value operand : op->getOperands()) {
      auto broadcast = operand.getDefiningOp<nn::BroadcastOp>();
      if (broadcast && !first)
        first = broadcast;
      bool isSame = broadcast && broadcast.getDims() == first.getDims() &&
                    typeOf(broadcast.getX()).getShape() ==
                        typeOf(first.getX()).getShape();
      if (!isSame && !isSplat(operand))
        return failure();
    }
    if (!first)
      return failure();
    Value before = resizeElementwise(
        rewriter, op, typeOf(first.getX()).getShape(), [](Value operand) {
          return operand.getDefiningOp<nn::BroadcastOp>().getX();
        });
    rewriter.replaceOpWithNewOp<nn::BroadcastOp>(op, typeOf(op->getResult(0)),
                                                 before, first.getDims());
    return success();
  }
};

/// The first of the collapse_shapes that `find` returns for operands of an
/// elementwise op, if they are all alike and the other operands are splats or
/// broadcasts; else null.
static tensor::CollapseShapeOp
findAlike(Operation *op,
          llvm::function_ref<tensor::CollapseShapeOp(Value)> find) {
  if (!isPlainElementwise(op))
    return {};
  tensor::CollapseShapeOp first;
  for (Value operand : op->getOperands()) {
    tensor::CollapseShapeOp collapse = find(operand);
    first = first ? first : collapse;
    if (isSplat(operand) || operand.getDefiningOp<nn::BroadcastOp>())
      continue;
    if (!collapse ||
        collapse.getSrcType().getShape() != first.getSrcType().getShape() ||
        collapse.getReassociationIndices() != first.getReassociationIndices())
      return {};
  }
  return first;
}

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

/// Moves a transpose before a broadcast, and merges two transposes.
struct TransposeOfShape : OpRewritePattern<nn::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::TransposeOp op,
                                PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> permutation = op.getPermutation();
    if (llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size()))) {
      rewriter.replaceOp(op, op.getX());
      return success();
    }
    if (auto first = op.getX().getDefiningOp<nn::TransposeOp>()) {
      SmallVector<int64_t> both;
      for (int64_t dim : permutation)
        both.push_back(first.getPermutation()[dim]);
      rewriter.replaceOpWithNewOp<nn::TransposeOp>(op, op.getType(),
                                                   first.getX(), both);
      return success();
    }
    auto broadcast = op.getX().getDefiningOp<nn::BroadcastOp>();
    return broadcast ? swap(op, broadcast, rewriter) : failure();
  }

private:
  static LogicalResult swap(nn::TransposeOp op, nn::BroadcastOp broadcast,
                            PatternRewriter &rewriter) {
    SmallVector<int64_t> order, dims, shape;
    for (auto [after, before] : llvm::enumerate(op.getPermutation())) {
      const int64_t *found = llvm::find(broadcast.getDims(), before);
      if (found == broadcast.getDims().end())
        continue;
      order.push_back(found - broadcast.getDims().begin());
      dims.push_back(after);
      shape.push_back(typeOf(broadcast).getDimSize(before));
    }
    Value x = broadcast.getX();
    if (!llvm::is_sorted(order))
      x = nn::TransposeOp::create(rewriter, op.getLoc(), typeOf(x).clone(shape),
                                  x, order);
    rewriter.replaceOpWithNewOp<nn::BroadcastOp>(op, op.getType(), x, dims);
    return success();
  }
};

/// Moves a transpose before an elementwise op that it is the only user of, so
/// that it reaches a matmul.
struct TransposeOfElementwise : OpRewritePattern<nn::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::TransposeOp op,
                                PatternRewriter &rewriter) const override {
    Operation *producer = op.getX().getDefiningOp();
    if (!isPlainElementwise(producer) || !producer->hasOneUse())
      return failure();
    if (llvm::count_if(producer->getOperands(),
                       [](Value operand) { return !isSplat(operand); }) != 1)
      return failure();
    ArrayRef<int64_t> shape = op.getType().getShape();
    rewriter.replaceOp(
        op, resizeElementwise(
                rewriter, producer, shape, [&](Value operand) -> Value {
                  return nn::TransposeOp::create(rewriter, op.getLoc(),
                                                 typeOf(operand).clone(shape),
                                                 operand, op.getPermutation());
                }));
    return success();
  }
};

/// Moves a transpose before a reshape that merges dimensions, so that it meets
/// the transpose before that.
struct TransposeOfMerged : OpRewritePattern<nn::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto merged = op.getX().getDefiningOp<tensor::CollapseShapeOp>();
    if (!merged || !merged->hasOneUse() || matchUnits(merged))
      return failure();
    auto groups = merged.getReassociationIndices();
    SmallVector<int64_t> order;
    SmallVector<ReassociationIndices> after;
    for (int64_t dim : op.getPermutation())
      after.push_back(takeGroup(groups[dim], order));
    Value x = transpose(rewriter, op.getLoc(), merged.getSrc(), order);
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(op, op.getType(), x,
                                                         after);
    return success();
  }
};

/// Moves a split of dimensions before a transpose, so that it reaches a matmul.
struct SplitOfTranspose : OpRewritePattern<tensor::ExpandShapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ExpandShapeOp op,
                                PatternRewriter &rewriter) const override {
    auto before = op.getSrc().getDefiningOp<nn::TransposeOp>();
    ArrayRef<int64_t> shape = op.getResultType().getShape();
    if (!before || !before->hasOneUse() || matchUnits(op))
      return failure();
    // Orders the groups like the dimensions before the transpose.
    auto groups = op.getReassociationIndices();
    SmallVector<int64_t> parts, split;
    SmallVector<ReassociationIndices> own(groups.size());
    for (int64_t dim : invertPermutationVector(before.getPermutation()))
      own[before.getPermutation()[dim]] = takeGroup(groups[dim], parts);
    for (int64_t part : parts)
      split.push_back(shape[part]);
    Value x = tensor::ExpandShapeOp::create(rewriter, op.getLoc(),
                                            op.getResultType().clone(split),
                                            before.getX(), own);
    rewriter.replaceOp(op, transpose(rewriter, op.getLoc(), x,
                                     invertPermutationVector(parts)));
    return success();
  }
};

/// Builds the op on another tensor with `dim` as its dimension of positions.
Value buildRope(PatternRewriter &rewriter, nn::RopeOp op, Value x,
                int64_t dim) {
  auto copy = cast<nn::RopeOp>(rewriter.clone(*op));
  copy.getXMutable().assign(x);
  copy.setDim(dim);
  copy.getResult().setType(typeOf(x));
  return copy.getResult();
}

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
    Value x = transpose(rewriter, op.getLoc(), rope.getX(), permutation);
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

/// Drops dimensions of size 1 before a transpose, so that the reshape reaches a
/// matmul.
struct DropOfTranspose : OpRewritePattern<tensor::CollapseShapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::CollapseShapeOp op,
                                PatternRewriter &rewriter) const override {
    auto transpose = op.getSrc().getDefiningOp<nn::TransposeOp>();
    auto after = transpose ? matchUnits(op) : std::nullopt;
    if (!after)
      return failure();
    // The kept dimensions, as numbered before the transpose.
    SmallVector<int64_t> kept, order;
    for (int64_t dim : *after)
      kept.push_back(transpose.getPermutation()[dim]);
    SmallVector<int64_t> sorted(kept);
    llvm::sort(sorted);
    for (int64_t dim : kept)
      order.push_back(llvm::find(sorted, dim) - sorted.begin());
    Value x = dropUnits(rewriter, op.getLoc(), transpose.getX(), sorted);
    rewriter.replaceOpWithNewOp<nn::TransposeOp>(op, op.getType(), x, order);
    return success();
  }
};

/// Merges a transpose into the matmul before it.
struct TransposeOfEinsum : OpRewritePattern<nn::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto einsum = op.getX().getDefiningOp<nn::EinsumOp>();
    if (!einsum || !einsum->hasOneUse() || !einsum.getScales().empty())
      return failure();
    auto letters = einsum.getLetters();
    std::string spec = (letters.lhs + "," + letters.rhs + "->").str();
    for (int64_t dim : op.getPermutation())
      spec += letters.result[dim];
    rewriter.replaceOpWithNewOp<nn::EinsumOp>(op, op.getType(), spec,
                                              einsum.getLhs(), einsum.getRhs());
    return success();
  }
};

/// Merges transposes of operands into a matmul, and drops the broadcast of an
/// operand along dimensions of the result that the other operand has.
struct EinsumOfShapes : OpRewritePattern<nn::EinsumOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::EinsumOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getScales().empty())
      return failure();
    auto letters = op.getLetters();
    std::string lhs = letters.lhs.str(), rhs = letters.rhs.str();
    Value left = op.getLhs(), right = op.getRhs();
    if (!absorb(left, lhs, rhs, letters.result) &&
        !absorb(right, rhs, lhs, letters.result))
      return failure();
    rewriter.replaceOpWithNewOp<nn::EinsumOp>(
        op, op.getType(), lhs + "," + rhs + "->" + letters.result.str(), left,
        right);
    return success();
  }

private:
  static bool absorb(Value &x, std::string &letters, StringRef other,
                     StringRef result) {
    if (auto transpose = x.getDefiningOp<nn::TransposeOp>()) {
      std::string before = letters;
      for (auto [after, dim] : llvm::enumerate(transpose.getPermutation()))
        before[dim] = letters[after];
      x = transpose.getX();
      letters = before;
      return true;
    }
    auto broadcast = x.getDefiningOp<nn::BroadcastOp>();
    if (!broadcast)
      return false;
    std::string kept;
    for (auto [dim, letter] : llvm::enumerate(letters)) {
      if (llvm::is_contained(broadcast.getDims(), int64_t(dim)))
        kept += letter;
      else if (!other.contains(letter) || !result.contains(letter))
        return false;
    }
    if (kept.empty())
      return false;
    x = broadcast.getX();
    letters = kept;
    return true;
  }
};

/// The reshape that made `x` by merging dimensions; null if there is none.
static tensor::CollapseShapeOp findMerged(Value x) {
  auto merged = x.getDefiningOp<tensor::CollapseShapeOp>();
  return merged && !matchUnits(merged) ? merged : tensor::CollapseShapeOp();
}

/// Moves a matmul before a reshape that merges dimensions of its operands. If
/// both operands have a merged dimension (batch and heads), it is split alike
/// in both. Heads of keys that are repeated for a group of queries split the
/// heads of the queries, so that the matmul needs no repetition.
struct MatmulOfMerged : OpRewritePattern<nn::EinsumOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::EinsumOp op,
                                PatternRewriter &rewriter) const override {
    Operand left = read(op.getLhs()), right = read(op.getRhs());
    if ((!left.merged && !right.merged) || !op.getScales().empty())
      return failure();
    auto letters = op.getLetters();
    SplitLetters parts(op);
    for (auto [dim, letter] : llvm::enumerate(letters.lhs)) {
      size_t shared = letters.rhs.find(letter);
      if (shared != StringRef::npos &&
          !makeAlike(left, dim, right, shared, letters.result.contains(letter)))
        return failure();
      if (left.split[dim].size() != 1 && !parts.split(letter, left.split[dim]))
        return failure();
    }
    for (auto [letter, sizes] : llvm::zip_equal(letters.rhs, right.split))
      if (sizes.size() != 1 && !letters.lhs.contains(letter) &&
          !parts.split(letter, sizes))
        return failure();
    Value lhs = left.build(rewriter, op.getLoc());
    Value rhs = right.build(rewriter, op.getLoc());
    rewriter.replaceOp(op, buildSplitEinsum(rewriter, op, parts, lhs, rhs));
    return success();
  }

private:
  /// An operand and the split of its dimensions.
  struct Operand {
    Value x;
    tensor::CollapseShapeOp merged;
    Split split;
    bool isExpanded = false;

    /// Whether elements repeat along a merged dimension.
    bool isRepeated(size_t dim) {
      auto repeated = merged.getSrc().getDefiningOp<nn::BroadcastOp>();
      return repeated &&
             llvm::any_of(
                 merged.getReassociationIndices()[dim], [&](int64_t part) {
                   return !llvm::is_contained(repeated.getDims(), part);
                 });
    }
    Value build(OpBuilder &b, Location loc) {
      return isExpanded ? buildSplit(b, loc, x, split)
             : merged   ? merged.getSrc()
                        : x;
    }
  };

  static Operand read(Value x) {
    Operand operand{x, findMerged(x), {}};
    if (operand.merged)
      operand.split = readSplit(operand.merged);
    else
      for (int64_t size : typeOf(x).getShape())
        operand.split.push_back({size});
    return operand;
  }

  /// Splits a dimension of both operands as one of them has it.
  static bool makeAlike(Operand &left, size_t leftDim, Operand &right,
                        size_t rightDim, bool isInResult) {
    SmallVector<int64_t> &ours = left.split[leftDim];
    SmallVector<int64_t> &theirs = right.split[rightDim];
    if (ours == theirs)
      return true;
    bool isLeft = ours.size() == 1;
    if (!isInResult || (!isLeft && theirs.size() != 1) ||
        !(isLeft ? right.isRepeated(rightDim) : left.isRepeated(leftDim)))
      return false;
    (isLeft ? ours : theirs) = isLeft ? theirs : ours;
    (isLeft ? left : right).isExpanded = true;
    return true;
  }
};

/// Moves a softmax or a norm before a reshape that merges dimensions other than
/// the row dimension.
struct RowsOfMerged : RewritePattern {
  RowsOfMerged(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isa<nn::SoftmaxOp, nn::LayerNormOp, nn::RMSNormOp>(op) ||
        op->getNumResults() != 1)
      return failure();
    auto merged = findMerged(op->getOperand(0));
    if (!merged)
      return failure();
    auto groups = merged.getReassociationIndices();
    auto softmax = dyn_cast<nn::SoftmaxOp>(op);
    const ReassociationIndices &rows =
        softmax ? groups[softmax.getDim()] : groups.back();
    if (rows.size() != 1)
      return failure();
    Operation *whole = rewriter.clone(*op);
    whole->setOperand(0, merged.getSrc());
    whole->getResult(0).setType(merged.getSrcType());
    if (softmax)
      cast<nn::SoftmaxOp>(whole).setDim(rows.front());
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(
        op, op->getResult(0).getType(), whole->getResult(0), groups);
    return success();
  }
};

/// Moves a reduction before a reshape that merges dimensions that it keeps.
struct ReduceOfMerged : OpRewritePattern<nn::ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ReduceOp op,
                                PatternRewriter &rewriter) const override {
    auto merged = findMerged(op.getX());
    if (!merged)
      return failure();
    SmallVector<int64_t> reduced, shape;
    SmallVector<ReassociationIndices> kept;
    for (auto [dim, group] : llvm::enumerate(merged.getReassociationIndices()))
      if (llvm::is_contained(op.getDims(), int64_t(dim))) {
        if (group.size() != 1)
          return failure();
        reduced.push_back(group.front());
      } else {
        ReassociationIndices &after = kept.emplace_back();
        for (int64_t source : group) {
          after.push_back(shape.size());
          shape.push_back(merged.getSrcType().getDimSize(source));
        }
      }
    Value whole = nn::ReduceOp::create(rewriter, op.getLoc(),
                                       merged.getSrcType().clone(shape),
                                       op.getKind(), merged.getSrc(), reduced);
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(op, op.getType(),
                                                         whole, kept);
    return success();
  }
};

/// Moves an elementwise op before reshapes that merge dimensions of all its
/// operands alike; splits broadcasts along merged dimensions.
struct ElementwiseOfMerged : RewritePattern {
  ElementwiseOfMerged(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    tensor::CollapseShapeOp first = findAlike(op, findMerged);
    if (!first)
      return failure();
    ArrayRef<int64_t> shape = first.getSrcType().getShape();
    auto groups = first.getReassociationIndices();
    Split split = readSplit(first);
    Value whole =
        resizeElementwise(rewriter, op, shape, [&](Value operand) -> Value {
          auto broadcast = operand.getDefiningOp<nn::BroadcastOp>();
          if (!broadcast)
            return findMerged(operand).getSrc();
          Split own;
          SmallVector<int64_t> dims;
          for (int64_t dim : broadcast.getDims()) {
            own.push_back(split[dim]);
            llvm::append_range(dims, groups[dim]);
          }
          Value x = buildSplit(rewriter, op->getLoc(), broadcast.getX(), own);
          return nn::BroadcastOp::create(rewriter, op->getLoc(),
                                         typeOf(operand).clone(shape), x, dims);
        });
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(
        op, typeOf(op->getResult(0)), whole, groups);
    return success();
  }
};

struct FoldShapesPass
    : public tessera::impl::FoldShapesPassBase<FoldShapesPass> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    patterns.add<BroadcastTwice, ExpandIsBroadcast, CollapseOfBroadcast,
                 ElementwiseOfUnits, UnitsAgain, ElementwiseOfBroadcasts,
                 ConstraintOfUnits, ConstraintOfMerged, ConstraintOfTranspose,
                 ReduceOfBroadcast, TransposeOfShape, TransposeOfMerged,
                 SplitOfTranspose, TransposeOfRope, SplitOfRope, UnitsOfRope,
                 EmbeddingOfBroadcast, DropOfTranspose, TransposeOfElementwise,
                 TransposeOfEinsum, EinsumOfShapes, MatmulOfMerged,
                 RowsOfMerged, ReduceOfMerged, ElementwiseOfMerged>(context);
    tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns, context);
    tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns, context);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
