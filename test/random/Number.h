//===- Number.h - What an element may be ------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arithmetic of the judge. A float is computed in long double, never
// rounded, together with a bound on how far a right implementation may be from
// it. The bound counts roundings: each op rounds once to its element type, a
// value may be in parts whose sum it is (partial values), and each part is
// rounded; so the magnitudes of the parts are followed too. What no right
// implementation is bound to (a comparison of two numbers that rounding may
// exchange, a sum whose parts overflow, a product of which some factors
// overflow) is unknown, and judges nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_RANDOM_NUMBER_H
#define TESSERA_TEST_RANDOM_NUMBER_H

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::test {

enum class Elem : uint8_t { F64, F32, F16, BF16, I1, I8, I16, I32, I64, Index };

/// Facts of an element type.
struct ElemInfo {
  const char *name;
  bool isFloat;
  /// Bits of an integer; digits of a float, with the hidden one.
  int bits;
  /// Exponents of the least normal and of the largest number of a float.
  int minExponent, maxExponent;
};
const ElemInfo &getInfo(Elem elem);
inline bool isFloat(Elem elem) { return getInfo(elem).isFloat; }

/// One element.
struct Number {
  enum State : uint8_t {
    /// `v` within `error`, or `i`; `v` may be infinite or NaN.
    Known,
    /// A float that is infinite or NaN.
    NotFinite,
    /// Anything.
    Unknown
  };
  long double v = 0;
  /// How far from `v` a right result may be.
  double error = 0;
  /// Bound on the sum of magnitudes of the parts that `v` may be in.
  double mass = 0;
  /// Of an integer type, sign-extended; i1 is 0 or 1.
  int64_t i = 0;
  State state = Known;
  /// `v` and all its parts are integers: sums of them may be exact.
  bool integral = false;

  bool isKnown() const { return state == Known; }
  bool isExact() const { return state == Known && error == 0; }
};

/// How often a sum may be rounded beyond once for each of its terms: after the
/// sum of a device and of each axis of the mesh.
constexpr int kPartialRoundings = 5;

//===----------------------------------------------------------------------===//
// Making numbers
//===----------------------------------------------------------------------===//

/// A number that the type holds exactly.
Number makeFloat(long double value);
Number makeInt(int64_t value, Elem elem);
Number makeUnknown();
/// The nearest number of a type: what a literal of it means.
long double roundTo(long double value, Elem elem);
/// Bits beyond the width cut off, sign-extended.
int64_t wrapTo(uint64_t value, Elem elem);
/// An integer without its sign, and with it (i1: 0 and -1).
uint64_t toUnsigned(int64_t value, Elem elem);
int64_t toSigned(int64_t value, Elem elem);
/// Largest finite number of a float type.
long double getLargest(Elem elem);

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// A float `v` that is off by at most `error` from what the operands' errors
/// say, and is rounded `roundings` times to the type.
Number finish(long double v, double error, double mass, bool integral,
              Elem elem, double roundings = 1);

Number add(const Number &a, const Number &b, Elem elem);
Number subtract(const Number &a, const Number &b, Elem elem);
Number multiply(const Number &a, const Number &b, Elem elem);
Number divide(const Number &a, const Number &b, Elem elem);
Number negate(const Number &a);
Number magnitude(const Number &a);
/// NaN where either is; `isMax` or the least.
Number extremum(const Number &a, const Number &b, bool isMax);
/// The other number where one is NaN.
Number extremumNumber(const Number &a, const Number &b, bool isMax);
/// Rounded to another float type.
Number convert(const Number &a, Elem to);
/// What a sum of `terms` numbers may be off by in any order and in parts.
Number loosenSum(const Number &sum, int64_t terms, Elem elem);

/// The product of some of a product's factors, of those that make it largest:
/// what a device or a thread may have on the way.
class PartialProduct {
public:
  void multiply(const Number &factor);
  /// What the product of all may be in any order and in parts. Unknown if that
  /// of some factors overflows: it may be infinite before another factor is 0.
  Number loosen(const Number &product, int64_t factors, Elem elem) const;

private:
  long double largest = 1;
};

/// A function of one number: where it is defined, and how it changes.
struct Function {
  long double (*fn)(long double);
  /// NaN outside.
  long double low, high;
  /// At most this often the operand's error, beyond the ends of its range;
  /// 0: it is monotone, or largest at an end.
  double slope = 0;
  /// Rounded to an integer: exact.
  bool exact = false;
};
Number apply(const Function &function, const Number &a, Elem elem);

/// -1, 0, 1: a is less, equal, greater; 2: one is NaN; 3: not known.
int compare(const Number &a, const Number &b);

/// Text of a literal: `1.5`, `0x7F800000`, `-3`, `true`.
std::string printLiteral(const Number &number, Elem elem);

} // namespace tessera::test

#endif // TESSERA_TEST_RANDOM_NUMBER_H
