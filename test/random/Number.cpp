//===- Number.cpp - What an element may be --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Number.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

using namespace tessera::test;

const ElemInfo &tessera::test::getInfo(Elem elem) {
  static const ElemInfo table[] = {
      {"f64", true, 53, -1022, 1023}, {"f32", true, 24, -126, 127},
      {"f16", true, 11, -14, 15},     {"bf16", true, 8, -126, 127},
      {"i1", false, 1, 0, 0},         {"i8", false, 8, 0, 0},
      {"i16", false, 16, 0, 0},       {"i32", false, 32, 0, 0},
      {"i64", false, 64, 0, 0},       {"index", false, 64, 0, 0}};
  return table[static_cast<int>(elem)];
}

//===----------------------------------------------------------------------===//
// Making numbers
//===----------------------------------------------------------------------===//

Number tessera::test::makeFloat(long double value) {
  Number number;
  number.v = value;
  number.mass = std::isfinite(value) ? std::fabs(value) : 0;
  number.integral = std::isfinite(value) && value == std::trunc(value);
  return number;
}

Number tessera::test::makeInt(int64_t value, Elem elem) {
  Number number;
  number.i = wrapTo(value, elem);
  return number;
}

Number tessera::test::makeUnknown() {
  Number number;
  number.state = Number::Unknown;
  return number;
}

int64_t tessera::test::wrapTo(uint64_t value, Elem elem) {
  int bits = getInfo(elem).bits;
  if (bits == 64)
    return static_cast<int64_t>(value);
  if (bits == 1)
    return value & 1;
  return static_cast<int64_t>(value << (64 - bits)) >> (64 - bits);
}

uint64_t tessera::test::toUnsigned(int64_t value, Elem elem) {
  int bits = getInfo(elem).bits;
  return bits == 64 ? value : value & ((uint64_t(1) << bits) - 1);
}

int64_t tessera::test::toSigned(int64_t value, Elem elem) {
  return elem == Elem::I1 ? -(value & 1) : value;
}

long double tessera::test::getLargest(Elem elem) {
  const ElemInfo &info = getInfo(elem);
  return ldexpl(2 - ldexpl(1, 1 - info.bits), info.maxExponent);
}

