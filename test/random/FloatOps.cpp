//===- FloatOps.cpp - Ops on floats ---------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FloatOps.h"
#include <cmath>

using namespace tessera::test;

static bool isNaN(const Number &a) { return a.isKnown() && std::isnan(a.v); }
static bool isFinite(const Number &a) {
  return a.isKnown() && std::isfinite(a.v);
}

//===----------------------------------------------------------------------===//
// Functions of one number
//===----------------------------------------------------------------------===//

/// One row for each function; the template gives each a plain function.
template <long double (*fn)(long double)> struct Unary {
  static constexpr long double kAll = INFINITY;
  static Number monotone(const Number *x, Elem, Elem out) {
    return apply({fn, -kAll, kAll}, x[0], out);
  }
  static Number steps(const Number *x, Elem, Elem out) {
    return apply({fn, -kAll, kAll, 0, true}, x[0], out);
  }
  static Number within1(const Number *x, Elem, Elem out) {
    return apply({fn, -1, 1}, x[0], out);
  }
  static Number from0(const Number *x, Elem, Elem out) {
    return apply({fn, 0, kAll}, x[0], out);
  }
  static Number from1(const Number *x, Elem, Elem out) {
    return apply({fn, 1, kAll}, x[0], out);
  }
  static Number fromMinus1(const Number *x, Elem, Elem out) {
    return apply({fn, -1, kAll}, x[0], out);
  }
  static Number smooth(const Number *x, Elem, Elem out) {
    return apply({fn, -kAll, kAll, 1}, x[0], out);
  }
};

static long double inverseRoot(long double x) {
  return 1 / std::sqrt(std::fabs(x));
}

/// The sign of a zero is unknown, and so is the sign of its inverse root.
static Number rsqrt(const Number *x, Elem, Elem out) {
  if (x[0].isExact() && x[0].v == 0) {
    Number number;
    number.state = Number::NotFinite;
    return number;
  }
  return apply({inverseRoot, 0, INFINITY}, x[0], out);
}

//===----------------------------------------------------------------------===//
// Functions of several
//===----------------------------------------------------------------------===//

/// A function that is smooth and monotone in both arguments near the operands:
/// the largest difference is at a corner.
static Number applyAtCorners(long double (*fn)(long double, long double),
                             const Number &a, const Number &b, Elem elem) {
  long double v = fn(a.v, b.v), error = 0;
  if (a.error > 0 || b.error > 0)
    for (int i = 0; i < 4; ++i) {
      long double x = a.v + (i & 1 ? a.error : -a.error);
      long double y = b.v + (i & 2 ? b.error : -b.error);
      error = std::max(error, fabsl(fn(x, y) - v));
    }
  if (!std::isfinite(v) || !std::isfinite(error))
    return makeUnknown();
  return finish(v, error, fabsl(v) + error, false, elem, 8);
}

static Number power(const Number *x, Elem, Elem out) {
  if (!isFinite(x[0]) || !isFinite(x[1]))
    return makeUnknown();
  bool exact = x[0].isExact() && x[1].isExact();
  if (exact && x[0].v < 0 && x[1].v != std::trunc(x[1].v))
    return makeFloat(NAN);
  if (!(exact && x[0].v != 0) && x[0].v <= x[0].error)
    return makeUnknown();
  return applyAtCorners(powl, x[0], x[1], out);
}

static Number angle(const Number *x, Elem, Elem out) {
  if (isNaN(x[0]) || isNaN(x[1]))
    return makeFloat(NAN);
  // On the branch cut and at the origin the signs of zeros count.
  if (!isFinite(x[0]) || !isFinite(x[1]) ||
      (x[1].v <= x[1].error && std::fabs(x[0].v) <= x[0].error))
    return makeUnknown();
  return applyAtCorners(atan2l, x[0], x[1], out);
}

static Number withSign(const Number *x, Elem, Elem) {
  if (isNaN(x[0]))
    return x[0];
  if (!x[0].isKnown() || !isFinite(x[1]) || std::fabs(x[1].v) <= x[1].error)
    return makeUnknown();
  Number result = magnitude(x[0]);
  return x[1].v < 0 ? negate(result) : result;
}

