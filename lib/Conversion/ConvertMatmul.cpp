//===- ConvertMatmul.cpp - Products and attention to library calls --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConvertNN.h"
#include "GenericBuilder.h"
#include "dialects/NN/NN.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/Linalg/IR/LinalgInterfaces.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "tessera/Conversion/MatmulPlan.h"

using namespace mlir;
using namespace tessera;
using Letters = Einsum::Letters;

namespace {

/// A copy of `value`, whose dimensions are `from`, with dimensions `to`.
Value permute(GenericBuilder &b, Value value, ArrayRef<unsigned> from,
              ArrayRef<unsigned> to) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> old = rt::getRowMajorStrides(type.getShape());
  SmallVector<int64_t> shape, strides;
  for (unsigned letter : to) {
    size_t dim = llvm::find(from, letter) - from.begin();
    shape.push_back(type.getDimSize(dim));
    strides.push_back(old[dim]);
  }
  return rt::CopyOp::create(
      b, RankedTensorType::get(shape, type.getElementType()), value, strides,
      /*base=*/0, Value(), IntegerAttr());
}

/// `value` with elements of `element`.
Value castTensor(GenericBuilder &b, Value value, Type element) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getElementType() == element)
    return value;
  return b.map(type.getShape(), element, {{value, b.identity(type.getRank())}},
               [&](ValueRange v) { return b.cast(v[0], element); });
}

/// Types that the runtime multiplies.
bool isMatmulType(Type operand, Type result) {
  return (operand.isF32() || operand.isBF16() || operand.isF64()) &&
         (operand == result || (operand.isBF16() && result.isF32()));
}

Value buildMatmul(GenericBuilder &b, const Einsum &einsum, Value lhs, Value rhs,
                  RankedTensorType type) {
  Type operand = cast<RankedTensorType>(lhs.getType()).getElementType();
  Type element = type.getElementType();
  if (!isMatmulType(operand, element)) {
    // f16, or f32 to f64: in the wide type.
    Type wide = getWideType(element);
    Value product = buildMatmul(b, einsum, castTensor(b, lhs, wide),
                                castTensor(b, rhs, wide),
                                RankedTensorType::get(type.getShape(), wide));
    return castTensor(b, product, element);
  }
  MatmulPlan plan = planMatmul(einsum);
  if (plan.copied)
    remark::missed(
        b.getLoc(),
        remark::RemarkOpts::name("ProductNeedsCopy").category("conversion"))
        << remark::reason("dimensions of a group do not lie together")
        << remark::metric("CopiedBytes",
                          plan.copied * rt::getElementBytes(operand));
  if (plan.lhsOrder)
    lhs = permute(b, lhs, einsum.lhs, *plan.lhsOrder);
  if (plan.rhsOrder)
    rhs = permute(b, rhs, einsum.rhs, *plan.rhsOrder);
  if (plan.swapped)
    std::swap(lhs, rhs);
  auto layout = rt::MatmulLayoutAttr::get(
      b.getContext(), plan.batch, plan.m, plan.n, plan.k, plan.lda, plan.ldb,
      plan.ldc, plan.strideA, plan.strideB, plan.strideC, plan.transA,
      plan.transB);
  RankedTensorType productType = type;
  if (plan.resultOrder) {
    SmallVector<int64_t> shape;
    for (unsigned letter : *plan.resultOrder)
      shape.push_back(einsum.sizes[letter]);
    productType = RankedTensorType::get(shape, element);
  }
  Value product = rt::MatmulOp::create(b, productType, lhs, rhs, layout);
  if (plan.resultOrder)
    product = permute(b, product, *plan.resultOrder, einsum.result);
  return product;
}

struct ConvertEinsum : OpRewritePattern<nn::EinsumOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::EinsumOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    auto lhs = cast<RankedTensorType>(op.getLhs().getType());
    auto rhs = cast<RankedTensorType>(op.getRhs().getType());
    nn::EinsumOp::Letters spec = op.getLetters();
    SmallVector<char> names;
    Einsum einsum;
    auto number = [&](StringRef text, Letters &letters) {
      for (char c : text) {
        auto *known = llvm::find(names, c);
        letters.push_back(known - names.begin());
        if (known == names.end())
          names.push_back(c);
      }
    };
    number(spec.lhs, einsum.lhs);
    number(spec.rhs, einsum.rhs);
    number(spec.result, einsum.result);
    einsum.sizes.resize(names.size(), 1);
    for (auto [letter, size] : llvm::zip(einsum.lhs, lhs.getShape()))
      einsum.sizes[letter] = size;
    for (auto [letter, size] : llvm::zip(einsum.rhs, rhs.getShape()))
      einsum.sizes[letter] = size;
    auto type = cast<RankedTensorType>(op.getResult().getType());
    if (!isa<FloatType>(lhs.getElementType())) {
      rewriter.replaceOp(op, loops(b, op, einsum, type));
      return success();
    }
    rewriter.replaceOp(op,
                       buildMatmul(b, einsum, op.getLhs(), op.getRhs(), type));
    return success();
  }

  /// Integers: no library has them.
  static Value loops(GenericBuilder &b, nn::EinsumOp op, const Einsum &e,
                     RankedTensorType type) {
    unsigned n = e.sizes.size();
    return b.reduce(
        Combiner::Sum, e.sizes, b.project(n, e.result), type.getElementType(),
        {{op.getLhs(), b.project(n, e.lhs)},
         {op.getRhs(), b.project(n, e.rhs)}},
        [&](ValueRange v) {
          return arith::MulIOp::create(b, b.cast(v[0], type.getElementType()),
                                       b.cast(v[1], type.getElementType()));
        });
  }
};