long double tessera::test::roundTo(long double value, Elem elem) {
  const ElemInfo &info = getInfo(elem);
  if (!std::isfinite(value) || value == 0)
    return value;
  int exponent = std::max(ilogbl(value), info.minExponent);
  long double unit = ldexpl(1, exponent - info.bits + 1);
  long double rounded = nearbyintl(value / unit) * unit;
  return std::fabs(rounded) > getLargest(elem) ? copysignl(INFINITY, value)
                                               : rounded;
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

static Number makeNotFinite() {
  Number number;
  number.state = Number::NotFinite;
  return number;
}

static bool isNaN(const Number &a) { return a.isKnown() && std::isnan(a.v); }
static bool isInfinite(const Number &a) {
  return a.isKnown() && std::isinf(a.v);
}
static bool isFinite(const Number &a) {
  return a.isKnown() && std::isfinite(a.v);
}
/// True if the number is finite and not 0, for any error within its bound.
static bool isNonZero(const Number &a) {
  return isFinite(a) && std::fabs(a.v) > a.error;
}
/// The largest possible magnitude.
static double reach(const Number &a) { return std::fabs(a.v) + a.error; }

/// Half the distance of subnormal numbers, the error of rounding one.
static double getLeast(Elem elem) {
  const ElemInfo &info = getInfo(elem);
  return std::max(std::ldexp(1.0, info.minExponent - info.bits),
                  std::numeric_limits<double>::denorm_min());
}

Number tessera::test::finish(long double v, double error, double mass,
                             bool integral, Elem elem, double roundings) {
  const ElemInfo &info = getInfo(elem);
  Number number;
  number.v = v;
  number.mass = mass;
  if (std::isnan(v))
    return number;
  if (!(mass + error < getLargest(elem)))
    return std::isinf(v) ? makeNotFinite() : makeUnknown();
  if (std::isinf(v))
    return number;
  number.error = error;
  number.integral = integral;
  if (integral && error == 0 && mass <= std::ldexp(1.0, info.bits))
    return number;
  number.integral = false;
  number.error += roundings *
                  (std::ldexp(mass + error, -info.bits) + getLeast(elem)) *
                  1.0001;
  return number;
}

/// Computes the result if an operand is not a known finite number, for ops that
/// propagate NaN; returns false if both operands are.
static bool isSpecial(const Number &a, const Number &b, Number &result) {
  if (isNaN(a) || isNaN(b)) {
    result = makeFloat(NAN);
    return true;
  }
  if (a.state == Number::Unknown || b.state == Number::Unknown) {
    result = makeUnknown();
    return true;
  }
  return false;
}

Number tessera::test::add(const Number &a, const Number &b, Elem elem) {
  Number special;
  if (isSpecial(a, b, special))
    return special;
  if (!a.isKnown() || !b.isKnown())
    return makeNotFinite();
  return finish(a.v + b.v, a.error + b.error, a.mass + b.mass,
                a.integral && b.integral, elem);
}

Number tessera::test::subtract(const Number &a, const Number &b, Elem elem) {
  return add(a, negate(b), elem);
}

Number tessera::test::multiply(const Number &a, const Number &b, Elem elem) {
  Number special;
  if (isSpecial(a, b, special))
    return special;
  if (!isFinite(a) || !isFinite(b)) {
    bool zero = (isInfinite(a) && b.isExact() && b.v == 0) ||
                (isInfinite(b) && a.isExact() && a.v == 0);
    return zero ? makeFloat(NAN) : makeNotFinite();
  }
  double error =
      std::fabs(a.v) * b.error + std::fabs(b.v) * a.error + a.error * b.error;
  // Either operand may be partial, not both.
  double mass = std::max(a.mass * reach(b), b.mass * reach(a));
  return finish(a.v * b.v, error, mass, a.integral && b.integral, elem);
}

Number tessera::test::divide(const Number &a, const Number &b, Elem elem) {
  Number special;
  if (isSpecial(a, b, special))
    return special;
  if (!a.isKnown() || !b.isKnown())
    return makeUnknown();
  if (isInfinite(b))
    return isInfinite(a) ? makeFloat(NAN) : makeFloat(0);
  if (!isNonZero(b)) {
    if (!b.isExact())
      return makeUnknown();
    return a.isExact() && a.v == 0 ? makeFloat(NAN) : makeNotFinite();
  }
  if (isInfinite(a))
    return makeNotFinite();
  double least = std::fabs(b.v) - b.error;
  long double v = a.v / b.v;
  double error = (a.error + std::fabs(v) * b.error) / least;
  return finish(v, error, a.mass / least, false, elem);
}

Number tessera::test::negate(const Number &a) {
  Number result = a;
  result.v = -a.v;
  return result;
}

Number tessera::test::magnitude(const Number &a) {
  if (a.state == Number::NotFinite)
    return a;
  Number result = a;
  result.v = std::fabs(a.v);
  if (isFinite(a))
    result.mass = reach(a);
  return result;
}

Number tessera::test::extremum(const Number &a, const Number &b, bool isMax) {
  Number special;
  if (isSpecial(a, b, special))
    return special;
  if (!a.isKnown() || !b.isKnown())
    return makeUnknown();
  bool first = isMax ? a.v > b.v : a.v < b.v;
  Number result = first ? a : b;
  const Number &other = first ? b : a;
  if (!isFinite(result))
    return result;
  // A number that is larger by far keeps its own bound.
  bool apart = std::fabs(a.v - b.v) > a.error + b.error;
  if (!apart) {
    result.error = std::max(a.error, b.error);
    result.integral &= other.integral;
  }
  result.mass = reach(result);
  return result;
}

Number tessera::test::extremumNumber(const Number &a, const Number &b,
                                     bool isMax) {
  if (isNaN(a))
    return b;
  if (isNaN(b))
    return a;
  if (!a.isKnown() || !b.isKnown())
    return makeUnknown();
  return extremum(a, b, isMax);
}

Number tessera::test::convert(const Number &a, Elem to) {
  if (!isFinite(a))
    return a;
  return finish(a.v, a.error, a.mass, a.integral, to);
}

Number tessera::test::loosenSum(const Number &sum, int64_t terms, Elem elem) {
  if (!isFinite(sum) || sum.error == 0)
    return sum;
  return finish(sum.v, sum.error, sum.mass, sum.integral, elem,
                terms + kPartialRoundings);
}

void PartialProduct::multiply(const Number &factor) {
  if (isFinite(factor))
    largest *= std::max<long double>(reach(factor), 1);
}

Number PartialProduct::loosen(const Number &product, int64_t factors,
                              Elem elem) const {
  if (!isFinite(product))
    return product;
  double roundings = factors + kPartialRoundings;
  // A partial product that is subnormal loses digits, and the remaining factors
  // multiply the loss.
  double lost =
      product.error == 0 ? 0 : roundings * getLeast(elem) * double(largest);
  if (!(largest + lost < getLargest(elem)))
    return makeUnknown();
  Number result = loosenSum(product, factors, elem);
  result.error += lost;
  return result;
}

Number tessera::test::apply(const Function &function, const Number &a,
                            Elem elem) {
  if (isNaN(a))
    return a;
  if (!a.isKnown())
    return makeUnknown();
  long double low = a.v - a.error, high = a.v + a.error;
  if (isInfinite(a))
    low = high = a.v;
  if (high < function.low || low > function.high)
    return makeFloat(NAN);
  if (a.error > 0 && (low < function.low || high > function.high))
    return makeUnknown();
  long double v = function.fn(a.v);
  if (a.error == 0 && !std::isfinite(v))
    return std::isnan(v) ? makeFloat(NAN) : makeFloat(v);
  long double error =
      std::max(fabsl(function.fn(low) - v), fabsl(function.fn(high) - v));
  error = std::max<long double>(error, function.slope * a.error);
  if (!std::isfinite(v) || !std::isfinite(error))
    return makeUnknown();
  if (function.exact && error == 0)
    return makeFloat(v);
  // Approximations with an error of a few units in the last place are correct.
  return finish(v, error, std::fabs(v) + error, false, elem, 8);
}

int tessera::test::compare(const Number &a, const Number &b) {
  if (isNaN(a) || isNaN(b))
    return 2;
  if (!a.isKnown() || !b.isKnown())
    return 3;
  if (a.v == b.v)
    return (isInfinite(a) || (a.error == 0 && b.error == 0)) ? 0 : 3;
  if (isFinite(a) && isFinite(b) && fabsl(a.v - b.v) <= a.error + b.error)
    return 3;
  return a.v < b.v ? -1 : 1;
}

std::string tessera::test::printLiteral(const Number &number, Elem elem) {
  char text[64];
  const ElemInfo &info = getInfo(elem);
  if (elem == Elem::I1)
    return number.i ? "true" : "false";
  if (!info.isFloat)
    return std::to_string(number.i);
  if (std::isfinite(number.v)) {
    snprintf(text, sizeof(text), "%.17e", static_cast<double>(number.v));
    return text;
  }
  // All bits of the exponent, and the first digit for a NaN.
  int exponentBits = 1;
  while ((1 << (exponentBits - 1)) <= info.maxExponent)
    ++exponentBits;
  uint64_t bits = (uint64_t(1) << exponentBits) - 1;
  if (std::signbit(number.v))
    bits |= uint64_t(1) << exponentBits;
  bits = bits << (info.bits - 1);
  if (std::isnan(number.v))
    bits |= uint64_t(1) << (info.bits - 2);
  snprintf(text, sizeof(text), "0x%0*llX", (exponentBits + info.bits) / 4,
           static_cast<unsigned long long>(bits));
  return text;
}