static Number remainder(const Number *x, Elem, Elem out) {
  if (isNaN(x[0]) || isNaN(x[1]))
    return makeFloat(NAN);
  if (!x[0].isExact() || !x[1].isExact() || !std::isfinite(x[0].v) ||
      !std::isfinite(x[1].v) || x[1].v == 0)
    return makeUnknown();
  return makeFloat(fmodl(x[0].v, x[1].v));
}

static Number fuse(const Number *x, Elem, Elem out) {
  return add(multiply(x[0], x[1], out), x[2], out);
}

//===----------------------------------------------------------------------===//
// Predicates and casts
//===----------------------------------------------------------------------===//

enum Relation { Less = 1, Equal = 2, Greater = 4, Unordered = 8 };

template <int relation>
static Number compareFloats(const Number *x, Elem, Elem) {
  static const int kinds[] = {Less, Equal, Greater, Unordered};
  int order = compare(x[0], x[1]);
  if (order == 3)
    return makeUnknown();
  return makeInt((relation & kinds[order + 1]) != 0, Elem::I1);
}

static Number isNumberNaN(const Number *x, Elem, Elem) {
  return x[0].isKnown() ? makeInt(std::isnan(x[0].v), Elem::I1) : makeUnknown();
}
static Number isNumberInfinite(const Number *x, Elem, Elem) {
  return x[0].isKnown() ? makeInt(std::isinf(x[0].v), Elem::I1) : makeUnknown();
}
static Number isNumberFinite(const Number *x, Elem, Elem) {
  if (x[0].state == Number::Unknown)
    return makeUnknown();
  return makeInt(isFinite(x[0]), Elem::I1);
}

static Number cast(const Number *x, Elem, Elem out) {
  return convert(x[0], out);
}

