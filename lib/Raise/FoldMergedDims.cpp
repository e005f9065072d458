//===- FoldMergedDims.cpp - Ops before merges of dimensions ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementwiseShapes.h"
#include "FoldShapes.h"
#include "SplitLetters.h"
#include "TensorTypes.h"

using namespace mlir;
using namespace tessera;

/// Splits a broadcast; the sizes of dimensions that `split` leaves whole may
/// differ from its.
static Value splitBroadcast(OpBuilder &b, Location loc,
                            nn::BroadcastOp broadcast, Split split) {
  for (auto [sizes, size] :
       llvm::zip_equal(split, broadcast.getType().getShape()))
    if (sizes.size() == 1)
      sizes.front() = size;
  SplitShape whole(split);
  Split own;
  SmallVector<int64_t> dims;
  for (int64_t dim : broadcast.getDims()) {
    own.push_back(split[dim]);
    llvm::append_range(dims, whole.groups[dim]);
  }
  return nn::BroadcastOp::create(b, loc, broadcast.getType().clone(whole.shape),
                                 buildSplit(b, loc, broadcast.getX(), own),
                                 dims);
}

namespace {

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

/// The number of operands of an op on rows of tokens that have these rows, the
/// first ones; 0 for other ops.
static unsigned countTokenOperands(Operation *op) {
  if (isa<nn::TopKOp, nn::TakeAlongAxisOp>(op))
    return op->getNumOperands();
  auto experts = dyn_cast<nn::ExpertsOp>(op);
  return experts && !experts.getOffset() && op->getNumResults() == 1 ? 3 : 0;
}

/// Moves a choice of the last dimension, the elements chosen, or the experts
/// that are, before reshapes that merge other dimensions of all tokens alike.
struct ChoiceOfMerged : RewritePattern {
  ChoiceOfMerged(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    unsigned count = countTokenOperands(op);
    if (count == 0)
      return failure();
    auto merged = findMerged(op->getOperand(0));
    if (!merged || merged.getReassociationIndices().back().size() != 1)
      return failure();
    RankedTensorType result = typeOf(op->getResult(0));
    ArrayRef<int64_t> tokens = merged.getSrcType().getShape().drop_back();
    SmallVector<Value> operands(op->getOperands());
    auto ofTokens = MutableArrayRef(operands).take_front(count);
    if (!llvm::all_of(ofTokens, [&](Value operand) {
          auto other = findMerged(operand);
          return operand.getDefiningOp<nn::BroadcastOp>() ||
                 (other &&
                  other.getReassociationIndices() ==
                      merged.getReassociationIndices() &&
                  other.getSrcType().getShape().drop_back() == tokens);
        }))
      return failure();
    for (Value &operand : ofTokens) {
      auto broadcast = operand.getDefiningOp<nn::BroadcastOp>();
      operand = broadcast ? splitBroadcast(rewriter, op->getLoc(), broadcast,
                                           readSplit(merged))
                          : findMerged(operand).getSrc();
    }
    Operation *whole = rewriter.clone(*op);
    whole->setOperands(operands);
    SmallVector<int64_t> shape(tokens);
    shape.push_back(result.getShape().back());
    whole->getResult(0).setType(result.clone(shape));
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(
        op, result, whole->getResult(0), merged.getReassociationIndices());
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
    Value whole = resizeElementwise(
        rewriter, op, first.getSrcType().getShape(),
        [&](Value operand) -> Value {
          auto broadcast = operand.getDefiningOp<nn::BroadcastOp>();
          return broadcast ? splitBroadcast(rewriter, op->getLoc(), broadcast,
                                            readSplit(first))
                           : findMerged(operand).getSrc();
        });
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(
        op, typeOf(op->getResult(0)), whole, first.getReassociationIndices());
    return success();
  }
};

/// Moves a concatenation along a dimension before reshapes that merge others of
/// all its operands alike.
struct ConcatOfMerged : OpRewritePattern<tensor::ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ConcatOp op,
                                PatternRewriter &rewriter) const override {
    auto first = findMerged(op.getInputs().front());
    if (!first)
      return failure();
    auto groups = first.getReassociationIndices();
    if (groups[op.getDim()].size() != 1)
      return failure();
    int64_t dim = groups[op.getDim()].front();
    SmallVector<int64_t> shape(first.getSrcType().getShape());
    SmallVector<Value> sources;
    int64_t length = 0;
    for (Value input : op.getInputs()) {
      auto merged = findMerged(input);
      if (!merged || merged.getReassociationIndices() != groups)
        return failure();
      SmallVector<int64_t> own(merged.getSrcType().getShape());
      length += std::exchange(own[dim], shape[dim]);
      if (own != shape)
        return failure();
      sources.push_back(merged.getSrc());
    }
    shape[dim] = length;
    Value whole = tensor::ConcatOp::create(
        rewriter, op.getLoc(), op.getResultType().clone(shape), dim, sources);
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(op, op.getResultType(),
                                                         whole, groups);
    return success();
  }
};

