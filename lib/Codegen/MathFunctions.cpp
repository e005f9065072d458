//===- MathFunctions.cpp - Branch-free functions of f32 -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM vectorizes loops over these functions. They replace MLIR's polynomials,
// which saturate where a result overflows or underflows, treat subnormals as
// the smallest normal number, and reduce only angles of a few turns. The
// polynomials are from Cephes (Moshier, "Methods and Programs for Mathematical
// Functions", 1989).
//
//===----------------------------------------------------------------------===//

#include "tessera/Codegen/MathFunctions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/APInt.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tessera;
using arith::CmpFPredicate;

namespace {

/// Builds scalar arithmetic; a multiplication and an addition may be
/// contracted.
class Builder : public ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  Value number(double value) {
    return arith::ConstantOp::create(*this, getF32FloatAttr(value));
  }
  Value wide(double value) {
    return arith::ConstantOp::create(*this, getF64FloatAttr(value));
  }
  Value integer(uint32_t value) {
    return arith::ConstantOp::create(
        *this, getIntegerAttr(getI32Type(), int32_t(value)));
  }
  Value add(Value a, Value other) {
    return arith::AddFOp::create(*this, a, other,
                                 arith::FastMathFlags::contract);
  }
  Value mul(Value a, Value other) {
    return arith::MulFOp::create(*this, a, other,
                                 arith::FastMathFlags::contract);
  }
  Value sub(Value a, Value other) {
    return arith::SubFOp::create(*this, a, other,
                                 arith::FastMathFlags::contract);
  }
  Value addInt(Value a, Value other) {
    return arith::AddIOp::create(*this, a, other);
  }
  Value subInt(Value a, Value other) {
    return arith::SubIOp::create(*this, a, other);
  }
  Value bitAnd(Value a, Value other) {
    return arith::AndIOp::create(*this, a, other);
  }
  Value is(CmpFPredicate predicate, Value a, Value other) {
    return arith::CmpFOp::create(*this, predicate, a, other);
  }
  Value isNot0(Value bits) {
    return arith::CmpIOp::create(*this, arith::CmpIPredicate::ne, bits,
                                 integer(0));
  }
  Value select(Value condition, Value a, Value other) {
    return arith::SelectOp::create(*this, condition, a, other);
  }
  Value toBits(Value x) {
    return arith::BitcastOp::create(*this, getI32Type(), x);
  }
  Value fromBits(Value bits) {
    return arith::BitcastOp::create(*this, getF32Type(), bits);
  }
  /// Evaluates a polynomial by Horner's rule, highest power first.
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value sum = number(coefficients.front());
    for (double coefficient : coefficients.drop_front())
      sum = add(mul(sum, x), number(coefficient));
    return sum;
  }
  /// Returns the nearest integer of a number below 2^22, as a float and as
  /// bits. A cast would turn NaN into poison; this returns an arbitrary
  /// integer.
  std::pair<Value, Value> nearest(Value x) {
    constexpr float kShift = 0x1.8p23f;
    Value shifted = add(x, number(kShift));
    Value bits = subInt(toBits(shifted), toBits(number(kShift)));
    return {sub(shifted, number(kShift)), bits};
  }
};

//===----------------------------------------------------------------------===//
// Exponentials
//===----------------------------------------------------------------------===//

/// ln 2 as a sum of two constants. The first has so few bits that its product
/// with an exponent is exact.
constexpr double kLn2High = 0.693359375, kLn2Low = -2.12194440e-4;

/// Returns `y` times 2^n for n from -252 to 254, rounded once. Multiplying by
/// two powers overflows or underflows only if the result does.
Value scaleByPower(Builder &b, Value y, Value n) {
  auto power = [&](Value exponent) {
    Value biased = b.addInt(exponent, b.integer(127));
    return b.fromBits(arith::ShLIOp::create(b, biased, b.integer(23)));
  };
  Value half = arith::ShRSIOp::create(b, n, b.integer(1));
  return b.mul(b.mul(y, power(half)), power(b.subInt(n, half)));
}

