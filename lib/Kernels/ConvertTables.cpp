//===- ConvertTables.cpp - Gradients of tables to library calls -----------===//
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

struct ConvertEmbeddingBackward : OpRewritePattern<nn::EmbeddingBackwardOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::EmbeddingBackwardOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op.getResult().getType());
    Type element = type.getElementType();
    Value grad = op.getGrad(), ids = op.getIds();
    Type in = cast<RankedTensorType>(grad.getType()).getElementType();
    // The library supports f32, bf16 and f64, with the result in the same type,
    // and bf16 to f32.
    Type library = getLibraryResult(b, in, element);
    if (!(in == library || (in.isBF16() && library.isF32())))
      grad = b.castTensor(grad, library);
    Type idType = op.getIds().getType().getElementType();
    if (!idType.isInteger(32) && !idType.isInteger(64))
      ids = b.castTensor(ids, idType.getIntOrFloatBitWidth() < 32
                                  ? b.getI32Type()
                                  : b.getI64Type());
    Value sums = rt::EmbeddingBackwardOp::create(
        b, RankedTensorType::get(type.getShape(), library), grad, ids,
        op.getOffset(), /*init=*/Value(), op.getRowsAttr());
    rewriter.replaceOp(op, b.castTensor(sums, element));
    return success();
  }

  static Type getLibraryResult(GenericBuilder &b, Type in, Type out) {
    if (out.isF64() || out.isF32() || (out.isBF16() && in.isBF16()))
      return out;
    return b.getF32Type();
  }
};

} // namespace

void tessera::populateTablePatterns(RewritePatternSet &patterns) {
  patterns.add<ConvertEmbeddingBackward>(patterns.getContext());
}
