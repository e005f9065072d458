//===- ConvertRows.cpp - Norms, softmax, loss, activations to linalg ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowers each op to a few linalg.generic, with statistics in at least f32.
// Later passes group them into kernels.
//
//===----------------------------------------------------------------------===//

#include "Lookup.h"
#include "dialects/NN/NN.h"
#include "tessera/Codegen/RowHelpers.h"
#include "tessera/Linalg/Patterns.h"
#include <cmath>

using namespace mlir;
using namespace tessera;

namespace {

struct ConvertLayerNorm : OpRewritePattern<nn::LayerNormOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::LayerNormOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    Rows r(b, op.getX());
    double inverse = 1.0 / r.size();
    Value sum =
        b.reduce(Combiner::Sum, r.shape, r.row, r.wide, {{op.getX(), r.all}},
                 [&](ValueRange v) { return b.widen(v[0]); });
    Value mean = b.map(r.outer, r.wide, {{sum, r.rowOnly}}, [&](ValueRange v) {
      return arith::MulFOp::create(b, v[0], b.constant(r.wide, inverse));
    });
    Value squares =
        b.reduce(Combiner::Sum, r.shape, r.row, r.wide,
                 {{op.getX(), r.all}, {mean, r.row}}, [&](ValueRange v) {
                   Value d = arith::SubFOp::create(b, b.widen(v[0]), v[1]);
                   return arith::MulFOp::create(b, d, d);
                 });
    Value scale =
        b.map(r.outer, r.wide, {{squares, r.rowOnly}}, [&](ValueRange v) {
          return inverseRoot(b, r, v[0], op.getEps().convertToDouble());
        });
    Value result = b.map(r.shape, r.type.getElementType(),
                         {{op.getX(), r.all},
                          {mean, r.row},
                          {scale, r.row},
                          {op.getGamma(), r.last},
                          {op.getBeta(), r.last}},
                         [&](ValueRange v) {
                           Value y =
                               arith::SubFOp::create(b, b.widen(v[0]), v[1]);
                           y = arith::MulFOp::create(b, y, v[2]);
                           y = arith::MulFOp::create(b, y, b.widen(v[3]));
                           y = arith::AddFOp::create(b, y, b.widen(v[4]));
                           return b.cast(y, r.type.getElementType());
                         });
    SmallVector<Value> results{result};
    if (!op.getStats().empty())
      results.append({mean, scale});
    rewriter.replaceOp(op, results);
    return success();
  }

  /// Builds 1 / sqrt(sum / n + eps).
  static Value inverseRoot(GenericBuilder &b, const Rows &r, Value sum,
                           double eps) {
    Value mean =
        arith::MulFOp::create(b, sum, b.constant(r.wide, 1.0 / r.size()));
    mean = arith::AddFOp::create(b, mean, b.constant(r.wide, eps));
    return arith::DivFOp::create(b, b.constant(r.wide, 1.0),
                                 math::SqrtOp::create(b, mean));
  }
};

struct ConvertRMSNorm : OpRewritePattern<nn::RMSNormOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::RMSNormOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    Rows r(b, op.getX());
    Value squares = b.reduce(Combiner::Sum, r.shape, r.row, r.wide,
                             {{op.getX(), r.all}}, [&](ValueRange v) {
                               Value x = b.widen(v[0]);
                               return arith::MulFOp::create(b, x, x);
                             });
    Value scale =
        b.map(r.outer, r.wide, {{squares, r.rowOnly}}, [&](ValueRange v) {
          return ConvertLayerNorm::inverseRoot(b, r, v[0],
                                               op.getEps().convertToDouble());
        });
    Value result =
        b.map(r.shape, r.type.getElementType(),
              {{op.getX(), r.all}, {scale, r.row}, {op.getGamma(), r.last}},
              [&](ValueRange v) {
                Value y = arith::MulFOp::create(b, b.widen(v[0]), v[1]);
                y = arith::MulFOp::create(b, y, b.widen(v[2]));
                return b.cast(y, r.type.getElementType());
              });
    SmallVector<Value> results{result};
    if (!op.getStats().empty())
      results.push_back(scale);
    rewriter.replaceOp(op, results);
    return success();
  }
};

