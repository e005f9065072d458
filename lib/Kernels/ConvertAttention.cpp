//===- ConvertAttention.cpp - Attention and its gradients -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f32 and bf16 become library calls; f16 is cast to f32. The library has no
// f64: there attention becomes matmuls and ops on rows of scores. Sinks change
// the result and the stat of an attention without them.
//
//===----------------------------------------------------------------------===//

#include "ConvertNN.h"
#include "dialects/NN/NN.h"
#include "dialects/RT/RT.h"
#include "tessera/Linalg/Patterns.h"

using namespace mlir;
using namespace tessera;

/// Returns both position offsets, or none.
template <typename Op>
static SmallVector<Value> getPositions(GenericBuilder &b, Op op) {
  SmallVector<Value> offsets;
  if (op.getQOffset() || op.getKOffset())
    for (Value offset : {op.getQOffset(), op.getKOffset()})
      offsets.push_back(offset ? offset : b.index(0));
  return offsets;
}

/// Returns the bias in f32 with all dimensions, of size 1 where it has none;
/// null if there is no bias.
template <typename Op> static Value getBias(GenericBuilder &b, Op op) {
  if (!op.getBias())
    return Value();
  Value bias = b.castTensor(op.getBias(), b.getF32Type());
  auto type = cast<RankedTensorType>(bias.getType());
  SmallVector<int64_t> shape(5, 1);
  SmallVector<ReassociationIndices> groups(type.getRank());
  unsigned number = 0;
  for (int64_t dim = 0; dim < 5; ++dim) {
    groups[number].push_back(dim);
    if ((*op.getBiasDims())[number] != dim)
      continue;
    shape[dim] = type.getDimSize(number++);
  }
  if (type.getRank() == 5)
    return bias;
  return tensor::ExpandShapeOp::create(b, type.clone(shape), bias, groups);
}

/// Returns the type of the library call for this element type.
static Type getLibraryType(GenericBuilder &b, Type element) {
  return element.isBF16() ? element : b.getF32Type();
}

/// Returns the type that the call writes for a result: f32 stays f32.
static Type getResultType(GenericBuilder &b, Value result, Type library) {
  auto type = cast<RankedTensorType>(result.getType());
  return type.clone(type.getElementType().isF32() ? b.getF32Type() : library);
}

namespace {

struct SeparateSinks : OpRewritePattern<nn::AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::AttentionOp op,
                                PatternRewriter &rewriter) const override {
    return success(bool(nn::separateSinks(rewriter, op)));
  }
};

struct ConvertAttention : OpRewritePattern<nn::AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::AttentionOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getSinks())
      return failure();
    GenericBuilder b(op.getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op.getResult().getType());
    Type element = type.getElementType();
    if (element.isF64()) {
      rewriter.replaceOp(op, buildAttention(b, op, buildMatmul));
      return success();
    }
    Type library = getLibraryType(b, getElementTypeOrSelf(op.getQ().getType()));
    auto call = rt::AttentionOp::create(
        b, getResultType(b, op.getResult(), library), op.getStats().getTypes(),
        b.castTensor(op.getQ(), library), b.castTensor(op.getK(), library),
        b.castTensor(op.getV(), library), getPositions(b, op), op.getStarts(),
        getBias(b, op), op.getCausalAttr(), op.getWindowAttr(),
        op.getScaleAttr(), op.getSoftcapAttr(), op.getKeySizeAttr());
    SmallVector<Value> results(call->getResults());
    results[0] = b.castTensor(results[0], element);
    rewriter.replaceOp(op, results);
    return success();
  }
};

struct ConvertAttentionBackward : OpRewritePattern<nn::AttentionBackwardOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::AttentionBackwardOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    Type element = cast<RankedTensorType>(op.getQ().getType()).getElementType();
    if (element.isF64()) {
      rewriter.replaceOp(op, buildAttentionBackward(b, op, buildMatmul));
      return success();
    }
    Type library = getLibraryType(b, element);
    SmallVector<Value> operands;
    for (Value value :
         {op.getGrad(), op.getQ(), op.getK(), op.getV(), op.getOut()})
      operands.push_back(b.castTensor(value, library));
    auto call = rt::AttentionBackwardOp::create(
        b, getResultType(b, op.getDq(), library),
        getResultType(b, op.getDk(), library),
        getResultType(b, op.getDv(), library), operands[0], operands[1],
        operands[2], operands[3], operands[4], op.getLogsumexp(),
        getPositions(b, op), op.getStarts(), getBias(b, op), op.getCausalAttr(),
        op.getWindowAttr(), op.getScaleAttr(), op.getSoftcapAttr(),
        op.getKeySizeAttr());
    SmallVector<Value> results;
    for (auto [value, result] :
         llvm::zip_equal(call->getResults(), op->getResults()))
      results.push_back(b.castTensor(value, getElementTypeOrSelf(result)));
    rewriter.replaceOp(op, results);
    return success();
  }
};

} // namespace

void tessera::populateAttentionPatterns(RewritePatternSet &patterns) {
  patterns.add<SeparateSinks, ConvertAttention, ConvertAttentionBackward>(
      patterns.getContext());
}
