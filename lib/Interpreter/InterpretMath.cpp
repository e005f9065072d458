//===- InterpretMath.cpp - math on scalars and tensors --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions are computed in double, and the interpretation rounds the results.
//
//===----------------------------------------------------------------------===//

#include "Interpretation.h"
#include <cmath>

using namespace mlir;
using namespace tessera::interp;

/// Wraps a function of one double as a scalar handler.
template <double (*fn)(double)>
static Cell unary(const ScalarOp &, const Cell *x) {
  return floatCell(fn(x[0].f));
}
template <double (*fn)(double, double)>
static Cell binary(const ScalarOp &, const Cell *x) {
  return floatCell(fn(x[0].f, x[1].f));
}

static double rsqrt(double x) { return 1 / std::sqrt(x); }

/// Computes x^n by squaring, with wrapping. A negative exponent gives 1/x^-n,
/// which is 0 unless x is 1, -1 or 0.
static Cell integerPower(const ScalarOp &, const Cell *x) {
  int64_t base = x[0].i, exponent = x[1].i;
  if (exponent < 0) {
    if (base == 0) // A division by zero.
      return intCell(-1);
    if (base == 1 || base == -1)
      return intCell(exponent % 2 ? base : 1);
    return intCell(0);
  }
  uint64_t result = 1, square = base;
  for (; exponent; exponent >>= 1, square *= square)
    if (exponent & 1)
      result *= square;
  return intCell(static_cast<int64_t>(result));
}

static int64_t countLeadingZeros(const ScalarOp &op, uint64_t bits) {
  return llvm::countl_zero(bits) - (64 - static_cast<int>(op.in.getWidth()));
}

static void addInteger(Registry &r) {
  r.addScalar("math.ipowi", integerPower);
  r.addScalar("math.absi", [](const ScalarOp &, const Cell *x) {
    return intCell(x[0].i < 0 ? static_cast<int64_t>(0 - uint64_t(x[0].i))
                              : x[0].i);
  });
  r.addScalar("math.ctlz", [](const ScalarOp &op, const Cell *x) {
    return intCell(countLeadingZeros(op, op.in.toUnsigned(x[0].i)));
  });
  r.addScalar("math.cttz", [](const ScalarOp &op, const Cell *x) {
    uint64_t bits = op.in.toUnsigned(x[0].i);
    return intCell(bits ? llvm::countr_zero(bits) : op.in.getWidth());
  });
  r.addScalar("math.ctpop", [](const ScalarOp &op, const Cell *x) {
    return intCell(llvm::popcount(op.in.toUnsigned(x[0].i)));
  });
}

static void addPredicates(Registry &r) {
  r.addScalar("math.isnan", [](const ScalarOp &, const Cell *x) {
    return intCell(std::isnan(x[0].f));
  });
  r.addScalar("math.isinf", [](const ScalarOp &, const Cell *x) {
    return intCell(std::isinf(x[0].f));
  });
  r.addScalar("math.isfinite", [](const ScalarOp &, const Cell *x) {
    return intCell(std::isfinite(x[0].f));
  });
}

void tessera::interp::addMathHandlers(Registry &r) {
  addInteger(r);
  addPredicates(r);
  r.addScalar("math.absf", unary<std::fabs>);
  r.addScalar("math.acos", unary<std::acos>);
  r.addScalar("math.acosh", unary<std::acosh>);
  r.addScalar("math.asin", unary<std::asin>);
  r.addScalar("math.asinh", unary<std::asinh>);
  r.addScalar("math.atan", unary<std::atan>);
  r.addScalar("math.atanh", unary<std::atanh>);
  r.addScalar("math.cbrt", unary<std::cbrt>);
  r.addScalar("math.ceil", unary<std::ceil>);
  r.addScalar("math.cos", unary<std::cos>);
  r.addScalar("math.cosh", unary<std::cosh>);
  r.addScalar("math.erf", unary<std::erf>);
  r.addScalar("math.erfc", unary<std::erfc>);
  r.addScalar("math.exp", unary<std::exp>);
  r.addScalar("math.exp2", unary<std::exp2>);
  r.addScalar("math.expm1", unary<std::expm1>);
  r.addScalar("math.floor", unary<std::floor>);
  r.addScalar("math.log", unary<std::log>);
  r.addScalar("math.log10", unary<std::log10>);
  r.addScalar("math.log1p", unary<std::log1p>);
  r.addScalar("math.log2", unary<std::log2>);
  r.addScalar("math.round", unary<std::round>);
  r.addScalar("math.roundeven", unary<std::nearbyint>);
  r.addScalar("math.rsqrt", unary<rsqrt>);
  r.addScalar("math.sin", unary<std::sin>);
  r.addScalar("math.sinh", unary<std::sinh>);
  r.addScalar("math.sqrt", unary<std::sqrt>);
  r.addScalar("math.tan", unary<std::tan>);
  r.addScalar("math.tanh", unary<std::tanh>);
  r.addScalar("math.trunc", unary<std::trunc>);
  r.addScalar("math.atan2", binary<std::atan2>);
  r.addScalar("math.copysign", binary<std::copysign>);
  r.addScalar("math.powf", binary<std::pow>);
  r.addScalar("math.fpowi", [](const ScalarOp &, const Cell *x) {
    return floatCell(std::pow(x[0].f, static_cast<double>(x[1].i)));
  });
  r.addScalar("math.fma", [](const ScalarOp &, const Cell *x) {
    return floatCell(std::fma(x[0].f, x[1].f, x[2].f));
  });
  r.addScalar("math.clampf", [](const ScalarOp &, const Cell *x) {
    return floatCell(std::fmin(std::fmax(x[0].f, x[1].f), x[2].f));
  });
}