struct ConvertSoftmax : OpRewritePattern<nn::SoftmaxOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::SoftmaxOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    RankedTensorType type = op.getX().getType();
    ArrayRef<int64_t> shape = type.getShape();
    Type wide = getWideType(type.getElementType());
    AffineMap all = b.identity(type.getRank());
    AffineMap row = b.dropLoop(type.getRank(), op.getDim());
    Value largest =
        b.reduce(Combiner::Max, shape, row, wide, {{op.getX(), all}},
                 [&](ValueRange v) { return b.widen(v[0]); });
    Value exps = b.map(
        shape, wide, {{op.getX(), all}, {largest, row}}, [&](ValueRange v) {
          Value d = arith::SubFOp::create(b, b.widen(v[0]), v[1]);
          return math::ExpOp::create(b, d);
        });
    Value sum = b.reduce(Combiner::Sum, shape, row, wide, {{exps, all}},
                         [](ValueRange v) { return v[0]; });
    Value result = b.map(shape, type.getElementType(),
                         {{exps, all}, {sum, row}}, [&](ValueRange v) {
                           Value y = arith::DivFOp::create(b, v[0], v[1]);
                           return b.cast(y, type.getElementType());
                         });
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// Upstream's softmax has the semantics of nn.softmax.
struct ConvertLinalgSoftmax : OpRewritePattern<linalg::SoftmaxOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::SoftmaxOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getInput().getType();
    if (op->getNumResults() != 1 || op->getResult(0).getType() != type)
      return failure();
    rewriter.replaceOpWithNewOp<nn::SoftmaxOp>(op, type, op.getInput(),
                                               op.getDimension());
    return success();
  }
};

struct ConvertCrossEntropy : OpRewritePattern<nn::CrossEntropyOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::CrossEntropyOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    Value x = op.getLogits();
    Rows r(b, x);
    // Neutral elements let a reduction on the host end before the padding.
    auto ofClass = [&](Value value, double other) {
      return selectTrue(b, r, op.getClasses(), /*offset=*/Value(), value,
                        other);
    };
    Value largest = b.reduce(
        Combiner::Max, r.shape, r.row, r.wide, {{x, r.all}},
        [&](ValueRange v) { return ofClass(b.widen(v[0]), -INFINITY); });
    Value sum = b.reduce(Combiner::Sum, r.shape, r.row, r.wide,
                         {{x, r.all}, {largest, r.row}}, [&](ValueRange v) {
                           Value d =
                               arith::SubFOp::create(b, b.widen(v[0]), v[1]);
                           return ofClass(math::ExpOp::create(b, d), 0.0);
                         });
    Value logSum =
        b.map(r.outer, r.wide, {{sum, r.rowOnly}},
              [&](ValueRange v) { return math::LogOp::create(b, v[0]); });
    auto labelType = op.getLabels().getType().getElementType();
    int64_t classes = static_cast<int64_t>(
        op.getClasses().value_or(r.type.getShape().back()));
    Value result =
        b.map(r.outer, r.wide,
              {{largest, r.rowOnly},
               {logSum, r.rowOnly},
               {op.getLabels(), r.rowOnly}},
              [&](ValueRange v) {
                Value ignored = arith::CmpIOp::create(
                    b, arith::CmpIPredicate::eq, v[2],
                    b.constant(labelType, int64_t(op.getIgnore())));
                Lookup label =
                    lookUp(b, v[2], /*offset=*/Value(), classes, classes);
                SmallVector<Value> position;
                for (int64_t i = 0; i + 1 < r.rank; ++i)
                  position.push_back(b.loop(i));
                position.push_back(label.position);
                Value read = tensor::ExtractOp::create(b, x, position);
                Value picked = b.widen(chooseRead(b, label, read));
                Value below = arith::SubFOp::create(b, picked, v[0]);
                Value loss = arith::SubFOp::create(b, v[1], below);
                return arith::SelectOp::create(b, ignored,
                                               b.constant(r.wide, 0), loss);
              });
    SmallVector<Value> results{result};
    if (!op.getStats().empty())
      results.append({largest, logSum});
    rewriter.replaceOp(op, results);
    return success();
  }
};

