//===- ConvertQuantized.cpp - Quantization to 8 bits and its matmuls ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A scale is a power of two, so scaling is exact, and a matmul in f8 equals a
// matmul of the same numbers in bf16.
//
//===----------------------------------------------------------------------===//

#include "ConvertNN.h"
#include "dialects/NN/NN.h"
#include "dialects/RT/RT.h"
#include "mlir/IR/Remarks.h"
#include "tessera/Codegen/GenericBuilder.h"
#include <limits>

using namespace mlir;
using namespace tessera;

namespace {

/// Computes amax -> the power-of-two factor of the elements, and its inverse.
struct ConvertQuantize : OpRewritePattern<nn::QuantizeOp> {
  using OpRewritePattern::OpRewritePattern;

  static SmallVector<Value> buildFactors(GenericBuilder &b, Value amax,
                                         double largest) {
    Type f32 = b.getF32Type(), i32 = b.getI32Type();
    auto number = [&](double value) { return b.constant(f32, value); };
    auto isBelow = [&](Value x, double bound) {
      return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x,
                                   number(bound));
    };
    Value factor = arith::DivFOp::create(b, number(largest), amax);
    factor = arith::MinimumFOp::create(b, factor, number(0x1p126));
    // Clear the fraction: round down to a power of two.
    Value bits = arith::BitcastOp::create(b, i32, factor);
    bits = arith::AndIOp::create(b, bits, b.constant(i32, 0x7f800000));
    factor = arith::BitcastOp::create(b, f32, bits);
    factor =
        arith::SelectOp::create(b, isBelow(amax, 0x1p-126), number(1), factor);
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    factor = arith::SelectOp::create(b, isBelow(amax, infinity), factor,
                                     number(none));
    return {factor, arith::DivFOp::create(b, number(1), factor)};
  }

  LogicalResult matchAndRewrite(nn::QuantizeOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op.getResult().getType());
    auto element = cast<FloatType>(type.getElementType());
    double largest =
        APFloat::getLargest(element.getFloatSemantics()).convertToDouble();
    Type f32 = b.getF32Type();
    SmallVector<Value> factors = b.mapMany(
        {}, {f32, f32}, {{op.getAmax(), b.identity(0)}}, [&](ValueRange v) {
          return buildFactors(b, b.cast(v[0], f32), largest);
        });
    AffineMap all = b.identity(type.getRank());
    Value result =
        b.map(type.getShape(), element,
              {{op.getX(), all}, {factors[0], b.leading(type.getRank(), 0)}},
              [&](ValueRange v) {
                Value x = b.widen(v[0]);
                auto number = [&](double value) {
                  return b.constant(x.getType(), value);
                };
                x = arith::MulFOp::create(b, x, b.cast(v[1], x.getType()));
                x = arith::MaximumFOp::create(b, x, number(-largest));
                x = arith::MinimumFOp::create(b, x, number(largest));
                return b.cast(b.cast(x, f32), element);
              });
    rewriter.replaceOp(op, {result, factors[1]});
    return success();
  }
};

/// Converts matmuls in f8.
struct ConvertScaledEinsum : OpRewritePattern<nn::EinsumOp> {
  ConvertScaledEinsum(MLIRContext *context, bool inLibrary)
      : OpRewritePattern(context), inLibrary(inLibrary) {}

  LogicalResult matchAndRewrite(nn::EinsumOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getScales().empty())
      return failure();
    GenericBuilder b(op.getLoc(), rewriter);
    Einsum einsum = getEinsum(op);
    bool isDevice = rt::getTarget(op) != rt::Target::Host;
    if (!inLibrary || hasNoReuse(einsum) || (isDevice && !fits(b, einsum))) {
      Value matmul = nn::EinsumOp::create(b, op.getType(), op.getSpec(),
                                          widen(b, op, 0), widen(b, op, 1));
      rewriter.replaceOp(op, matmul);
      return success();
    }
    auto type = cast<RankedTensorType>(op.getResult().getType());
    Type element = type.getElementType();
    if (!element.isF32() && !element.isBF16())
      type = type.clone(b.getF32Type());
    PreparedMatmul prepared =
        prepareMatmul(b, einsum, op.getLhs(), op.getRhs(), type);
    Value matmul = buildScaledMatmul(b, prepared, op.getScales(), isDevice);
    matmul = finishMatmul(b, einsum, prepared, matmul);
    rewriter.replaceOp(op, b.castTensor(matmul, element));
    return success();
  }