template <bool isSigned>
static Number toInteger(const Number *x, Elem, Elem out) {
  if (!isFinite(x[0]) || out == Elem::I1)
    return makeUnknown();
  long double low = truncl(x[0].v - x[0].error);
  long double high = truncl(x[0].v + x[0].error);
  int bits = getInfo(out).bits - isSigned;
  if (low != high || high >= ldexpl(1, bits) ||
      low < (isSigned ? -ldexpl(1, bits) : 0))
    return makeUnknown();
  return makeInt(isSigned ? static_cast<int64_t>(low)
                          : static_cast<int64_t>(static_cast<uint64_t>(low)),
                 out);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

using Fn = Number (*)(const Number *, Elem, Elem);

static ScalarOp same(const char *name, int arity, Fn fn,
                     bool combines = false) {
  return {name, Form::Same, true, arity, fn, combines};
}
static ScalarOp predicate(const char *name, int arity, Fn fn) {
  return {name, Form::Predicate, true, arity, fn};
}
static ScalarOp castTo(const char *name, bool toFloat, int width, Fn fn) {
  return {name, Form::Cast, true, 1, fn, false, Guard::None, toFloat, width};
}

static void addArithmetic(std::vector<ScalarOp> &ops) {
  auto list = {
      same(
          "arith.addf", 2,
          [](const Number *x, Elem, Elem e) { return add(x[0], x[1], e); },
          true),
      same("arith.subf", 2,
           [](const Number *x, Elem, Elem e) {
             return subtract(x[0], x[1], e);
           }),
      same(
          "arith.mulf", 2,
          [](const Number *x, Elem, Elem e) { return multiply(x[0], x[1], e); },
          true),
      same("arith.divf", 2,
           [](const Number *x, Elem, Elem e) { return divide(x[0], x[1], e); }),
      same("arith.remf", 2, remainder),
      same("arith.negf", 1,
           [](const Number *x, Elem, Elem) { return negate(x[0]); }),
      same(
          "arith.maximumf", 2,
          [](const Number *x, Elem, Elem) {
            return extremum(x[0], x[1], true);
          },
          true),
      same(
          "arith.minimumf", 2,
          [](const Number *x, Elem, Elem) {
            return extremum(x[0], x[1], false);
          },
          true),
      same(
          "arith.maxnumf", 2,
          [](const Number *x, Elem, Elem) {
            return extremumNumber(x[0], x[1], true);
          },
          true),
      same(
          "arith.minnumf", 2,
          [](const Number *x, Elem, Elem) {
            return extremumNumber(x[0], x[1], false);
          },
          true),
      same("math.absf", 1,
           [](const Number *x, Elem, Elem) { return magnitude(x[0]); }),
      same("math.fma", 3, fuse),
      same("math.powf", 2, power),
      same("math.atan2", 2, angle),
      same("math.copysign", 2, withSign),
  };
  ops.insert(ops.end(), list);
}

static void addFunctions(std::vector<ScalarOp> &ops) {
  auto list = {
      same("math.exp", 1, Unary<expl>::monotone),
      same("math.exp2", 1, Unary<exp2l>::monotone),
      same("math.expm1", 1, Unary<expm1l>::monotone),
      same("math.log", 1, Unary<logl>::from0),
      same("math.log2", 1, Unary<log2l>::from0),
      same("math.log10", 1, Unary<log10l>::from0),
      same("math.log1p", 1, Unary<log1pl>::fromMinus1),
      same("math.sqrt", 1, Unary<sqrtl>::from0),
      same("math.cbrt", 1, Unary<cbrtl>::monotone),
      same("math.rsqrt", 1, rsqrt),
      same("math.tanh", 1, Unary<tanhl>::monotone),
      same("math.sinh", 1, Unary<sinhl>::monotone),
      same("math.cosh", 1, Unary<coshl>::monotone),
      same("math.asinh", 1, Unary<asinhl>::monotone),
      same("math.acosh", 1, Unary<acoshl>::from1),
      same("math.atan", 1, Unary<atanl>::monotone),
      same("math.asin", 1, Unary<asinl>::within1),
      same("math.acos", 1, Unary<acosl>::within1),
      same("math.atanh", 1, Unary<atanhl>::within1),
      same("math.erf", 1, Unary<erfl>::monotone),
      same("math.erfc", 1, Unary<erfcl>::monotone),
      same("math.sin", 1, Unary<sinl>::smooth),
      same("math.cos", 1, Unary<cosl>::smooth),
      same("math.floor", 1, Unary<floorl>::steps),
      same("math.ceil", 1, Unary<ceill>::steps),
      same("math.trunc", 1, Unary<truncl>::steps),
      same("math.round", 1, Unary<roundl>::steps),
      same("math.roundeven", 1, Unary<nearbyintl>::steps),
  };
  ops.insert(ops.end(), list);
}

static void addPredicates(std::vector<ScalarOp> &ops) {
  auto list = {
      predicate("arith.cmpf oeq,", 2, compareFloats<Equal>),
      predicate("arith.cmpf olt,", 2, compareFloats<Less>),
      predicate("arith.cmpf oge,", 2, compareFloats<Equal | Greater>),
      predicate("arith.cmpf ogt,", 2, compareFloats<Greater>),
      predicate("arith.cmpf ole,", 2, compareFloats<Less | Equal>),
      predicate("arith.cmpf one,", 2, compareFloats<Less | Greater>),
      predicate("arith.cmpf ord,", 2, compareFloats<Less | Equal | Greater>),
      predicate("arith.cmpf ueq,", 2, compareFloats<Unordered | Equal>),
      predicate("arith.cmpf ult,", 2, compareFloats<Unordered | Less>),
      predicate("arith.cmpf uge,", 2,
                compareFloats<Unordered | Greater | Equal>),
      predicate("arith.cmpf une,", 2,
                compareFloats<Unordered | Less | Greater>),
      predicate("arith.cmpf uno,", 2, compareFloats<Unordered>),
      predicate("math.isnan", 1, isNumberNaN),
      predicate("math.isinf", 1, isNumberInfinite),
      predicate("math.isfinite", 1, isNumberFinite),
  };
  ops.insert(ops.end(), list);
}

std::vector<ScalarOp> tessera::test::getFloatOps() {
  std::vector<ScalarOp> ops;
  addArithmetic(ops);
  addFunctions(ops);
  addPredicates(ops);
  ops.push_back(castTo("arith.extf", true, 1, cast));
  ops.push_back(castTo("arith.truncf", true, -1, cast));
  ops.push_back(castTo("arith.fptosi", false, 0, toInteger<true>));
  ops.push_back(castTo("arith.fptoui", false, 0, toInteger<false>));
  return ops;
}
