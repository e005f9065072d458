//===- IntegerOps.cpp - Ops on integers -----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IntegerOps.h"
#include <algorithm>

using namespace tessera::test;

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

static uint64_t bitsOf(const Number &x) { return static_cast<uint64_t>(x.i); }

enum class Round { ToZero, Up, Down };

/// Unknown if the division is not defined.
template <Round round, bool isRemainder>
static Number divideSigned(const Number *x, Elem elem, Elem) {
  __int128 a = toSigned(x[0].i, elem), b = toSigned(x[1].i, elem);
  if (b == 0)
    return makeUnknown();
  __int128 quotient = a / b, rest = a % b;
  if (round == Round::Up && rest && (rest < 0) == (b < 0))
    ++quotient;
  if (round == Round::Down && rest && (rest < 0) != (b < 0))
    --quotient;
  Number result =
      makeInt(static_cast<int64_t>(isRemainder ? rest : quotient), elem);
  bool overflows = toSigned(result.i, elem) != (isRemainder ? rest : quotient);
  // The quotient of the smallest number and -1 overflows.
  if (overflows || (b == -1 && a == -((__int128)1 << (getInfo(elem).bits - 1))))
    return makeUnknown();
  return result;
}

template <Round round, bool isRemainder>
static Number divideUnsigned(const Number *x, Elem elem, Elem) {
  uint64_t a = toUnsigned(x[0].i, elem), b = toUnsigned(x[1].i, elem);
  if (b == 0)
    return makeUnknown();
  if (isRemainder)
    return makeInt(a % b, elem);
  return makeInt(a / b + (round == Round::Up && a % b), elem);
}

template <bool isMax, bool isSigned>
static Number extremum(const Number *x, Elem elem, Elem) {
  bool less = isSigned ? toSigned(x[0].i, elem) < toSigned(x[1].i, elem)
                       : toUnsigned(x[0].i, elem) < toUnsigned(x[1].i, elem);
  return less == isMax ? x[1] : x[0];
}

static Number shiftLeft(const Number *x, Elem elem, Elem) {
  uint64_t by = toUnsigned(x[1].i, elem);
  if (by >= static_cast<uint64_t>(getInfo(elem).bits))
    return makeUnknown();
  return makeInt(bitsOf(x[0]) << by, elem);
}

template <bool isSigned>
static Number shiftRight(const Number *x, Elem elem, Elem) {
  uint64_t by = toUnsigned(x[1].i, elem);
  if (by >= static_cast<uint64_t>(getInfo(elem).bits))
    return makeUnknown();
  return makeInt(isSigned ? x[0].i >> by : toUnsigned(x[0].i, elem) >> by,
                 elem);
}

static Number raise(const Number *x, Elem elem, Elem) {
  if (x[1].i < 0)
    return makeUnknown();
  uint64_t result = 1;
  for (int64_t n = 0; n < x[1].i; ++n)
    result *= bitsOf(x[0]);
  return makeInt(result, elem);
}

template <int kind> static Number countBits(const Number *x, Elem elem, Elem) {
  uint64_t bits = toUnsigned(x[0].i, elem);
  int width = getInfo(elem).bits, count = 0;
  if (kind == 0) {
    for (int i = 0; i < width; ++i)
      count += bits >> i & 1;
  } else {
    for (int i = 0; i < width; ++i, ++count)
      if (bits >> (kind == 1 ? width - 1 - i : i) & 1)
        break;
  }
  return makeInt(count, elem);
}

//===----------------------------------------------------------------------===//
// Predicates and casts
//===----------------------------------------------------------------------===//

template <bool isSigned, bool less, bool equal, bool greater>
static Number compareIntegers(const Number *x, Elem elem, Elem) {
  __int128 a = isSigned ? (__int128)toSigned(x[0].i, elem)
                        : (__int128)toUnsigned(x[0].i, elem);
  __int128 b = isSigned ? (__int128)toSigned(x[1].i, elem)
                        : (__int128)toUnsigned(x[1].i, elem);
  return makeInt(a < b ? less : a == b ? equal : greater, Elem::I1);
}

