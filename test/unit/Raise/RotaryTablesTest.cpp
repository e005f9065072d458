//===- RotaryTablesTest.cpp - Frequencies of tables of cos and sin --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Raise/RotaryTables.h"
#include "gtest/gtest.h"

#include <cmath>
#include <vector>

using namespace tessera;

namespace {

using Semantics = const llvm::fltSemantics &;

double roundTo(double value, Semantics type) {
  llvm::APFloat number(value);
  bool loses;
  number.convert(type, llvm::APFloat::rmNearestTiesToEven, &loses);
  number.convert(llvm::APFloat::IEEEdouble(),
                 llvm::APFloat::rmNearestTiesToEven, &loses);
  return number.convertToDouble();
}

/// Tables as models compute them: f32 angles and functions, then the type.
struct Tables {
  Tables(double frequency, size_t rows, Semantics type) : type(type) {
    for (size_t row = 0; row < rows; ++row) {
      float angle = float(row) * float(frequency);
      cosines.push_back(roundTo(std::cos(angle), type));
      sines.push_back(roundTo(std::sin(angle), type));
    }
  }
  std::optional<double> find() const {
    return findFrequency(cosines, sines, type);
  }

  Semantics type;
  std::vector<double> cosines, sines;
};

Semantics f32() { return llvm::APFloat::IEEEsingle(); }
Semantics bf16() { return llvm::APFloat::BFloat(); }

} // namespace

TEST(RotaryTablesTest, finds_all_frequencies_of_long_tables) {
  for (Semantics type : {std::cref(f32()), std::cref(bf16())})
    for (double theta : {1e4, 5e5, 1e7})
      for (int pair = 0; pair < 64; pair += 3) {
        float frequency = float(std::pow(theta, -pair / 64.0));
        std::optional<double> found = Tables(frequency, 8192, type).find();
        ASSERT_TRUE(found) << theta << " " << pair;
        // f32 angles have this error, too.
        double error = &type == &f32() ? 0x1p-23 : 0x1p-9;
        EXPECT_NEAR(*found, frequency, error * frequency) << pair;
      }
}

TEST(RotaryTablesTest, few_rows) {
  EXPECT_FALSE(Tables(0.5, 0, f32()).find());
  // One row fits any frequency.
  EXPECT_FALSE(Tables(0.5, 1, f32()).find());
  EXPECT_NEAR(*Tables(0.5, 2, f32()).find(), 0.5, 1e-6);
}

TEST(RotaryTablesTest, signs_and_zero) {
  EXPECT_NEAR(*Tables(-0.25, 100, f32()).find(), -0.25, 1e-6);
  EXPECT_EQ(*Tables(0, 100, f32()).find(), 0);
  EXPECT_NEAR(*Tables(3.0, 100, f32()).find(), 3.0, 1e-5);
}

TEST(RotaryTablesTest, one_wrong_entry) {
  for (size_t row : {0, 1, 77, 8191})
    for (bool isSine : {false, true}) {
      Tables tables(0.0123, 8192, f32());
      double &entry = isSine ? tables.sines[row] : tables.cosines[row];
      entry += 0x1.8p-22 + 0x1p-22 * double(row) * 0.0123;
      EXPECT_FALSE(tables.find()) << row << " " << isSine;
    }
}

TEST(RotaryTablesTest, other_functions) {
  Tables shifted(0.1, 64, f32()), scaled(0.1, 64, f32()),
      stretched(0.1, 64, f32());
  for (size_t row = 0; row < 64; ++row) {
    shifted.cosines[row] = float(std::cos((row + 1) * 0.1));
    shifted.sines[row] = float(std::sin((row + 1) * 0.1));
    scaled.cosines[row] *= 1.0001;
    scaled.sines[row] *= 1.0001;
    // From some row on the positions are not evenly spaced.
    double position = row < 60 ? row : row + 0.001;
    stretched.cosines[row] = float(std::cos(position * 0.1));
    stretched.sines[row] = float(std::sin(position * 0.1));
  }
  EXPECT_FALSE(shifted.find());
  EXPECT_FALSE(scaled.find());
  EXPECT_FALSE(stretched.find());
}

TEST(RotaryTablesTest, exact_tables_of_bf16_are_no_tables_of_f32) {
  Tables tables(0.1, 64, bf16());
  EXPECT_TRUE(tables.find());
  EXPECT_FALSE(findFrequency(tables.cosines, tables.sines, f32()));
}
