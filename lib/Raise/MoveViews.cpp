//===- MoveViews.cpp - Moves views of matmuls to their weights ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//     x, w --einsum--> +bias --split 48 into 4 x 12-->
//     becomes   x, split w --einsum--> +split bias -->
//
//===----------------------------------------------------------------------===//

#include "ElementwiseShapes.h"
#include "FoldShapes.h"
#include "ParameterViews.h"
#include "SplitLetters.h"
#include "TensorTypes.h"

#include "dialects/NN/NN.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tessera;

/// Whether a value is a parameter, or a view of one.
static bool isParameter(Value value) {
  while (isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                         tensor::ExtractSliceOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  auto argument = dyn_cast<BlockArgument>(value);
  auto function =
      argument
          ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp())
          : FunctionOpInterface();
  return function && function.getArgAttr(argument.getArgNumber(),
                                         nn::NNDialect::kParamAttr);
}

//===----------------------------------------------------------------------===//
// Splitting dimensions
//===----------------------------------------------------------------------===//

Value tessera::buildSplitEinsum(OpBuilder &b, nn::EinsumOp op,
                                const SplitLetters &parts, Value left,
                                Value right) {
  auto letters = op.getLetters();
  SplitShape result(parts.sizesOf(letters.result, op.getType().getShape()));
  Value product = nn::EinsumOp::create(
      b, op.getLoc(), op.getType().clone(result.shape),
      parts.apply(letters.lhs) + "," + parts.apply(letters.rhs) + "->" +
          parts.apply(letters.result),
      left, right);
  return product.getType() == op.getType()
             ? product
             : tensor::CollapseShapeOp::create(b, op.getLoc(), op.getType(),
                                               product, result.groups);
}

namespace {

/// Rewrites a broadcast that adds dimensions of size 1 to a matmul, or to an
/// elementwise op of one, as a split of the dimension before, which the weight
/// may absorb.
struct UnitsAreSplits : OpRewritePattern<nn::BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::BroadcastOp op,
                                PatternRewriter &rewriter) const override {
    Operation *producer = op.getX().getDefiningOp();
    bool isKnown =
        isa_and_nonnull<nn::EinsumOp>(producer) || isPlainElementwise(producer);
    if (!isKnown || op.getDims().empty() || op.getDims().front() != 0 ||
        typeOf(op.getX()).getNumElements() != op.getType().getNumElements())
      return failure();
    SmallVector<ReassociationIndices> groups;
    for (int64_t dim = 0, e = op.getType().getRank(); dim < e; ++dim) {
      if (llvm::is_contained(op.getDims(), dim))
        groups.emplace_back();
      groups.back().push_back(dim);
    }
    rewriter.replaceOpWithNewOp<tensor::ExpandShapeOp>(op, op.getType(),
                                                       op.getX(), groups);
    return success();
  }
};

/// Moves the split of a dimension before a broadcast, and before elementwise
/// ops of a matmul and vectors.
struct SplitOfElementwise : OpRewritePattern<tensor::ExpandShapeOp> {
  using OpRewritePattern::OpRewritePattern;
  /// The most elementwise ops in a row that a split moves past.
  static constexpr int kMaxDepth = 8;
  /// Whether a split of a value reaches only matmuls and vectors.
  static bool isKnown(Value value, int depth = 0) {
    Operation *op = value.getDefiningOp();
    if (isSplat(value) || isa_and_nonnull<nn::BroadcastOp>(op))
      return true;
    if (!op || !op->hasOneUse() || depth > kMaxDepth)
      return false;
    return isa<nn::EinsumOp>(op) ||
           (isPlainElementwise(op) &&
            llvm::all_of(op->getOperands(), [&](Value operand) {
              return isKnown(operand, depth + 1);
            }));
  }
  LogicalResult matchAndRewrite(tensor::ExpandShapeOp op,
                                PatternRewriter &rewriter) const override {
    Operation *producer = op.getSrc().getDefiningOp();
    if (!isPlainElementwise(producer) || !isKnown(op.getSrc()))
      return failure();
    Split split =
        readSplit(op.getReassociationIndices(), op.getResultType().getShape());
    rewriter.replaceOp(
        op, resizeElementwise(rewriter, producer, op.getResultType().getShape(),
                              [&](Value operand) {
                                return buildSplit(rewriter, op.getLoc(),
                                                  operand, split);
                              }));
    return success();
  }
};

