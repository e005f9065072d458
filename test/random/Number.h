//===- Number.h - What an element may be ------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arithmetic of the judge. A float is computed in long double, never
// rounded, together with a bound on the error of a correct implementation. The
// bound counts roundings: each op rounds once to its element type, a value may
// be partial (a sum of parts), and each part is rounded; so the magnitudes of
// the parts are tracked too. Results that a correct implementation need not
// match (a comparison of two numbers that rounding may exchange, a sum whose
// parts overflow, a product with some factors whose product overflows) are
// unknown and are not judged.
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
  /// Exponents of the smallest normal and of the largest number of a float.
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
  /// Bound on the error of a correct result, relative to `v`.
  double error = 0;
  /// Bound on the sum of magnitudes of the parts of `v`.
  double mass = 0;
  /// Value of an integer type, sign-extended; i1 is 0 or 1.
  int64_t i = 0;
  State state = Known;
  /// True if `v` and all its parts are integers: their sums may be exact.
  bool integral = false;

  bool isKnown() const { return state == Known; }
  bool isExact() const { return state == Known && error == 0; }
};

/// Roundings of a sum in addition to one for each of its terms: after the sum
/// of a device and of each axis of the mesh.
constexpr int kPartialRoundings = 5;

//===----------------------------------------------------------------------===//
// Making numbers
//===----------------------------------------------------------------------===//

/// A number that the type represents exactly.
Number makeFloat(long double value);
Number makeInt(int64_t value, Elem elem);
Number makeUnknown();
/// The nearest number of a type, which is the value of its literal.
long double roundTo(long double value, Elem elem);
/// Drops the bits beyond the width and sign-extends.
int64_t wrapTo(uint64_t value, Elem elem);
/// Converts an integer to unsigned and to signed (i1: 0 and -1).
uint64_t toUnsigned(int64_t value, Elem elem);
int64_t toSigned(int64_t value, Elem elem);
/// The largest finite number of a float type.
long double getLargest(Elem elem);

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// A float `v` with an error of at most `error` from the operands' errors,
/// which is rounded `roundings` times to the type.
Number finish(long double v, double error, double mass, bool integral,
              Elem elem, double roundings = 1);

Number add(const Number &a, const Number &b, Elem elem);
Number subtract(const Number &a, const Number &b, Elem elem);
Number multiply(const Number &a, const Number &b, Elem elem);
Number divide(const Number &a, const Number &b, Elem elem);
Number negate(const Number &a);
Number magnitude(const Number &a);
/// The maximum (`isMax`) or minimum; NaN if either operand is.
Number extremum(const Number &a, const Number &b, bool isMax);
/// The other number if one is NaN.
Number extremumNumber(const Number &a, const Number &b, bool isMax);
/// Rounds to another float type.
Number convert(const Number &a, Elem to);
/// Adds the error of a sum of `terms` numbers in any order and in parts.
Number loosenSum(const Number &sum, int64_t terms, Elem elem);

/// The largest product of some of a product's factors, a value that a device or
/// a thread may compute on the way.
class PartialProduct {
public:
  void multiply(const Number &factor);
  /// Adds the error of the whole product in any order and in parts. Unknown if
  /// the product of some factors overflows: it may be infinite before another
  /// factor is 0.
  Number loosen(const Number &product, int64_t factors, Elem elem) const;

private:
  long double largest = 1;
};

/// A function of one number, its domain, and its sensitivity.
struct Function {
  long double (*fn)(long double);
  /// NaN outside of this range.
  long double low, high;
  /// Bound on the slope, beyond the ends of its range; 0: the function is
  /// monotone, or largest at an end.
  /// 0: it is monotone, or largest at an end.
  double slope = 0;
  /// True if the result is rounded to an integer: exact.
  bool exact = false;
};
Number apply(const Function &function, const Number &a, Elem elem);

/// -1, 0, 1: a is less, equal, greater; 2: one is NaN; 3: unknown.
int compare(const Number &a, const Number &b);

/// Text of a literal: `1.5`, `0x7F800000`, `-3`, `true`.
std::string printLiteral(const Number &number, Elem elem);

} // namespace tessera::test

#endif // TESSERA_TEST_RANDOM_NUMBER_H