/// Moves a slice before a reshape that merges dimensions, if it takes whole
/// blocks along the major one: heads of some groups.
struct BlocksOfMerged : OpRewritePattern<tensor::ExtractSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ExtractSliceOp op,
                                PatternRewriter &rewriter) const override {
    auto merged = findMerged(op.getSource());
    if (!merged || !isPlainSlice(op))
      return failure();
    ArrayRef<int64_t> shape = merged.getSrcType().getShape();
    SmallVector<int64_t> offsets(shape.size(), 0), sizes(shape);
    SmallVector<int64_t> ones(shape.size(), 1);
    bool hasBlocks = false;
    for (auto [dim, group] :
         llvm::enumerate(merged.getReassociationIndices())) {
      int64_t inner = 1;
      for (int64_t part : ArrayRef(group).drop_front())
        inner *= shape[part];
      int64_t offset = op.getStaticOffsets()[dim];
      int64_t size = op.getStaticSizes()[dim];
      if (offset % inner != 0 || size % inner != 0)
        return failure();
      hasBlocks |= group.size() > 1 && size != inner * shape[group.front()];
      offsets[group.front()] = offset / inner;
      sizes[group.front()] = size / inner;
    }
    if (!hasBlocks)
      return failure();
    auto fixed = [&](ArrayRef<int64_t> values) {
      return getAsIndexOpFoldResult(rewriter.getContext(), values);
    };
    Value whole = tensor::ExtractSliceOp::create(
        rewriter, op.getLoc(), op.getType().clone(sizes), merged.getSrc(),
        fixed(offsets), fixed(sizes), fixed(ones));
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(
        op, op.getType(), whole, merged.getReassociationIndices());
    return success();
  }
};

/// Moves an elementwise op of broadcasts before the reshape that merges
/// dimensions of one of them, such as a norm's factors times its gamma. Tried
/// after the patterns that move it before the broadcasts.
struct ElementwiseOfMergedBroadcasts : RewritePattern {
  ElementwiseOfMergedBroadcasts(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/0, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    nn::BroadcastOp first = find(op);
    if (!first)
      return failure();
    Split split;
    for (int64_t size : first.getType().getShape())
      split.push_back({size});
    for (auto [dim, sizes] :
         llvm::zip_equal(first.getDims(), readSplit(findMerged(first.getX()))))
      split[dim] = sizes;
    SplitShape shape(split);
    Value whole = resizeElementwise(
        rewriter, op, shape.shape, [&](Value operand) -> Value {
          return splitBroadcast(rewriter, op->getLoc(),
                                operand.getDefiningOp<nn::BroadcastOp>(),
                                split);
        });
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(
        op, typeOf(op->getResult(0)), whole, shape.groups);
    return success();
  }

private:
  /// The first broadcast of a merge, if all operands are broadcasts or splats.
  static nn::BroadcastOp find(Operation *op) {
    nn::BroadcastOp first;
    if (!isPlainElementwise(op))
      return first;
    for (Value operand : op->getOperands()) {
      auto broadcast = operand.getDefiningOp<nn::BroadcastOp>();
      if (!broadcast && !isSplat(operand))
        return {};
      if (!first && broadcast && findMerged(broadcast.getX()))
        first = broadcast;
    }
    return first;
  }
};

} // namespace

void tessera::populateMergedDimPatterns(RewritePatternSet &patterns) {
  patterns.add<MatmulOfMerged, RowsOfMerged, ChoiceOfMerged, ReduceOfMerged,
               ElementwiseOfMerged, ElementwiseOfMergedBroadcasts,
               ConcatOfMerged, BlocksOfMerged>(patterns.getContext());
}