/// Moves the split of a dimension before a merge of others, where it reaches
/// only matmuls and vectors.
struct SplitOfMerged : OpRewritePattern<tensor::ExpandShapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ExpandShapeOp op,
                                PatternRewriter &rewriter) const override {
    auto merge = op.getSrc().getDefiningOp<tensor::CollapseShapeOp>();
    if (!merge || !merge->hasOneUse() ||
        !SplitOfElementwise::isKnown(merge.getSrc()))
      return failure();
    Split before = readSplit(merge), split;
    SmallVector<ReassociationIndices> groups;
    int64_t next = 0;
    for (auto [dim, sizes] : llvm::enumerate(readSplit(
             op.getReassociationIndices(), op.getResultType().getShape()))) {
      if (sizes.size() != 1 && before[dim].size() != 1)
        return failure();
      bool isMerged = before[dim].size() != 1;
      if (isMerged)
        groups.emplace_back();
      for (int64_t size : isMerged ? before[dim] : sizes) {
        if (!isMerged)
          groups.emplace_back();
        groups.back().push_back(next++);
        if (isMerged)
          split.push_back({size});
      }
      if (!isMerged)
        split.push_back(sizes);
    }
    Value x = buildSplit(rewriter, op.getLoc(), merge.getSrc(), split);
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(op, op.getType(), x,
                                                         groups);
    return success();
  }
};

struct SplitOfBroadcast : OpRewritePattern<tensor::ExpandShapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ExpandShapeOp op,
                                PatternRewriter &rewriter) const override {
    auto broadcast = op.getSrc().getDefiningOp<nn::BroadcastOp>();
    if (!broadcast)
      return failure();
    Split split =
        readSplit(op.getReassociationIndices(), op.getResultType().getShape());
    Split before;
    SmallVector<int64_t> dims;
    for (int64_t dim : broadcast.getDims()) {
      before.push_back(split[dim]);
      llvm::append_range(dims, op.getReassociationIndices()[dim]);
    }
    Value x = buildSplit(rewriter, op.getLoc(), broadcast.getX(), before);
    rewriter.replaceOpWithNewOp<nn::BroadcastOp>(op, op.getResultType(), x,
                                                 dims);
    return success();
  }
};

/// Moves the split of a result dimension of a matmul into the weight, if only
/// the weight has the dimension.
struct SplitOfEinsum : OpRewritePattern<tensor::ExpandShapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ExpandShapeOp op,
                                PatternRewriter &rewriter) const override {
    auto einsum = op.getSrc().getDefiningOp<nn::EinsumOp>();
    if (!einsum || !einsum->hasOneUse() || !einsum.getScales().empty())
      return failure();
    auto letters = einsum.getLetters();
    SplitLetters parts(einsum);
    Split split =
        readSplit(op.getReassociationIndices(), op.getResultType().getShape());
    for (auto [letter, sizes] : llvm::zip_equal(letters.result, split)) {
      if (sizes.size() == 1)
        continue;
      bool isLeft = letters.lhs.contains(letter);
      Value owner = isLeft ? einsum.getLhs() : einsum.getRhs();
      if ((isLeft && letters.rhs.contains(letter)) || !isParameter(owner) ||
          !parts.split(letter, sizes))
        return failure();
    }
    auto operand = [&](Value x, StringRef text) {
      return buildSplit(rewriter, op.getLoc(), x,
                        parts.sizesOf(text, typeOf(x).getShape()));
    };
    Value left = operand(einsum.getLhs(), letters.lhs);
    Value right = operand(einsum.getRhs(), letters.rhs);
    rewriter.replaceOp(
        op, nn::EinsumOp::create(rewriter, einsum.getLoc(), op.getResultType(),
                                 parts.apply(letters.lhs) + "," +
                                     parts.apply(letters.rhs) + "->" +
                                     parts.apply(letters.result),
                                 left, right));
    return success();
  }
};

/// Rewrites a matmul of a weight and merged dimensions to one of the unmerged
/// dimensions, with the weight split likewise. Merged dimensions of the result
/// are merged after it.
struct EinsumOfMerged : OpRewritePattern<nn::EinsumOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::EinsumOp op,
                                PatternRewriter &rewriter) const override {
    return success(op.getScales().empty() &&
                   (succeeded(rewrite(op, /*isLeft=*/true, rewriter)) ||
                    succeeded(rewrite(op, /*isLeft=*/false, rewriter))));
  }