/// Clamps `x` to the range outside which the result is 0 or infinite; NaN
/// stays.
Value clamp(Builder &b, Value x, double low, double high) {
  Value isLow = b.is(CmpFPredicate::OLT, x, b.number(low));
  x = b.select(isLow, b.number(low), x);
  Value isHigh = b.is(CmpFPredicate::OGT, x, b.number(high));
  return b.select(isHigh, b.number(high), x);
}

/// Returns e^r for |r| at most ln 2 / 2.
Value exponentialNear0(Builder &b, Value r) {
  Value p =
      b.polynomial(r, {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3,
                       4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1});
  return b.add(b.add(b.mul(p, b.mul(r, r)), r), b.number(1));
}

Value expand(Builder &b, math::ExpOp op) {
  Value x = clamp(b, op.getOperand(), -104, 89);
  auto [n, bits] = b.nearest(b.mul(x, b.number(M_LOG2E)));
  Value r = b.sub(x, b.mul(n, b.number(kLn2High)));
  r = b.sub(r, b.mul(n, b.number(kLn2Low)));
  return scaleByPower(b, exponentialNear0(b, r), bits);
}

Value expand(Builder &b, math::Exp2Op op) {
  Value x = clamp(b, op.getOperand(), -151, 129);
  auto [n, bits] = b.nearest(x);
  Value r = b.mul(b.sub(x, n), b.number(M_LN2));
  return scaleByPower(b, exponentialNear0(b, r), bits);
}

//===----------------------------------------------------------------------===//
// Logarithms
//===----------------------------------------------------------------------===//

/// A number as 2^exponent * (1 + f), f between sqrt(1/2) - 1 and sqrt(2) - 1.
/// `rest` is ln(1 + f) - f.
struct Logarithm {
  Value exponent, f, rest;
};

Logarithm getLogarithm(Builder &b, Value x) {
  constexpr uint32_t kRootOfHalf = 0x3f3504f3;
  Value isDenormal = b.is(CmpFPredicate::OLT, x, b.number(0x1p-126));
  x = b.select(isDenormal, b.mul(x, b.number(0x1p23)), x);
  Value bias = b.select(isDenormal, b.number(-23), b.number(0));
  Value bits = b.subInt(b.toBits(x), b.integer(kRootOfHalf));
  Value exponent = arith::ShRSIOp::create(b, bits, b.integer(23));
  exponent = arith::SIToFPOp::create(b, b.getF32Type(), exponent);
  Value fraction = b.bitAnd(bits, b.integer(0x7fffff));
  Value m = b.fromBits(b.addInt(fraction, b.integer(kRootOfHalf)));
  Value f = b.sub(m, b.number(1));
  Value square = b.mul(f, f);
  Value p =
      b.polynomial(f, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1,
                       -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
                       2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1});
  Value rest = b.sub(b.mul(b.mul(p, f), square), b.mul(square, b.number(0.5)));
  return {b.add(exponent, bias), f, rest};
}

/// Returns the logarithm `y` of `x`, or the result for an `x` that is not a
/// positive finite number.
Value withPoles(Builder &b, Value x, Value y) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  y = b.select(b.is(CmpFPredicate::UGE, x, b.number(kInfinity)), x, y);
  y = b.select(b.is(CmpFPredicate::OLT, x, b.number(0)), b.number(kNaN), y);
  return b.select(b.is(CmpFPredicate::OEQ, x, b.number(0)),
                  b.number(-kInfinity), y);
}

Value expand(Builder &b, math::LogOp op) {
  Logarithm log = getLogarithm(b, op.getOperand());
  Value low = b.add(log.rest, b.mul(log.exponent, b.number(kLn2Low)));
  Value y = b.add(b.add(log.f, low), b.mul(log.exponent, b.number(kLn2High)));
  return withPoles(b, op.getOperand(), y);
}

