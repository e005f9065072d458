//===- ConvertGradients.cpp - Gradients to linalg -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowers each op to a few linalg.generic, with arithmetic in at least f32.
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/NN.h"
#include "tessera/Codegen/RowHelpers.h"
#include "tessera/Linalg/Patterns.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

namespace {

/// Builds the gradient of a norm: rstd (g - [mean of g] - y mean of (g y)) with
/// g = grad gamma and y = (x - mean) rstd. `mean` is null for a norm that does
/// not subtract it.
template <typename Op>
Value buildNormBackward(GenericBuilder &b, Op op, Value mean) {
  Rows r(b, op.getX());
  double inverse = 1.0 / r.size();
  SmallVector<GenericBuilder::Input> inputs{{op.getGrad(), r.all},
                                            {op.getGamma(), r.last},
                                            {op.getX(), r.all},
                                            {op.getRstd(), r.row}};
  auto slope = [&](ValueRange v) -> Value {
    return arith::MulFOp::create(b, b.widen(v[0]), b.widen(v[1]));
  };
  auto normalized = [&](ValueRange v) -> Value {
    Value x = b.widen(v[2]);
    if (mean)
      x = arith::SubFOp::create(b, x, v[4]);
    return arith::MulFOp::create(b, x, v[3]);
  };
  Value sum;
  if (mean) {
    sum = b.reduce(Combiner::Sum, r.shape, r.row, r.wide,
                   ArrayRef(inputs).take_front(2), slope);
    inputs.push_back({mean, r.row});
  }
  Value product = b.reduce(
      Combiner::Sum, r.shape, r.row, r.wide, inputs, [&](ValueRange v) {
        return arith::MulFOp::create(b, slope(v), normalized(v));
      });
  inputs.push_back({product, r.row});
  if (mean)
    inputs.push_back({sum, r.row});
  return b.map(r.shape, r.type.getElementType(), inputs, [&](ValueRange v) {
    Value y = normalized(v);
    Value part = scaled(b, v[mean ? 5 : 4], inverse);
    Value result =
        arith::SubFOp::create(b, slope(v), arith::MulFOp::create(b, y, part));
    if (mean)
      result = arith::SubFOp::create(b, result, scaled(b, v[6], inverse));
    return b.cast(arith::MulFOp::create(b, result, v[3]),
                  r.type.getElementType());
  });
}

struct ConvertLayerNormBackward : OpRewritePattern<nn::LayerNormBackwardOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::LayerNormBackwardOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, buildNormBackward(b, op, op.getMean()));
    return success();
  }
};

struct ConvertRMSNormBackward : OpRewritePattern<nn::RMSNormBackwardOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::RMSNormBackwardOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, buildNormBackward(b, op, Value()));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Loss and lookups
//===----------------------------------------------------------------------===//

/// True if the innermost loop is at position `id` - `offset`. Compares 32-bit
/// ids as they are: twice as many of them fit in a vector.
Value isHere(GenericBuilder &b, unsigned loop, Value id, Value offset) {
  if (id.getType().isInteger(32))
    return arith::CmpIOp::create(
        b, arith::CmpIPredicate::eq,
        arith::IndexCastOp::create(b, id.getType(), b.position(loop, offset)),
        id);
  return arith::CmpIOp::create(
      b, arith::CmpIPredicate::eq, b.position(loop, offset),
      arith::IndexCastOp::create(b, b.getIndexType(), id));
}