private:
  static LogicalResult rewrite(nn::EinsumOp op, bool isLeft,
                               PatternRewriter &rewriter) {
    Value x = isLeft ? op.getLhs() : op.getRhs();
    Value w = isLeft ? op.getRhs() : op.getLhs();
    auto merged = x.getDefiningOp<tensor::CollapseShapeOp>();
    if (!merged || isParameter(x) || !isParameter(w))
      return failure();
    auto letters = op.getLetters();
    StringRef own = isLeft ? letters.lhs : letters.rhs;
    StringRef other = isLeft ? letters.rhs : letters.lhs;
    SplitLetters parts(op);
    for (auto [letter, sizes] : llvm::zip_equal(own, readSplit(merged)))
      if (sizes.size() != 1 && !parts.split(letter, sizes))
        return failure();
    Value weight = buildSplit(rewriter, op.getLoc(), w,
                              parts.sizesOf(other, typeOf(w).getShape()));
    rewriter.replaceOp(op, buildSplitEinsum(rewriter, op, parts,
                                            isLeft ? merged.getSrc() : weight,
                                            isLeft ? weight : merged.getSrc()));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

bool allUsersSlice(Operation *op) {
  return llvm::all_of(op->getUsers(), [](Operation *user) {
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    return slice && isPlainSlice(slice);
  });
}

/// Applies a slice to `x`; dimension i of `x` is dimension `dims[i]` of the
/// slice.
Value buildSlice(OpBuilder &b, tensor::ExtractSliceOp op, Value x,
                 ArrayRef<int64_t> dims) {
  SmallVector<int64_t> offsets, sizes, ones(dims.size(), 1);
  for (auto [i, dim] : llvm::enumerate(dims)) {
    offsets.push_back(dim < 0 ? 0 : op.getStaticOffsets()[dim]);
    sizes.push_back(dim < 0 ? typeOf(x).getDimSize(i)
                            : op.getStaticSizes()[dim]);
  }
  auto fixed = [&](ArrayRef<int64_t> values) {
    return getAsIndexOpFoldResult(b.getContext(), values);
  };
  RankedTensorType type = typeOf(x).clone(sizes);
  return type == x.getType()
             ? x
             : tensor::ExtractSliceOp::create(b, op.getLoc(), type, x,
                                              fixed(offsets), fixed(sizes),
                                              fixed(ones));
}

/// Moves slices before elementwise ops of a matmul and vectors.
struct SliceOfElementwise : OpRewritePattern<tensor::ExtractSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  /// Whether slices of an op's operands reach only matmuls and vectors. Sets
  /// `hasMatmul` if they reach a matmul. Accepts slices of a value that other
  /// slices were moved to.
  static bool isKnown(Operation *op, bool &hasMatmul, int depth = 0) {
    return depth <= SplitOfElementwise::kMaxDepth &&
           llvm::all_of(op->getOperands(), [&](Value operand) {
             Operation *def = operand.getDefiningOp();
             if (isSplat(operand) || isa_and_nonnull<nn::BroadcastOp>(def))
               return true;
             if (!def || !llvm::all_of(def->getUsers(), [&](Operation *user) {
                   return user == op || isa<tensor::ExtractSliceOp>(user);
                 }))
               return false;
             bool isMatmul = isa<nn::EinsumOp>(def);
             hasMatmul |= isMatmul;
             return isMatmul || (isPlainElementwise(def) &&
                                 isKnown(def, hasMatmul, depth + 1));
           });
  }
  LogicalResult matchAndRewrite(tensor::ExtractSliceOp op,
                                PatternRewriter &rewriter) const override {
    Operation *producer = op.getSource().getDefiningOp();
    bool hasMatmul = false;
    if (!isPlainElementwise(producer) || !allUsersSlice(producer) ||
        !isKnown(producer, hasMatmul) || !hasMatmul)
      return failure();
    ArrayRef<int64_t> shape = op.getType().getShape();
    auto all = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
    rewriter.replaceOp(
        op, resizeElementwise(rewriter, producer, shape, [&](Value operand) {
          return buildSlice(rewriter, op, operand, all);
        }));
    return success();
  }
};

struct SliceOfBroadcast : OpRewritePattern<tensor::ExtractSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ExtractSliceOp op,
                                PatternRewriter &rewriter) const override {
    auto broadcast = op.getSource().getDefiningOp<nn::BroadcastOp>();
    if (!broadcast || !isPlainSlice(op))
      return failure();
    Value x = buildSlice(rewriter, op, broadcast.getX(), broadcast.getDims());
    rewriter.replaceOpWithNewOp<nn::BroadcastOp>(op, op.getType(), x,
                                                 broadcast.getDims());
    return success();
  }
};

/// Moves slices before a merge of other dimensions.
struct SliceOfMerged : OpRewritePattern<tensor::ExtractSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ExtractSliceOp op,
                                PatternRewriter &rewriter) const override {
    auto merge = op.getSource().getDefiningOp<tensor::CollapseShapeOp>();
    if (!merge || !allUsersSlice(merge))
      return failure();
    SmallVector<int64_t> dims;
    for (auto [dim, group] : llvm::enumerate(merge.getReassociationIndices())) {
      bool isWhole =
          op.getStaticSizes()[dim] == merge.getResultType().getDimSize(dim);
      if (!isWhole && group.size() != 1)
        return failure();
      dims.append(group.size(), isWhole ? -1 : int64_t(dim));
    }
    Value x = buildSlice(rewriter, op, merge.getSrc(), dims);
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(
        op, op.getType(), x, merge.getReassociationIndices());
    return success();
  }
};