private:
  /// True if cuBLASLt multiplies these sizes in 8 bits.
  static bool fits(GenericBuilder &b, const Einsum &einsum) {
    MatmulPlan plan = planMatmul(einsum);
    if (plan.m % 16 == 0 && plan.n % 16 == 0 && plan.k % 16 == 0)
      return true;
    remark::missed(
        b.getLoc(),
        remark::RemarkOpts::name("MatmulInBF16").category("conversion"))
        << remark::reason("sizes of matmuls in 8 bits are multiples of 16")
        << remark::metric("M", plan.m) << remark::metric("N", plan.n)
        << remark::metric("K", plan.k);
    return false;
  }

  /// Returns an operand times its scale, in bf16.
  static Value widen(GenericBuilder &b, nn::EinsumOp op, unsigned operand) {
    Value tensor = op->getOperand(operand), scale = op.getScales()[operand];
    auto type = cast<RankedTensorType>(tensor.getType());
    return b.map(type.getShape(), b.getBF16Type(),
                 {{tensor, b.identity(type.getRank())},
                  {scale, b.leading(type.getRank(), 0)}},
                 [&](ValueRange v) {
                   Value x = arith::MulFOp::create(b, b.widen(v[0]), v[1]);
                   return b.cast(x, b.getBF16Type());
                 });
  }

  /// Returns an equal copy of another matmul before the insertion point, so
  /// that an operand of several layers is transposed once.
  static Value findCopy(GenericBuilder &b, Value matrix, RankedTensorType type,
                        ArrayRef<int64_t> strides) {
    for (Operation *user : matrix.getUsers()) {
      auto copy = dyn_cast<rt::CopyOp>(user);
      if (!copy || copy->getBlock() != b.getInsertionBlock() ||
          copy.getType() != type || copy.getStrides() != strides ||
          copy.getBase() != 0 || copy.getStart())
        continue;
      Operation *point = &*b.getInsertionPoint();
      if (!copy->isBeforeInBlock(point))
        copy->moveBefore(point);
      return copy;
    }
    return Value();
  }

  /// Copies a column-major matrix, stored as [second, first], to row-major.
  static Value transpose(GenericBuilder &b, Value matrix, int64_t batch,
                         int64_t first, int64_t second, int64_t &ld,
                         int64_t &stride) {
    if (stride == 0)
      batch = 1;
    auto type = cast<RankedTensorType>(matrix.getType())
                    .clone(ArrayRef<int64_t>{batch, first, second});
    int64_t strides[] = {stride, 1, ld};
    ld = second;
    stride = stride == 0 ? 0 : first * second;
    if (Value copy = findCopy(b, matrix, type, strides))
      return copy;
    remark::missed(
        b.getLoc(),
        remark::RemarkOpts::name("MatmulNeedsTranspose").category("conversion"))
        << remark::reason("a GPU multiplies in 8 bits along contiguous rows")
        << remark::metric("CopiedBytes", batch * first * second);
    return rt::CopyOp::create(b, type, matrix, strides, /*base=*/0, Value(),
                              IntegerAttr());
  }

  static Value buildScaledMatmul(GenericBuilder &b, PreparedMatmul &prepared,
                                 ValueRange scales, bool isDevice) {
    MatmulPlan &p = prepared.plan;
    if (isDevice && p.transA) {
      prepared.a =
          transpose(b, prepared.a, p.batch, p.m, p.k, p.lda, p.strideA);
      p.transA = false;
    }
    if (isDevice && !p.transB) {
      prepared.b =
          transpose(b, prepared.b, p.batch, p.n, p.k, p.ldb, p.strideB);
      p.transB = true;
    }
    auto layout = rt::MatmulLayoutAttr::get(
        b.getContext(), p.batch, p.m, p.n, p.k, p.lda, p.ldb, p.ldc, p.strideA,
        p.strideB, p.strideC, p.transA, p.transB);
    return rt::ScaledMatmulOp::create(b, prepared.type, prepared.a, prepared.b,
                                      scales[p.swapped], scales[!p.swapped],
                                      /*init=*/Value(), layout);
  }

  bool inLibrary;
};

} // namespace

void tessera::populateQuantizedPatterns(RewritePatternSet &patterns,
                                        bool inLibrary) {
  patterns.add<ConvertQuantize>(patterns.getContext());
  patterns.add<ConvertScaledEinsum>(patterns.getContext(), inLibrary);
}