struct ConvertCrossEntropyBackward
    : OpRewritePattern<nn::CrossEntropyBackwardOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::CrossEntropyBackwardOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    Rows r(b, op.getLogits());
    Type labelType = op.getLabels().getType().getElementType();
    Value result = b.map(
        r.shape, r.type.getElementType(),
        {{op.getLogits(), r.all},
         {op.getGrad(), r.row},
         {op.getMax(), r.row},
         {op.getLogSum(), r.row},
         {op.getLabels(), r.row}},
        [&](ValueRange v) {
          Value below = arith::SubFOp::create(b, b.widen(v[0]), v[2]);
          Value share =
              math::ExpOp::create(b, arith::SubFOp::create(b, below, v[3]));
          Value hit = isHere(b, r.rank - 1, v[4], op.getOffset());
          Value less = arith::SubFOp::create(b, share, b.constant(r.wide, 1.0));
          share = arith::SelectOp::create(b, hit, less, share);
          Value ignored = arith::CmpIOp::create(
              b, arith::CmpIPredicate::eq, v[4],
              b.constant(labelType, int64_t(op.getIgnore())));
          Value slope =
              arith::SelectOp::create(b, ignored, b.constant(r.wide, 0), v[1]);
          Value dx = arith::MulFOp::create(b, share, slope);
          dx = selectTrue(b, r, op.getClasses(), op.getOffset(), dx, 0.0);
          return b.cast(dx, r.type.getElementType());
        });
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct ConvertTakeAlongAxisBackward
    : OpRewritePattern<nn::TakeAlongAxisBackwardOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::TakeAlongAxisBackwardOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    Rows r(b, op.getResult());
    Type element = r.type.getElementType();
    auto choose = [&](Value grad, Value index) -> Value {
      Value hit = isHere(b, r.rank - 1, index, op.getOffset());
      return arith::SelectOp::create(b, hit, grad, b.constant(element, 0));
    };
    ArrayRef<int64_t> index = op.getIndex().getType().getShape();
    Value result;
    if (static_cast<int64_t>(index.size()) < r.rank)
      result = b.map(r.shape, element,
                     {{op.getGrad(), r.row}, {op.getIndex(), r.row}},
                     [&](ValueRange v) { return choose(v[0], v[1]); });
    else
      result = b.map(r.shape, element, {}, [&](ValueRange) {
        return addPicks(b, r.rank, op, choose);
      });
    rewriter.replaceOp(op, result);
    return success();
  }

  /// Builds the sum of `choose(grad, index)` over the picks of a row.
  static Value addPicks(GenericBuilder &b, int64_t rank,
                        nn::TakeAlongAxisBackwardOp op,
                        llvm::function_ref<Value(Value, Value)> choose) {
    SmallVector<Value> position;
    for (int64_t i = 0; i + 1 < rank; ++i)
      position.push_back(b.loop(i));
    position.push_back({});
    Value sum = b.constant(op.getType().getElementType(), 0);
    for (int64_t i : llvm::seq(op.getIndex().getType().getShape().back())) {
      position.back() = b.index(i);
      Value grad = tensor::ExtractOp::create(b, op.getGrad(), position);
      Value index = tensor::ExtractOp::create(b, op.getIndex(), position);
      sum = arith::AddFOp::create(b, sum, choose(grad, index));
    }
    return sum;
  }
};

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

/// Builds grad times a derivative at x.
template <typename Op>
Value buildActivationBackward(GenericBuilder &b, Op op,
                              llvm::function_ref<Value(Value)> derivative) {
  auto type = cast<RankedTensorType>(op.getX().getType());
  AffineMap all = b.identity(type.getRank());
  return b.map(type.getShape(), type.getElementType(),
               {{op.getGrad(), all}, {op.getX(), all}}, [&](ValueRange v) {
                 Value slope = derivative(b.widen(v[1]));
                 return b.cast(arith::MulFOp::create(b, b.widen(v[0]), slope),
                               type.getElementType());
               });
}

/// Builds Phi(x) + x phi(x), with the normal distribution and its density.
Value erfGeluSlope(GenericBuilder &b, Value x) {
  Value erf = math::ErfOp::create(b, scaled(b, x, std::sqrt(0.5)));
  Value square = arith::MulFOp::create(b, x, x);
  Value density = scaled(b, math::ExpOp::create(b, scaled(b, square, -0.5)),
                         1 / std::sqrt(2 * M_PI));
  return arith::AddFOp::create(b, halfOfOnePlus(b, erf),
                               arith::MulFOp::create(b, x, density));
}

struct ConvertGeluBackward : OpRewritePattern<nn::GeluBackwardOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::GeluBackwardOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, buildActivationBackward(b, op, [&](Value x) {
                         return op.getKind() == nn::GeluKind::Tanh
                                    ? tanhGeluSlope(b, x)
                                    : erfGeluSlope(b, x);
                       }));
    return success();
  }
};

/// The derivative is s (1 + x (1 - s)) with s = 1 / (1 + exp(-x)).
struct ConvertSiluBackward : OpRewritePattern<nn::SiluBackwardOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::SiluBackwardOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(
        op, buildActivationBackward(b, op, [&](Value x) {
          Value one = b.constant(x.getType(), 1.0);
          Value exp = math::ExpOp::create(b, arith::NegFOp::create(b, x));
          Value s =
              arith::DivFOp::create(b, one, arith::AddFOp::create(b, one, exp));
          Value rest =
              arith::MulFOp::create(b, x, arith::SubFOp::create(b, one, s));
          return arith::MulFOp::create(b, s,
                                       arith::AddFOp::create(b, one, rest));
        }));
    return success();
  }
};

} // namespace

void tessera::populateGradientPatterns(RewritePatternSet &patterns) {
  patterns.add<ConvertLayerNormBackward, ConvertRMSNormBackward,
               ConvertCrossEntropyBackward, ConvertTakeAlongAxisBackward,
               ConvertGeluBackward, ConvertSiluBackward>(patterns.getContext());
}