static Number toFloat(long double value, Elem out) {
  Number number = makeFloat(value);
  return finish(value, 0, number.mass, number.integral, out);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

using Fn = Number (*)(const Number *, Elem, Elem);

static ScalarOp same(const char *name, Fn fn, bool combines = false) {
  return {name, Form::Same, false, 2, fn, combines};
}
static ScalarOp guarded(const char *name, Fn fn, Guard guard) {
  return {name, Form::Same, false, 2, fn, false, guard};
}
static ScalarOp unary(const char *name, Fn fn) {
  return {name, Form::Same, false, 1, fn};
}
static ScalarOp predicate(const char *name, Fn fn) {
  return {name, Form::Predicate, false, 2, fn};
}
static ScalarOp castTo(const char *name, bool isFloat, int width, Fn fn) {
  return {name, Form::Cast, false, 1, fn, false, Guard::None, isFloat, width};
}

static const std::vector<ScalarOp> kArithmetic = {
    same(
        "arith.addi",
        [](const Number *x, Elem e, Elem) {
          return makeInt(bitsOf(x[0]) + bitsOf(x[1]), e);
        },
        true),
    same("arith.subi",
         [](const Number *x, Elem e, Elem) {
           return makeInt(bitsOf(x[0]) - bitsOf(x[1]), e);
         }),
    same(
        "arith.muli",
        [](const Number *x, Elem e, Elem) {
          return makeInt(bitsOf(x[0]) * bitsOf(x[1]), e);
        },
        true),
    same(
        "arith.andi",
        [](const Number *x, Elem e, Elem) {
          return makeInt(x[0].i & x[1].i, e);
        },
        true),
    same(
        "arith.ori",
        [](const Number *x, Elem e, Elem) {
          return makeInt(x[0].i | x[1].i, e);
        },
        true),
    same(
        "arith.xori",
        [](const Number *x, Elem e, Elem) {
          return makeInt(x[0].i ^ x[1].i, e);
        },
        true),
    same("arith.maxsi", extremum<true, true>, true),
    same("arith.maxui", extremum<true, false>, true),
    same("arith.minsi", extremum<false, true>, true),
    same("arith.minui", extremum<false, false>, true),
    guarded("arith.divsi", divideSigned<Round::ToZero, false>, Guard::Divisor),
    guarded("arith.ceildivsi", divideSigned<Round::Up, false>, Guard::Divisor),
    guarded("arith.floordivsi", divideSigned<Round::Down, false>,
            Guard::Divisor),
    guarded("arith.remsi", divideSigned<Round::ToZero, true>, Guard::Divisor),
    guarded("arith.divui", divideUnsigned<Round::ToZero, false>,
            Guard::Divisor),
    guarded("arith.ceildivui", divideUnsigned<Round::Up, false>,
            Guard::Divisor),
    guarded("arith.remui", divideUnsigned<Round::ToZero, true>, Guard::Divisor),
    guarded("arith.shli", shiftLeft, Guard::Shift),
    guarded("arith.shrui", shiftRight<false>, Guard::Shift),
    guarded("arith.shrsi", shiftRight<true>, Guard::Shift),
    guarded("math.ipowi", raise, Guard::Exponent),
    unary("math.absi",
          [](const Number *x, Elem e, Elem) {
            return makeInt(x[0].i < 0 ? 0 - bitsOf(x[0]) : x[0].i, e);
          }),
    unary("math.ctpop", countBits<0>),
    unary("math.ctlz", countBits<1>),
    unary("math.cttz", countBits<2>),
};

static const std::vector<ScalarOp> kOthers = {
    predicate("arith.cmpi eq,", compareIntegers<true, false, true, false>),
    predicate("arith.cmpi ne,", compareIntegers<true, true, false, true>),
    predicate("arith.cmpi slt,", compareIntegers<true, true, false, false>),
    predicate("arith.cmpi sge,", compareIntegers<true, false, true, true>),
    predicate("arith.cmpi ult,", compareIntegers<false, true, false, false>),
    predicate("arith.cmpi ugt,", compareIntegers<false, false, false, true>),
    predicate("arith.cmpi ule,", compareIntegers<false, true, true, false>),
    castTo("arith.extsi", false, 1,
           [](const Number *x, Elem in, Elem out) {
             return makeInt(toSigned(x[0].i, in), out);
           }),
    castTo("arith.extui", false, 1,
           [](const Number *x, Elem in, Elem out) {
             return makeInt(toUnsigned(x[0].i, in), out);
           }),
    castTo(
        "arith.trunci", false, -1,
        [](const Number *x, Elem, Elem out) { return makeInt(x[0].i, out); }),
    castTo("arith.sitofp", true, 0,
           [](const Number *x, Elem in, Elem out) {
             return toFloat(toSigned(x[0].i, in), out);
           }),
    castTo("arith.uitofp", true, 0,
           [](const Number *x, Elem in, Elem out) {
             return toFloat(toUnsigned(x[0].i, in), out);
           }),
};

std::vector<ScalarOp> tessera::test::getIntegerOps() {
  std::vector<ScalarOp> ops = kArithmetic;
  ops.insert(ops.end(), kOthers.begin(), kOthers.end());
  return ops;
}
