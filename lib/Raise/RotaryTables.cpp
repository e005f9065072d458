//===- RotaryTables.cpp - Frequencies of tables of cos and sin ------------===//
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

/// The largest error of an entry in units in the last place, and of an angle
/// relative to it.
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

/// A unit in the last place of an entry.
double FrequencyFinder::unitOf(double entry) const {
  int exponent = entry == 0 ? minExponent : std::ilogb(entry);
  return std::ldexp(1.0, std::max(exponent, minExponent) - (digits - 1));
}

/// The angles near one of which a row can have its entries. The smaller entry
/// says more of the angle: its unit is smaller and its slope is larger.
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

/// The frequencies that all rows allow. `hasExactPowers` says that angles of
/// rows 1, 2, 4, ... are not rounded, as a product by a power of two is not.
std::optional<Interval> FrequencyFinder::bound(bool hasExactPowers) const {
  Interval all{-M_PI, M_PI};
  for (size_t row = 1; row < cosines.size(); ++row) {
    // Of row 1 all turns are the same.
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
    // Most frequencies are numbers of f32.
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