struct ConvertGelu : OpRewritePattern<nn::GeluOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::GeluOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    RankedTensorType type = op.getX().getType();
    Value result =
        b.map(type.getShape(), type.getElementType(),
              {{op.getX(), b.identity(type.getRank())}}, [&](ValueRange v) {
                Value x = b.widen(v[0]);
                Value inner =
                    op.getKind() == nn::GeluKind::Tanh
                        ? Value(math::TanhOp::create(b, geluArgument(b, x)))
                        : Value(math::ErfOp::create(
                              b, scaled(b, x, 1 / std::sqrt(2.0))));
                Value y = geluFrom(b, x, inner);
                return b.cast(y, type.getElementType());
              });
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct ConvertSilu : OpRewritePattern<nn::SiluOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::SiluOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    RankedTensorType type = op.getX().getType();
    Value result =
        b.map(type.getShape(), type.getElementType(),
              {{op.getX(), b.identity(type.getRank())}}, [&](ValueRange v) {
                Value x = b.widen(v[0]);
                Value exp = math::ExpOp::create(b, arith::NegFOp::create(b, x));
                Value sum =
                    arith::AddFOp::create(b, exp, b.constant(x.getType(), 1.0));
                return b.cast(arith::DivFOp::create(b, x, sum),
                              type.getElementType());
              });
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct ConvertReduce : OpRewritePattern<nn::ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ReduceOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op.getX().getType());
    auto resultType = cast<RankedTensorType>(op.getResult().getType());
    SmallVector<unsigned> kept;
    for (int64_t i = 0; i < type.getRank(); ++i)
      if (!llvm::is_contained(op.getDims(), i))
        kept.push_back(i);
    Type wide = getWideType(type.getElementType());
    Combiner combiner = op.getKind() == nn::ReduceKind::Sum   ? Combiner::Sum
                        : op.getKind() == nn::ReduceKind::Max ? Combiner::Max
                                                              : Combiner::Min;
    Value result =
        b.reduce(combiner, type.getShape(), b.project(type.getRank(), kept),
                 wide, {{op.getX(), b.identity(type.getRank())}},
                 [&](ValueRange v) { return b.widen(v[0]); });
    if (wide != type.getElementType())
      result = b.map(resultType.getShape(), type.getElementType(),
                     {{result, b.identity(kept.size())}}, [&](ValueRange v) {
                       return b.cast(v[0], type.getElementType());
                     });
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// Computes the best value, then its least position, as in the op's
/// decomposition: two reductions over one row, which stay in one kernel.
struct ConvertArgReduce : OpRewritePattern<nn::ArgReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ArgReduceOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op.getX().getType());
    auto resultType = cast<RankedTensorType>(op.getValue().getType());
    AffineMap all = b.identity(type.getRank());
    AffineMap kept = b.dropLoop(type.getRank(), op.getDim());
    Type wide = getWideType(type.getElementType());
    Type element = op.getIndex().getType().getElementType();
    Combiner combiner =
        op.getKind() == nn::ReduceKind::Max ? Combiner::Max : Combiner::Min;
    Value best =
        b.reduce(combiner, type.getShape(), kept, wide, {{op.getX(), all}},
                 [&](ValueRange v) { return b.widen(v[0]); });
    Value index = b.reduce(
        Combiner::Min, type.getShape(), kept, element,
        {{op.getX(), all}, {best, kept}}, [&](ValueRange v) {
          Value position =
              arith::IndexCastOp::create(b, element, b.loop(op.getDim()));
          Value none =
              arith::ConstantOp::create(b, b.neutral(Combiner::Min, element));
          return arith::SelectOp::create(b, isBest(b, b.widen(v[0]), v[1]),
                                         position, none);
        });
    Value value = best;
    if (wide != type.getElementType())
      value =
          b.map(resultType.getShape(), type.getElementType(),
                {{best, b.identity(resultType.getRank())}}, [&](ValueRange v) {
                  return b.cast(v[0], type.getElementType());
                });
    rewriter.replaceOp(op, {value, index});
    return success();
  }

  static Value isBest(GenericBuilder &b, Value x, Value best) {
    if (!isa<FloatType>(x.getType()))
      return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x, best);
    return arith::OrIOp::create(
        b, arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x, best),
        arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, x, x));
  }
};