Value expand(Builder &b, math::Log2Op op) {
  Logarithm log = getLogarithm(b, op.getOperand());
  // Use the factor minus 1, so that most of the sum is exact.
  Value factor = b.number(M_LOG2E - 1);
  Value y = b.add(b.mul(log.rest, factor), b.mul(log.f, factor));
  y = b.add(b.add(b.add(y, log.rest), log.f), log.exponent);
  return withPoles(b, op.getOperand(), y);
}

//===----------------------------------------------------------------------===//
// Angles
//===----------------------------------------------------------------------===//

constexpr StringLiteral kQuarterTurns = "quarter_turns";
/// The number of f32 exponents from 2^0 up, including infinity's.
constexpr int kNumExponents = 129;

/// Returns, for each exponent k, the quarter turns per unit of m modulo 4, for
/// an angle m * 2^k with m from 1 to 2. m is a multiple of 2^-23, so 2^(k - 23)
/// * 2/pi may be taken modulo 4 (Payne and Hanek, "Radian reduction for
/// trigonometric functions", 1983). The first half of the table has the bits
/// down to 2^-27, so that the product with an f32 is exact. The second half has
/// the next 53 bits. The entry of infinity is NaN.
DenseElementsAttr getQuarterTurns(Builder &b) {
  // 2/pi, the binary digits after the point.
  constexpr unsigned kBits = 256, kHighBits = 29, kLowBits = 53;
  llvm::APInt digits(
      kBits, "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561",
      16);
  SmallVector<double> values;
  for (bool isHigh : {true, false}) {
    for (int k = 0; k + 1 < kNumExponents; ++k) {
      // The first digit has the value 2.
      llvm::APInt turns = k < 25 ? digits.lshr(25 - k) : digits.shl(k - 25);
      llvm::APInt high = turns.lshr(kBits - kHighBits);
      llvm::APInt low = turns.shl(kHighBits).lshr(kBits - kLowBits);
      // Scale by 2^23.
      values.push_back(isHigh ? std::ldexp(double(high.getZExtValue()), -4)
                              : std::ldexp(double(low.getZExtValue()), -57));
    }
    values.push_back(std::numeric_limits<double>::quiet_NaN());
  }
  auto type = RankedTensorType::get({int64_t(values.size())}, b.getF64Type());
  return DenseElementsAttr::get(type, ArrayRef<double>(values));
}

/// Returns the table, created once in the module or GPU module that contains
/// `op`.
Value getTable(Builder &b, Operation *op) {
  Operation *symbols = SymbolTable::getNearestSymbolTable(op);
  auto type = MemRefType::get({2 * kNumExponents}, b.getF64Type());
  if (!SymbolTable::lookupSymbolIn(symbols, kQuarterTurns)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&symbols->getRegion(0).front());
    memref::GlobalOp::create(b, kQuarterTurns, b.getStringAttr("private"), type,
                             getQuarterTurns(b), /*constant=*/true,
                             b.getI64IntegerAttr(64));
  }
  return memref::GetGlobalOp::create(b, type, kQuarterTurns);
}

/// Reduces an angle to -pi/4 to pi/4. Also returns the number of quarter turns
/// removed, modulo 4 in its last two bits. Returns NaN for infinity and NaN.
std::pair<Value, Value> reduceAngle(Builder &b, Operation *op, Value x) {
  Value bits = b.toBits(x);
  Value exponent = arith::ShRUIOp::create(
      b, b.bitAnd(bits, b.integer(0x7f800000)), b.integer(23));
  // A number below 1 is its own m.
  Value k = arith::MaxSIOp::create(b, b.subInt(exponent, b.integer(127)),
                                   b.integer(0));
  Value m =
      b.fromBits(b.subInt(bits, arith::ShLIOp::create(b, k, b.integer(23))));
  m = arith::ExtFOp::create(b, b.getF64Type(), m);
  Value table = getTable(b, op);
  auto entry = [&](Value index) -> Value {
    Value at = arith::IndexCastUIOp::create(b, b.getIndexType(), index);
    return memref::LoadOp::create(b, table, at);
  };
  Value turns = b.mul(m, entry(k));
  Value low = b.mul(m, entry(b.addInt(k, b.integer(kNumExponents))));
  Value shift = b.wide(0x1.8p52);
  Value shifted = b.add(b.add(turns, low), shift);
  Value rest = b.add(b.sub(turns, b.sub(shifted, shift)), low);
  Value angle =
      arith::TruncFOp::create(b, b.getF32Type(), b.mul(rest, b.wide(M_PI_2)));
  Value count = arith::TruncIOp::create(
      b, b.getI32Type(),
      arith::BitcastOp::create(b, b.getI64Type(), shifted).getResult());
  return {angle, count};
}

