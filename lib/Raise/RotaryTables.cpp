//===- RotaryTables.cpp - Frequencies of cos and sin tables ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Raise/RotaryTables.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cassert>
#include <cmath>

using namespace tessera;
using llvm::ArrayRef;

/// The largest error of an entry in units in the last place, and the largest
/// relative error of an angle.
static constexpr double kUnits = 2, kAngleError = 0x1p-23;

namespace {

/// An interval of angles or of frequencies.
struct Interval {
  double low, high;
  double middle() const { return (low + high) / 2; }
};

class FrequencyFinder {
public:
  FrequencyFinder(ArrayRef<double> cosines, ArrayRef<double> sines,
                  const llvm::fltSemantics &type)
      : cosines(cosines), sines(sines),
        digits(llvm::APFloat::semanticsPrecision(type)),
        minExponent(llvm::APFloat::semanticsMinExponent(type)) {}

  std::optional<double> find() const;

private:
  double unitOf(double entry) const;
  Interval boundAngle(size_t row, double near, double angleError) const;
  std::optional<Interval> bound(bool hasExactPowers) const;
  bool matches(double frequency) const;

  ArrayRef<double> cosines, sines;
  int digits, minExponent;
};

} // namespace

/// One unit in the last place of an entry.
double FrequencyFinder::unitOf(double entry) const {
  int exponent = entry == 0 ? minExponent : std::ilogb(entry);
  return std::ldexp(1.0, std::max(exponent, minExponent) - (digits - 1));
}

/// The interval of angles near `near` that can give a row's entries. Uses the
/// smaller entry: its unit is smaller and its slope is larger.
Interval FrequencyFinder::boundAngle(size_t row, double near,
                                     double angleError) const {
  double cosine = std::clamp(cosines[row], -1.0, 1.0);
  double sine = std::clamp(sines[row], -1.0, 1.0), angle, error;
  if (std::abs(sine) <= std::abs(cosine)) {
    angle = cosine > 0 ? std::asin(sine) : M_PI - std::asin(sine);
    error = (kUnits * unitOf(sine) + angleError) / std::abs(cosine);
  } else {
    angle = std::copysign(std::acos(cosine), sine);
    error = (kUnits * unitOf(cosine) + angleError) / std::abs(sine);
  }
  angle += 2 * M_PI * std::round((near - angle) / (2 * M_PI));
  return {angle - error, angle + error};
}

/// The frequencies that all rows allow. `hasExactPowers`: the angles of rows 1,
/// 2, 4, ... are exact, as products by powers of two are.
std::optional<Interval> FrequencyFinder::bound(bool hasExactPowers) const {
  Interval all{-M_PI, M_PI};
  for (size_t row = 1; row < cosines.size(); ++row) {
    // Full turns do not matter in row 1.
    double near = row == 1 ? 0 : all.middle() * double(row);
    double angleError = hasExactPowers && llvm::isPowerOf2_64(row)
                            ? 0
                            : kAngleError * std::abs(near);
    Interval angles = boundAngle(row, near, angleError);
    double low = angles.low / double(row), high = angles.high / double(row);
    if (row == 1)
      all = {low, high};
    else
      all = {std::max(all.low, low), std::min(all.high, high)};
    if (!(all.low <= all.high))
      return std::nullopt;
  }
  return all;
}

bool FrequencyFinder::matches(double frequency) const {
  auto isNear = [&](double entry, double exact, double angle) {
    double unit = std::max(unitOf(entry), unitOf(exact));
    return std::abs(entry - exact) <=
           kUnits * unit + kAngleError * std::abs(angle);
  };
  for (size_t row = 0; row < cosines.size(); ++row) {
    double angle = double(row) * frequency;
    if (!isNear(cosines[row], std::cos(angle), angle) ||
        !isNear(sines[row], std::sin(angle), angle))
      return false;
  }
  return true;
}

std::optional<double> FrequencyFinder::find() const {
  if (cosines.size() < 2)
    return std::nullopt;
  for (bool hasExactPowers : {true, false}) {
    std::optional<Interval> all = bound(hasExactPowers);
    if (!all)
      continue;
    // Most frequencies are f32 numbers.
    double near = float(all->middle());
    bool isInside = all->low <= near && near <= all->high;
    for (double frequency : {isInside ? near : all->middle(), all->middle()})
      if (matches(frequency))
        return frequency;
  }
  return std::nullopt;
}

std::optional<double> tessera::findFrequency(ArrayRef<double> cosines,
                                             ArrayRef<double> sines,
                                             const llvm::fltSemantics &type) {
  assert(cosines.size() == sines.size() && "expects tables of one size");
  return FrequencyFinder(cosines, sines, type).find();
}