/// linalg.matmul, linalg.batch_matmul and generics that are products.
struct ConvertContraction
    : OpInterfaceRewritePattern<linalg::ContractionOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(linalg::ContractionOpInterface contraction,
                                PatternRewriter &rewriter) const override {
    auto op = cast<linalg::LinalgOp>(contraction.getOperation());
    auto type = dyn_cast_or_null<RankedTensorType>(
        op->getNumResults() == 1 ? op->getResult(0).getType() : Type());
    if (!type || !isa<FloatType>(type.getElementType()))
      return failure();
    return convert(op, type, rewriter);
  }

  static LogicalResult convert(linalg::LinalgOp op, RankedTensorType type,
                               PatternRewriter &rewriter) {
    Einsum einsum;
    einsum.sizes = op.getStaticLoopRanges();
    auto fill = [&](AffineMap map, Letters &letters) {
      for (AffineExpr expr : map.getResults()) {
        auto dim = dyn_cast<AffineDimExpr>(expr);
        if (!dim)
          return false;
        letters.push_back(dim.getPosition());
      }
      return true;
    };
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    if (maps.size() != 3 || !fill(maps[0], einsum.lhs) ||
        !fill(maps[1], einsum.rhs) || !fill(maps[2], einsum.result) ||
        einsum.check())
      return failure();
    Value lhs = op->getOperand(0), rhs = op->getOperand(1);
    Value init = op->getOperand(2);
    Type operand = cast<RankedTensorType>(lhs.getType()).getElementType();
    if (operand != cast<RankedTensorType>(rhs.getType()).getElementType() ||
        !isa<FloatType>(operand))
      return failure();
    GenericBuilder b(op.getLoc(), rewriter);
    Value product = buildMatmul(b, einsum, lhs, rhs, type);
    if (!isZero(init)) {
      AffineMap all = b.identity(type.getRank());
      product = b.map(
          type.getShape(), type.getElementType(), {{product, all}, {init, all}},
          [&](ValueRange v) { return arith::AddFOp::create(b, v[0], v[1]); });
    }
    rewriter.replaceOp(op, product);
    return success();
  }

  static bool isZero(Value init) {
    if (auto fill = init.getDefiningOp<linalg::FillOp>())
      return matchPattern(fill.getInputs()[0], m_AnyZeroFloat());
    return matchPattern(init, m_AnyZeroFloat());
  }
};

/// A generic whose body is multiply and add.
struct ConvertGenericContraction : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics() || !linalg::isaContractionOpInterface(op))
      return failure();
    auto type = dyn_cast<RankedTensorType>(op.getResult(0).getType());
    // Multiply and add, nothing between.
    if (!type || !isa<FloatType>(type.getElementType()) ||
        op.getBody()->getOperations().size() != 3)
      return failure();
    return ConvertContraction::convert(
        cast<linalg::LinalgOp>(op.getOperation()), type, rewriter);
  }
};

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