/// Returns the sine of an angle plus `quarters` quarter turns.
Value sine(Builder &b, Value angle, Value quarters) {
  Value square = b.mul(angle, angle);
  Value ofSine = b.polynomial(
      square, {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1});
  ofSine = b.add(b.mul(b.mul(ofSine, square), angle), angle);
  Value ofCosine =
      b.polynomial(square, {2.443315711809948e-5, -1.388731625493765e-3,
                            4.166664568298827e-2, -0.5});
  ofCosine = b.add(b.mul(ofCosine, square), b.number(1));
  Value isOdd = b.isNot0(b.bitAnd(quarters, b.integer(1)));
  Value y = b.toBits(b.select(isOdd, ofCosine, ofSine));
  Value sign =
      arith::ShLIOp::create(b, b.bitAnd(quarters, b.integer(2)), b.integer(30));
  return b.fromBits(arith::XOrIOp::create(b, y, sign));
}

Value expand(Builder &b, math::SinOp op) {
  Value x = op.getOperand();
  auto [angle, quarters] = reduceAngle(b, op, x);
  Value y = sine(b, angle, quarters);
  // Zero keeps its sign.
  Value size = math::AbsFOp::create(b, x);
  Value isSmall = b.is(CmpFPredicate::OLT, size, b.number(0x1p-12));
  return b.select(isSmall, x, y);
}

Value expand(Builder &b, math::CosOp op) {
  auto [angle, quarters] = reduceAngle(b, op, op.getOperand());
  return sine(b, angle, b.addInt(quarters, b.integer(1)));
}

template <typename Op> struct Expand : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    Builder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, expand(b, op));
    return success();
  }
};

struct ExpandIsInf : OpRewritePattern<math::IsInfOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::IsInfOp op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<FloatType>(op.getOperand().getType());
    if (!type)
      return failure();
    Builder b(op.getLoc(), rewriter);
    Value infinity = arith::ConstantOp::create(
        b, FloatAttr::get(type, APFloat::getInf(type.getFloatSemantics())));
    Value size = math::AbsFOp::create(b, op.getOperand());
    rewriter.replaceOp(op, b.is(CmpFPredicate::OEQ, size, infinity));
    return success();
  }
};

} // namespace

void tessera::populateInfinityPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandIsInf>(patterns.getContext());
}

void tessera::populateExponentialPatterns(RewritePatternSet &patterns) {
  patterns.add<Expand<math::ExpOp>, Expand<math::Exp2Op>, Expand<math::LogOp>,
               Expand<math::Log2Op>>(patterns.getContext());
}

void tessera::populateAnglePatterns(RewritePatternSet &patterns) {
  patterns.add<Expand<math::SinOp>, Expand<math::CosOp>>(patterns.getContext());
}

void tessera::keepSignsOfErrorFunctions(Operation *root) {
  root->walk([](math::ErfOp op) {
    ImplicitLocOpBuilder b(op.getLoc(), op->getContext());
    b.setInsertionPointAfter(op);
    auto sign = math::CopySignOp::create(b, op.getResult(), op.getOperand());
    op.getResult().replaceAllUsesExcept(sign.getResult(), sign);
  });
}
