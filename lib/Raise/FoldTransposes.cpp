//===- FoldTransposes.cpp - Transposes before other ops, or in matmuls ----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementwiseShapes.h"
#include "FoldShapes.h"
#include "TensorTypes.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace tessera;

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

namespace {

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
    SmallVector<int64_t> order, dims;
    for (auto [after, before] : llvm::enumerate(op.getPermutation())) {
      const int64_t *found = llvm::find(broadcast.getDims(), before);
      if (found == broadcast.getDims().end())
        continue;
      order.push_back(found - broadcast.getDims().begin());
      dims.push_back(after);
    }
    Value x = broadcast.getX();
    if (!llvm::is_sorted(order))
      x = buildTranspose(rewriter, op.getLoc(), x, order);
    rewriter.replaceOpWithNewOp<nn::BroadcastOp>(op, op.getType(), x, dims);
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
    if (!merged || matchUnits(merged))
      return failure();
    auto groups = merged.getReassociationIndices();
    SmallVector<int64_t> order;
    SmallVector<ReassociationIndices> after;
    for (int64_t dim : op.getPermutation())
      after.push_back(takeGroup(groups[dim], order));
    Value x = buildTranspose(rewriter, op.getLoc(), merged.getSrc(), order);
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
    rewriter.replaceOp(op, buildTranspose(rewriter, op.getLoc(), x,
                                          invertPermutationVector(parts)));
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
                  return buildTranspose(rewriter, op.getLoc(), operand,
                                        op.getPermutation());
                }));
    return success();
  }
};

/// Moves a transpose before the reduction of a value that is transposed alike
/// elsewhere, so that the transpose of the value is its only user:
///
///     x --max--> transpose       becomes    x --transpose--> max
///     x --transpose-->                                   \-->
struct TransposeOfReduce : OpRewritePattern<nn::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto reduce = op.getX().getDefiningOp<nn::ReduceOp>();
    nn::TransposeOp other = reduce ? find(reduce, op) : nn::TransposeOp();
    if (!other)
      return failure();
    SmallVector<int64_t> reduced;
    for (auto [after, dim] : llvm::enumerate(other.getPermutation()))
      if (llvm::is_contained(reduce.getDims(), dim))
        reduced.push_back(after);
    rewriter.setInsertionPointAfterValue(reduce.getX());
    Value x = buildTranspose(rewriter, other.getLoc(), reduce.getX(),
                             other.getPermutation());
    rewriter.replaceOp(other, x);
    rewriter.setInsertionPoint(op);
    rewriter.replaceOpWithNewOp<nn::ReduceOp>(op, op.getType(),
                                              reduce.getKind(), x, reduced);
    return success();
  }

private:
  /// The transpose of a reduction's operand that has the dimensions that are
  /// kept in the order of `op`; null if there is none.
  static nn::TransposeOp find(nn::ReduceOp reduce, nn::TransposeOp op) {
    SmallVector<int64_t> kept;
    for (int64_t dim : llvm::seq<int64_t>(0, typeOf(reduce.getX()).getRank()))
      if (!llvm::is_contained(reduce.getDims(), dim))
        kept.push_back(dim);
    for (Operation *user : reduce.getX().getUsers()) {
      auto other = dyn_cast<nn::TransposeOp>(user);
      if (!other)
        continue;
      SmallVector<int64_t> order;
      for (int64_t dim : other.getPermutation())
        if (const int64_t *found = llvm::find(kept, dim); found != kept.end())
          order.push_back(found - kept.begin());
      if (op.getPermutation() == ArrayRef(order))
        return other;
    }
    return {};
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
    rewriter.replaceOp(
        op, nn::EinsumOp::create(rewriter, einsum.getLoc(), op.getType(), spec,
                                 einsum.getLhs(), einsum.getRhs()));
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

} // namespace

void tessera::populateTransposePatterns(RewritePatternSet &patterns) {
  patterns.add<TransposeOfShape, TransposeOfMerged, SplitOfTranspose,
               DropOfTranspose, TransposeOfElementwise, TransposeOfReduce,
               TransposeOfEinsum, EinsumOfShapes>(patterns.getContext());
}