/// Moves slices before a transpose.
struct SliceOfTranspose : OpRewritePattern<tensor::ExtractSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ExtractSliceOp op,
                                PatternRewriter &rewriter) const override {
    auto transpose = op.getSource().getDefiningOp<nn::TransposeOp>();
    if (!transpose || !allUsersSlice(transpose))
      return failure();
    Value x = buildSlice(rewriter, op, transpose.getX(),
                         invertPermutationVector(transpose.getPermutation()));
    rewriter.replaceOpWithNewOp<nn::TransposeOp>(op, op.getType(), x,
                                                 transpose.getPermutation());
    return success();
  }
};

/// Rewrites slices of a matmul with a weight to matmuls with slices of the
/// weight. The sliced dimension belongs to the parameter itself, or is divided
/// into three or more slices (queries, keys and values of a head). Halves stay
/// together.
struct SlicesOfEinsum : OpRewritePattern<nn::EinsumOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::EinsumOp einsum,
                                PatternRewriter &rewriter) const override {
    if (!einsum.getScales().empty() || einsum->use_empty() ||
        !allUsersSlice(einsum))
      return failure();
    SmallVector<tensor::ExtractSliceOp> slices;
    for (Operation *user : einsum->getUsers())
      slices.push_back(cast<tensor::ExtractSliceOp>(user));
    for (int64_t dim = 0, e = einsum.getType().getRank(); dim < e; ++dim)
      if (!canSlice(einsum, slices, dim))
        return failure();
    for (tensor::ExtractSliceOp slice : slices)
      replace(einsum, slice, rewriter);
    return success();
  }

private:
  /// Offsets and sizes of the slices along a dimension, if the slices only
  /// partition it.
  static std::map<int64_t, int64_t>
  findParts(ArrayRef<tensor::ExtractSliceOp> slices, int64_t dim,
            int64_t size) {
    std::map<int64_t, int64_t> parts;
    for (tensor::ExtractSliceOp slice : slices)
      parts[slice.getStaticOffsets()[dim]] = slice.getStaticSizes()[dim];
    int64_t next = 0;
    for (auto [offset, length] : parts)
      next = offset == next ? next + length : -1;
    return next == size ? parts : std::map<int64_t, int64_t>();
  }

  static bool canSlice(nn::EinsumOp einsum,
                       ArrayRef<tensor::ExtractSliceOp> slices, int64_t dim) {
    int64_t size = einsum.getType().getDimSize(dim);
    if (llvm::all_of(slices, [&](tensor::ExtractSliceOp slice) {
          return slice.getStaticSizes()[dim] == size;
        }))
      return true;
    auto letters = einsum.getLetters();
    char letter = letters.result[dim];
    bool isLeft = letters.lhs.contains(letter);
    Value owner = isLeft ? einsum.getLhs() : einsum.getRhs();
    return !(isLeft && letters.rhs.contains(letter)) && isParameter(owner) &&
           (!owner.getDefiningOp<tensor::ExpandShapeOp>() ||
            findParts(slices, dim, size).size() > 2);
  }

  static void replace(nn::EinsumOp einsum, tensor::ExtractSliceOp op,
                      PatternRewriter &rewriter) {
    rewriter.setInsertionPoint(op);
    auto letters = einsum.getLetters();
    auto operand = [&](Value x, StringRef text) {
      SmallVector<int64_t> dims;
      for (char letter : text) {
        size_t dim = letters.result.find(letter);
        dims.push_back(dim == StringRef::npos ? -1 : int64_t(dim));
      }
      return buildSlice(rewriter, op, x, dims);
    };
    Value left = operand(einsum.getLhs(), letters.lhs);
    Value right = operand(einsum.getRhs(), letters.rhs);
    rewriter.replaceOp(op, nn::EinsumOp::create(rewriter, einsum.getLoc(),
                                                op.getType(), einsum.getSpec(),
                                                left, right));
  }
};

} // namespace

void tessera::populateMoveViews(RewritePatternSet &patterns) {
  patterns
      .add<UnitsAreSplits, SplitOfElementwise, SplitOfMerged, SplitOfBroadcast,
           SplitOfEinsum, EinsumOfMerged, SliceOfElementwise, SliceOfBroadcast,
           SliceOfMerged, SliceOfTranspose, SlicesOfEinsum>(
          patterns.getContext());
}