struct ConvertAttention : OpRewritePattern<nn::AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::AttentionOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op.getResult().getType());
    Type element = type.getElementType();
    auto keyType = cast<RankedTensorType>(op.getK().getType());
    int64_t keys = keyType.getDimSize(1);
    bool padded = op.getKeySize() &&
                  (op.getKOffset() || int64_t(*op.getKeySize()) < keys);
    Value k = op.getK(), v = op.getV();
    if (element.isF64() || (padded && op.getKOffset())) {
      rewriter.replaceOp(op, decompose(b, op));
      return success();
    }
    if (padded) {
      k = firstKeys(b, k, *op.getKeySize());
      v = firstKeys(b, v, *op.getKeySize());
    }
    SmallVector<Value> offsets;
    if (op.getQOffset() || op.getKOffset())
      for (Value offset : {op.getQOffset(), op.getKOffset()})
        offsets.push_back(offset ? offset : b.index(0));
    Type library = element.isBF16() ? element : b.getF32Type();
    Value result = rt::AttentionOp::create(
        b, RankedTensorType::get(type.getShape(), library),
        castTensor(b, op.getQ(), library), castTensor(b, k, library),
        castTensor(b, v, library), offsets, op.getCausalAttr(),
        op.getScaleAttr());
    rewriter.replaceOp(op, castTensor(b, result, element));
    return success();
  }

  /// The first `size` positions of keys or values [B, T, G, K].
  static Value firstKeys(GenericBuilder &b, Value keys, int64_t size) {
    auto type = cast<RankedTensorType>(keys.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[1] = size;
    return rt::CopyOp::create(
        b, RankedTensorType::get(shape, type.getElementType()), keys,
        rt::getRowMajorStrides(type.getShape()), /*base=*/0, Value(),
        IntegerAttr());
  }

  /// Products and a masked softmax: in f64, which the library does not have,
  /// and where it depends on the device which keys are padding.
  static Value decompose(GenericBuilder &b, nn::AttentionOp op) {
    auto q = cast<RankedTensorType>(op.getQ().getType());
    auto k = cast<RankedTensorType>(op.getK().getType());
    auto type = cast<RankedTensorType>(op.getResult().getType());
    Type wide = getWideType(type.getElementType());
    int64_t B = q.getDimSize(0), S = q.getDimSize(1), G = q.getDimSize(2),
            R = q.getDimSize(3), K = q.getDimSize(4), T = k.getDimSize(1),
            V = type.getDimSize(4);
    // Letters b s g r k t v.
    Einsum scoresOf{
        {0, 1, 2, 3, 4}, {0, 5, 2, 4}, {0, 2, 3, 1, 5}, {B, S, G, R, K, T}};
    Value scores = buildMatmul(b, scoresOf, castTensor(b, op.getQ(), wide),
                               castTensor(b, op.getK(), wide),
                               RankedTensorType::get({B, G, R, S, T}, wide));
    AffineMap all = b.identity(5), row = b.leading(5, 4);
    SmallVector<int64_t> shape{B, G, R, S, T};
    Value masked = b.map(shape, wide, {{scores, all}}, [&](ValueRange v) {
      Value key = b.position(4, op.getKOffset());
      Value seen = arith::ConstantOp::create(b, b.getBoolAttr(true));
      if (op.getKeySize())
        seen = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, key,
                                     b.index(*op.getKeySize()));
      if (op.getCausal())
        seen = arith::AndIOp::create(
            b, seen,
            arith::CmpIOp::create(b, arith::CmpIPredicate::sle, key,
                                  b.position(3, op.getQOffset())));
      Value scaled = arith::MulFOp::create(
          b, v[0], b.constant(wide, op.getScale().convertToDouble()));
      Value hidden =
          arith::ConstantOp::create(b, b.neutral(Combiner::Max, wide));
      return arith::SelectOp::create(b, seen, scaled, hidden);
    });
    Value largest = b.reduce(Combiner::Max, shape, row, wide, {{masked, all}},
                             [](ValueRange v) { return v[0]; });
    Value exps =
        b.map(shape, wide, {{masked, all}, {largest, row}}, [&](ValueRange v) {
          // A row without keys: -inf everywhere gives 0, not NaN.
          Value hidden =
              arith::ConstantOp::create(b, b.neutral(Combiner::Max, wide));
          Value none =
              arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, v[0], hidden);
          Value exp =
              math::ExpOp::create(b, arith::SubFOp::create(b, v[0], v[1]));
          return arith::SelectOp::create(b, none, b.constant(wide, 0), exp);
        });
    Value sum = b.reduce(Combiner::Sum, shape, row, wide, {{exps, all}},
                         [](ValueRange v) { return v[0]; });
    Value weights =
        b.map(shape, wide, {{exps, all}, {sum, row}}, [&](ValueRange v) {
          Value zero = b.constant(wide, 0);
          Value empty =
              arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, v[1], zero);
          Value share = arith::DivFOp::create(b, v[0], v[1]);
          return arith::SelectOp::create(b, empty, zero, share);
        });
    Einsum valuesOf{
        {0, 2, 3, 1, 4}, {0, 4, 2, 5}, {0, 1, 2, 3, 5}, {B, S, G, R, T, V}};
    Value result =
        buildMatmul(b, valuesOf, weights, castTensor(b, op.getV(), wide),
                    RankedTensorType::get(type.getShape(), wide));
    return castTensor(b, result, type.getElementType());
  }
};

} // namespace

void tessera::populateMatmulPatterns(RewritePatternSet &patterns) {
  patterns.add<ConvertEinsum, ConvertContraction, ConvertGenericContraction>(
      patterns.getContext());
}

void tessera::populateAttentionPatterns(RewritePatternSet &patterns) {
  patterns.add<ConvertAttention>(patterns.getContext());
}