struct ConvertBroadcast : OpRewritePattern<nn::BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::BroadcastOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op.getResult().getType());
    SmallVector<unsigned> dims(op.getDims().begin(), op.getDims().end());
    rewriter.replaceOp(op, b.map(type.getShape(), type.getElementType(),
                                 {{op.getX(), b.project(type.getRank(), dims)}},
                                 [](ValueRange v) { return v[0]; }));
    return success();
  }
};

/// Groups each dimension of size 1 with the next larger one, trailing ones with
/// the one before; none if all have size 1.
static SmallVector<ReassociationIndices> groupOnes(ArrayRef<int64_t> shape) {
  SmallVector<ReassociationIndices> groups;
  bool opens = true;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (opens && llvm::any_of(shape.drop_front(dim),
                              [](int64_t rest) { return rest != 1; }))
      groups.emplace_back();
    if (!groups.empty())
      groups.back().push_back(dim);
    opens = size != 1;
  }
  return groups;
}

/// Replaces a transpose that only moves dimensions of size 1, and thus no data,
/// by two reshapes; null for other transposes.
static Value reshapeInstead(nn::TransposeOp op, PatternRewriter &rewriter) {
  RankedTensorType from = op.getX().getType(), to = op.getResult().getType();
  int64_t last = -1;
  SmallVector<int64_t> moved;
  for (int64_t dim : op.getPermutation()) {
    if (from.getDimSize(dim) == 1)
      continue;
    if (dim < last)
      return Value();
    last = dim;
    moved.push_back(from.getDimSize(dim));
  }
  Value flat = op.getX();
  RankedTensorType type = to.clone(moved);
  if (flat.getType() != type)
    flat = tensor::CollapseShapeOp::create(rewriter, op.getLoc(), type, flat,
                                           groupOnes(from.getShape()));
  if (to == type)
    return flat;
  return tensor::ExpandShapeOp::create(rewriter, op.getLoc(), to, flat,
                                       groupOnes(to.getShape()));
}

struct ConvertTranspose : OpRewritePattern<nn::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::TransposeOp op,
                                PatternRewriter &rewriter) const override {
    if (Value value = reshapeInstead(op, rewriter)) {
      rewriter.replaceOp(op, value);
      return success();
    }
    GenericBuilder b(op.getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op.getResult().getType());
    SmallVector<unsigned> loops(type.getRank());
    for (auto [i, dim] : llvm::enumerate(op.getPermutation()))
      loops[dim] = i;
    rewriter.replaceOp(op,
                       b.map(type.getShape(), type.getElementType(),
                             {{op.getX(), b.project(type.getRank(), loops)}},
                             [](ValueRange v) { return v[0]; }));
    return success();
  }
};

} // namespace

void tessera::populateRowPatterns(RewritePatternSet &patterns) {
  patterns
      .add<ConvertLayerNorm, ConvertRMSNorm, ConvertSoftmax,
           ConvertLinalgSoftmax, ConvertCrossEntropy, ConvertGelu, ConvertSilu,
           ConvertReduce, ConvertArgReduce, ConvertBroadcast, ConvertTranspose>(
          patterns.getContext());
}
