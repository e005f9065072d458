//===- ConvertTables.cpp - Rows by index to library calls -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConvertNN.h"
#include "dialects/NN/NN.h"
#include "dialects/RT/RT.h"
#include "tessera/Codegen/GenericBuilder.h"

using namespace mlir;
using namespace tessera;

namespace {

/// The type of the library's results: f32, bf16 and f64 are of one type, or f32
/// of bf16.
Type getLibraryResult(GenericBuilder &b, Type in, Type out) {
  if (out.isF64() || out.isF32() || (out.isBF16() && in.isBF16()))
    return out;
  return b.getF32Type();
}

/// Casts ids to i32 or i64.
Value castIds(GenericBuilder &b, Value ids) {
  Type type = getElementTypeOrSelf(ids.getType());
  if (type.isInteger(32) || type.isInteger(64))
    return ids;
  return b.castTensor(ids, type.getIntOrFloatBitWidth() < 32 ? b.getI32Type()
                                                             : b.getI64Type());
}

struct ConvertEmbeddingBackward : OpRewritePattern<nn::EmbeddingBackwardOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::EmbeddingBackwardOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op.getResult().getType());
    Type element = type.getElementType();
    Value grad = op.getGrad();
    Type in = cast<RankedTensorType>(grad.getType()).getElementType();
    Type library = getLibraryResult(b, in, element);
    if (!(in == library || (in.isBF16() && library.isF32())))
      grad = b.castTensor(grad, library);
    Value sums = rt::EmbeddingBackwardOp::create(
        b, RankedTensorType::get(type.getShape(), library), grad,
        castIds(b, op.getIds()), op.getOffset(), /*init=*/Value(),
        op.getRowsAttr(), /*replace=*/false);
    rewriter.replaceOp(op, b.castTensor(sums, element));
    return success();
  }
};

struct ConvertScatter : OpRewritePattern<nn::ScatterOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ScatterOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    Type element = getElementTypeOrSelf(op.getType());
    Type library = getLibraryResult(b, element, element);
    Value x = b.castTensor(op.getX(), library);
    Value result = rt::EmbeddingBackwardOp::create(
        b, x.getType(), b.castTensor(op.getUpdates(), library),
        castIds(b, op.getIds()), op.getOffset(), x, op.getRowsAttr(),
        op.getKind() == nn::ScatterKind::Set);
    rewriter.replaceOp(op, b.castTensor(result, element));
    return success();
  }
};

} // namespace

void tessera::populateTablePatterns(RewritePatternSet &patterns) {
  patterns.add<ConvertEmbeddingBackward, ConvertScatter>(patterns.getContext());
}
