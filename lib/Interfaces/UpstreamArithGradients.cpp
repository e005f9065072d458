//===- UpstreamArithGradients.cpp - Gradients of arith and math -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For a function of one operand, gives its derivative, computed in at least
// f32. The operand's gradient is the derivative times the result's gradient.
// Piecewise constant functions have no gradient. At a kink (the maximum of two
// equal numbers, |0|) the gradient is a subgradient, which each op documents.
//
//===----------------------------------------------------------------------===//

#include "UpstreamGradients.h"
#include "UpstreamModels.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;

namespace {

using Builder = ElementwiseBuilder;

/// An op whose result does not change where it is differentiable.
struct ZeroModel
    : DifferentiableOpInterface::ExternalModel<ZeroModel, arith::CmpFOp> {
  Operation *saveForBackward(Operation *op, OpBuilder &) const { return op; }
  LogicalResult buildGradients(Operation *, GradientBuilder &) const {
    return success();
  }
};

/// Builds and sets the gradient of an operand, if it is needed.
void set(GradientBuilder &g, unsigned operand,
         llvm::function_ref<Value()> build) {
  if (g.isNeeded(operand))
    g.setOperand(operand, build());
}

//===----------------------------------------------------------------------===//
// arith
//===----------------------------------------------------------------------===//

void addGradients(arith::AddFOp, GradientBuilder &g, Builder &) {
  for (unsigned i = 0; i < 2; ++i)
    set(g, i, [&] { return g.ofResult(0); });
}

void subGradients(arith::SubFOp, GradientBuilder &g, Builder &b) {
  set(g, 0, [&] { return g.ofResult(0); });
  set(g, 1, [&] { return b.neg(g.ofResult(0)); });
}

void mulGradients(arith::MulFOp op, GradientBuilder &g, Builder &b) {
  set(g, 0, [&] { return b.mul(g.ofResult(0), op.getRhs()); });
  set(g, 1, [&] { return b.mul(op.getLhs(), g.ofResult(0)); });
}

void divGradients(arith::DivFOp op, GradientBuilder &g, Builder &b) {
  set(g, 0, [&] { return b.div(g.ofResult(0), op.getRhs()); });
  set(g, 1, [&] {
    Value grad = b.widen(g.ofResult(0)), y = b.widen(op.getResult());
    return b.neg(b.div(b.mul(grad, y), b.widen(op.getRhs())));
  });
}

void negGradients(arith::NegFOp, GradientBuilder &g, Builder &b) {
  set(g, 0, [&] { return b.neg(g.ofResult(0)); });
}

/// The collector of gradients casts the type.
template <typename Op> void castGradients(Op, GradientBuilder &g, Builder &) {
  set(g, 0, [&] { return g.ofResult(0); });
}

/// Gives the gradient to the operand that is the result, and half of it to each
/// of two equal ones, as in a reduction.
template <typename Op, arith::CmpFPredicate isBeyond>
void extremumGradients(Op op, GradientBuilder &g, Builder &b) {
  using arith::CmpFPredicate;
  Value lhs = b.compare(isBeyond, op.getLhs(), op.getRhs());
  Value equal = b.compare(CmpFPredicate::OEQ, op.getLhs(), op.getRhs());
  Value grad = g.ofResult(0), zero = b.splat(grad, 0.0);
  Value half = b.mul(grad, b.splat(grad, 0.5));
  set(g, 0, [&] { return b.select(lhs, grad, b.select(equal, half, zero)); });
  set(g, 1, [&] { return b.select(lhs, zero, b.select(equal, half, grad)); });
}

/// Differentiates x - trunc(x / y) y.
void remGradients(arith::RemFOp op, GradientBuilder &g, Builder &b) {
  set(g, 0, [&] { return g.ofResult(0); });
  set(g, 1, [&] {
    Value ratio = b.div(b.widen(op.getLhs()), b.widen(op.getRhs()));
    Value turns = b.make<math::TruncOp>(ratio);
    return b.neg(b.mul(b.widen(g.ofResult(0)), turns));
  });
}

void selectGradients(arith::SelectOp op, GradientBuilder &g, Builder &b) {
  Value grad = g.ofResult(0), zero = b.splat(grad, 0.0);
  set(g, 1, [&] { return b.select(op.getCondition(), grad, zero); });
  set(g, 2, [&] { return b.select(op.getCondition(), zero, grad); });
}

//===----------------------------------------------------------------------===//
// math: functions of one operand
//===----------------------------------------------------------------------===//

/// Builds the derivative of a function at x, where its value is y.
using Derivative = Value (*)(Builder &b, Value x, Value y);

template <typename Op, Derivative derivative>
void unaryGradients(Op op, GradientBuilder &g, Builder &b) {
  Value x = b.widen(op.getOperand()), y = b.widen(op.getResult());
  Value grad = b.mul(b.widen(g.ofResult(0)), derivative(b, x, y));
  g.setOperand(0, grad);
}

Value scaled(Builder &b, Value v, double factor) {
  return b.mul(v, b.splat(v, factor));
}
Value inverse(Builder &b, Value v) { return b.div(b.splat(v, 1.0), v); }
/// Builds 1 + factor v^2.
Value onePlusSquare(Builder &b, Value v, double factor) {
  return b.add(b.splat(v, 1.0), scaled(b, b.mul(v, v), factor));
}

Value dExp(Builder &, Value, Value y) { return y; }
Value dExp2(Builder &b, Value, Value y) {
  return scaled(b, y, llvm::numbers::ln2);
}
Value dExpM1(Builder &b, Value, Value y) { return b.add(y, b.splat(y, 1.0)); }
Value dLog(Builder &b, Value x, Value) { return inverse(b, x); }
Value dLog2(Builder &b, Value x, Value) {
  return inverse(b, scaled(b, x, llvm::numbers::ln2));
}
Value dLog10(Builder &b, Value x, Value) {
  return inverse(b, scaled(b, x, llvm::numbers::ln10));
}
Value dLog1p(Builder &b, Value x, Value) {
  return inverse(b, b.add(x, b.splat(x, 1.0)));
}
Value dSqrt(Builder &b, Value, Value y) {
  return inverse(b, scaled(b, y, 2.0));
}
Value dRsqrt(Builder &b, Value x, Value y) {
  return scaled(b, b.div(y, x), -0.5);
}
Value dCbrt(Builder &b, Value, Value y) {
  return inverse(b, scaled(b, b.mul(y, y), 3.0));
}
Value dTanh(Builder &b, Value, Value y) { return onePlusSquare(b, y, -1.0); }
Value dErf(Builder &b, Value x, Value) {
  return scaled(b, b.exp(b.neg(b.mul(x, x))), 2.0 * llvm::numbers::inv_sqrtpi);
}
Value dSin(Builder &b, Value x, Value) { return b.make<math::CosOp>(x); }
Value dCos(Builder &b, Value x, Value) { return b.neg(b.make<math::SinOp>(x)); }
Value dTan(Builder &b, Value, Value y) { return onePlusSquare(b, y, 1.0); }
Value dSinh(Builder &b, Value x, Value) { return b.make<math::CoshOp>(x); }
Value dCosh(Builder &b, Value x, Value) { return b.make<math::SinhOp>(x); }
Value dAtan(Builder &b, Value x, Value) {
  return inverse(b, onePlusSquare(b, x, 1.0));
}
/// The sign of x; 0 at 0.
Value dAbs(Builder &b, Value x, Value) {
  Value zero = b.splat(x, 0.0), one = b.splat(x, 1.0);
  Value sign = b.make<math::CopySignOp>(one, x);
  return b.select(b.compare(arith::CmpFPredicate::OEQ, x, zero), zero, sign);
}

//===----------------------------------------------------------------------===//
// math: functions of several operands
//===----------------------------------------------------------------------===//

void fmaGradients(math::FmaOp op, GradientBuilder &g, Builder &b) {
  set(g, 0, [&] { return b.mul(g.ofResult(0), op.getB()); });
  set(g, 1, [&] { return b.mul(g.ofResult(0), op.getA()); });
  set(g, 2, [&] { return g.ofResult(0); });
}

/// The gradient of y = atan2(a, c) is (c, -a) / (a^2 + c^2).
void atan2Gradients(math::Atan2Op op, GradientBuilder &g, Builder &b) {
  Value a = b.widen(op.getLhs()), c = b.widen(op.getRhs());
  Value squares = b.add(b.mul(a, a), b.mul(c, c));
  Value grad = b.div(b.widen(g.ofResult(0)), squares);
  set(g, 0, [&] { return b.mul(grad, c); });
  set(g, 1, [&] { return b.neg(b.mul(grad, a)); });
}

/// The gradient of a^c is c a^(c - 1), 0 if c is 0; and a^c log(a), 0 if a is
/// 0.
void powGradients(math::PowFOp op, GradientBuilder &g, Builder &b) {
  Value a = b.widen(op.getLhs()), c = b.widen(op.getRhs());
  Value grad = b.widen(g.ofResult(0)), zero = b.splat(a, 0.0);
  auto whereNot = [&](Value v, Value result) {
    Value isZero = b.compare(arith::CmpFPredicate::OEQ, v, zero);
    return b.select(isZero, zero, result);
  };
  set(g, 0, [&] {
    Value less = b.make<math::PowFOp>(a, b.sub(c, b.splat(c, 1.0)));
    return b.mul(grad, whereNot(c, b.mul(c, less)));
  });
  set(g, 1, [&] {
    Value log = b.make<math::LogOp>(a);
    return b.mul(grad, whereNot(a, b.mul(b.widen(op.getResult()), log)));
  });
}

/// The gradient of a^n with an integer n is n a^(n - 1), 0 if n is 0.
void fpowiGradients(math::FPowIOp op, GradientBuilder &g, Builder &b) {
  set(g, 0, [&] {
    Value a = b.widen(op.getLhs()), n = op.getRhs();
    Value less = b.make<arith::SubIOp>(n, b.splat(n, 1));
    Value power = b.make<math::FPowIOp>(a, less);
    Value factor = b.make<arith::SIToFPOp>(a.getType(), n);
    Value isZero =
        b.make<arith::CmpIOp>(arith::CmpIPredicate::eq, n, b.splat(n, 0));
    Value slope = b.select(isZero, b.splat(a, 0.0), b.mul(factor, power));
    return b.mul(b.widen(g.ofResult(0)), slope);
  });
}

/// The gradient of |a| with the sign of c is the sign of a times the sign of c;
/// c has none.
void copySignGradients(math::CopySignOp op, GradientBuilder &g, Builder &b) {
  set(g, 0, [&] {
    Value a = op.getLhs(), one = b.splat(a, 1.0);
    Value signs = b.mul(b.make<math::CopySignOp>(one, a),
                        b.make<math::CopySignOp>(one, op.getRhs()));
    return b.mul(g.ofResult(0), signs);
  });
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

template <typename Op, Derivative derivative>
void attachUnary(MLIRContext *context) {
  attachGradients<Op, unaryGradients<Op, derivative>>(context);
}
void attachArith(MLIRContext *c, arith::ArithDialect *) {
  using namespace arith;
  attachGradients<AddFOp, addGradients>(c);
  attachGradients<SubFOp, subGradients>(c);
  attachGradients<MulFOp, mulGradients>(c);
  attachGradients<DivFOp, divGradients>(c);
  attachGradients<NegFOp, negGradients>(c);
  attachGradients<RemFOp, remGradients>(c);
  attachGradients<SelectOp, selectGradients>(c);
  attachGradients<ExtFOp, castGradients<ExtFOp>>(c);
  attachGradients<TruncFOp, castGradients<TruncFOp>>(c);
  constexpr CmpFPredicate greater = CmpFPredicate::OGT;
  constexpr CmpFPredicate less = CmpFPredicate::OLT;
  attachGradients<MaximumFOp, extremumGradients<MaximumFOp, greater>>(c);
  attachGradients<MaxNumFOp, extremumGradients<MaxNumFOp, greater>>(c);
  attachGradients<MinimumFOp, extremumGradients<MinimumFOp, less>>(c);
  attachGradients<MinNumFOp, extremumGradients<MinNumFOp, less>>(c);
  attachToAll<ZeroModel, CmpFOp, FPToSIOp, FPToUIOp>(c);
}

void attachMath(MLIRContext *c, math::MathDialect *) {
  using namespace math;
  attachUnary<ExpOp, dExp>(c);
  attachUnary<Exp2Op, dExp2>(c);
  attachUnary<ExpM1Op, dExpM1>(c);
  attachUnary<LogOp, dLog>(c);
  attachUnary<Log2Op, dLog2>(c);
  attachUnary<Log10Op, dLog10>(c);
  attachUnary<Log1pOp, dLog1p>(c);
  attachUnary<SqrtOp, dSqrt>(c);
  attachUnary<RsqrtOp, dRsqrt>(c);
  attachUnary<CbrtOp, dCbrt>(c);
  attachUnary<TanhOp, dTanh>(c);
  attachUnary<ErfOp, dErf>(c);
  attachUnary<SinOp, dSin>(c);
  attachUnary<CosOp, dCos>(c);
  attachUnary<TanOp, dTan>(c);
  attachUnary<SinhOp, dSinh>(c);
  attachUnary<CoshOp, dCosh>(c);
  attachUnary<AtanOp, dAtan>(c);
  attachUnary<AbsFOp, dAbs>(c);
  attachGradients<FmaOp, fmaGradients>(c);
  attachGradients<Atan2Op, atan2Gradients>(c);
  attachGradients<PowFOp, powGradients>(c);
  attachGradients<FPowIOp, fpowiGradients>(c);
  attachGradients<CopySignOp, copySignGradients>(c);
  attachToAll<ZeroModel, FloorOp, CeilOp, RoundOp, RoundEvenOp, TruncOp,
              IsNaNOp, IsInfOp, IsFiniteOp>(c);
}

} // namespace

void tessera::registerArithGradients(DialectRegistry &registry) {
  registry.addExtension(attachArith);
  registry.addExtension(attachMath);
}
