//===- VerifyTest.cpp - Input data and comparison -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Interpreter/Verify.h"
#include "TestProgram.h"
#include <cmath>
#include <set>

using namespace tessera;
using namespace tessera::interp;

namespace {

/// Mean and standard deviation.
std::pair<double, double> momentsOf(const Tensor &tensor) {
  double sum = 0, squares = 0;
  int64_t n = tensor.getNumElements();
  for (int64_t i = 0; i < n; ++i) {
    sum += tensor[i].f;
    squares += tensor[i].f * tensor[i].f;
  }
  return {sum / n, std::sqrt(squares / n - sum / n * sum / n)};
}

TEST(InputDataTest, floats_follow_their_init) {
  TestProgram p(R"(func.func @f(
      %a: tensor<100x100xf32> {nn.param = "a", nn.init = #nn.init<normal, 5.0e-01>},
      %b: tensor<100x100xf32> {nn.param = "b", nn.init = #nn.init<normal, 1.0e-03>},
      %c: tensor<100x100xf32> {nn.param = "c", nn.init = #nn.init<ones>},
      %d: tensor<100x100xf32> {nn.param = "d", nn.init = #nn.init<zeros>},
      %e: tensor<100x100xf32> {nn.input = "e"}) { return })");
  InputOptions options;
  options.floats = FloatData::Plain;
  auto inputs = makeInputs(p.getFunction(), options);
  ASSERT_TRUE(succeeded(inputs)) << p.error;
  std::pair<double, double> expected[] = {
      {0, 0.5}, {0, 0.1}, {1, 0.1}, {0, 0.1}, {0, 1}};

  for (size_t i = 0; i < 5; ++i) {
    auto [mean, deviation] = momentsOf(*(*inputs)[i]);
    EXPECT_NEAR(mean, expected[i].first, 0.03) << i;
    EXPECT_NEAR(deviation, expected[i].second, 0.03) << i;
  }
}

// Data depend on the name and the seed, not on the position of the argument.
TEST(InputDataTest, data_belong_to_the_name) {
  TestProgram p(R"(func.func @f(%a: tensor<8xf32> {nn.param = "w"},
      %b: tensor<8xf32> {nn.param = "v"}) { return })");
  TestProgram q(R"(func.func @f(%b: tensor<8xf32> {nn.param = "v"},
      %a: tensor<8xf32> {nn.param = "w"}) { return })");
  auto x = makeInputs(p.getFunction(), {}), y = makeInputs(q.getFunction(), {});
  auto z = makeInputs(p.getFunction(), {1});
  ASSERT_TRUE(succeeded(x) && succeeded(y) && succeeded(z));
  EXPECT_EQ(p.elements(*(*x)[0]), p.elements(*(*y)[1]));
  EXPECT_NE(p.elements(*(*x)[0]), p.elements(*(*x)[1]));
  EXPECT_NE(p.elements(*(*x)[0]), p.elements(*(*z)[0]));
}

// Ids stay below the number of rows, through changes of shape, type and calls.
// Labels stay below the number of classes, and some are ignored.
TEST(InputDataTest, integers_follow_their_uses) {
  TestProgram p(R"(
  func.func private @look(%t: tensor<5x2xf32>, %i: tensor<256xi64>) -> tensor<256x2xf32> {
    %0 = nn.embedding %t, %i : tensor<5x2xf32>, tensor<256xi64> -> tensor<256x2xf32>
    return %0 : tensor<256x2xf32>
  }
  func.func @f(%t: tensor<5x2xf32>, %ids: tensor<2x128xi32>, %labels: tensor<256xi32>,
      %flags: tensor<64xi1>, %other: tensor<256xi32>) -> tensor<256xf32> {
    %0 = tensor.collapse_shape %ids [[0, 1]] : tensor<2x128xi32> into tensor<256xi32>
    %1 = arith.extsi %0 : tensor<256xi32> to tensor<256xi64>
    %2 = func.call @look(%t, %1) : (tensor<5x2xf32>, tensor<256xi64>) -> tensor<256x2xf32>
    %3 = nn.cross_entropy %2, %labels ignore -7 : tensor<256x2xf32>, tensor<256xi32> -> tensor<256xf32>
    return %3 : tensor<256xf32>
  })");
  auto inputs = makeInputs(p.getFunction(), {});
  ASSERT_TRUE(succeeded(inputs)) << p.error;
  auto valuesOf = [&](unsigned i) {
    auto elements = p.elements(*(*inputs)[i]);
    return std::set<double>(elements.begin(), elements.end());
  };
  EXPECT_EQ(valuesOf(1), (std::set<double>{0, 1, 2, 3, 4}));
  EXPECT_EQ(valuesOf(2), (std::set<double>{-7, 0, 1}));
  EXPECT_EQ(valuesOf(3), (std::set<double>{0, 1}));
  // Integers that are not ids have both signs, zeros and large numbers.
  std::set<double> free = valuesOf(4);
  for (double value = -8; value < 8; ++value)
    EXPECT_TRUE(free.count(value)) << value;
  EXPECT_GT(*free.rbegin(), 1e6);
  EXPECT_LT(*free.begin(), -1e6);
}

// Positions, divisors, shifts and loop bounds stay in the domain of their ops.
TEST(InputDataTest, integers_stay_in_domains) {
  TestProgram p(R"(
  func.func @f(%t: tensor<5x3xf32>, %i: index, %d: tensor<256xi32>,
      %s: tensor<256xi8>, %step: index, %at: index, %v: tensor<256xi32>)
      -> (f32, tensor<256xi32>, tensor<256xi8>, tensor<2x3xf32>) {
    %c0 = arith.constant 0 : index
    %e = tensor.extract %t[%i, %c0] : tensor<5x3xf32>
    %w = tensor.empty() : tensor<256xi32>
    %q = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>,
        affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
        iterator_types = ["parallel"]} ins(%v, %d : tensor<256xi32>, tensor<256xi32>)
        outs(%w : tensor<256xi32>) {
    ^bb0(%a: i32, %b: i32, %o: i32):
      %r = arith.divsi %a, %b : i32
      linalg.yield %r : i32
    } -> tensor<256xi32>
    %l = arith.shli %s, %s : tensor<256xi8>
    scf.for %k = %c0 to %i step %step { scf.yield }
    %x = tensor.extract_slice %t[%at, 0] [2, 3] [1, 1] : tensor<5x3xf32> to tensor<2x3xf32>
    return %e, %q, %l, %x : f32, tensor<256xi32>, tensor<256xi8>, tensor<2x3xf32>
  })");
  for (uint64_t seed = 0; seed < 20; ++seed) {
    auto inputs = makeInputs(p.getFunction(), {seed});
    ASSERT_TRUE(succeeded(inputs)) << p.error;
    EXPECT_LT(p.elements(*(*inputs)[1])[0], 5);
    EXPECT_GE(p.elements(*(*inputs)[4])[0], 1);
    EXPECT_LE(p.elements(*(*inputs)[5])[0], 3);
    for (double divisor : p.elements(*(*inputs)[2]))
      EXPECT_NE(divisor, 0);
    for (double distance : p.elements(*(*inputs)[3]))
      EXPECT_TRUE(distance >= 0 && distance < 8) << distance;
    EXPECT_TRUE(succeeded(interpretGlobal(p.getFunction(), *inputs)));
  }
}

// Zeros and various magnitudes; few special values, however large the tensor.
TEST(InputDataTest, floats_have_zeros_and_extremes) {
  TestProgram p("func.func @f(%a: tensor<64x64xf32>) { return }");
  auto count = [&](FloatData floats, auto &&holds) {
    auto inputs =
        makeInputs(p.getFunction(), {0, false, floats, IntegerData::Any});
    return llvm::count_if(p.elements(*inputs->front()), holds);
  };
  auto isZero = [](double x) { return x == 0; };
  auto isNoNumber = [](double x) { return !std::isfinite(x); };
  EXPECT_EQ(count(FloatData::Plain, isZero), 0);
  EXPECT_NEAR(count(FloatData::Ordinary, isZero), 256, 64);
  EXPECT_EQ(count(FloatData::Ordinary, isNoNumber), 0);
  EXPECT_GE(count(FloatData::Extreme, isNoNumber), 1);
  EXPECT_LE(count(FloatData::Extreme, isNoNumber), 20);
}

TEST(InputDataTest, integer_floats) {
  TestProgram p("func.func @f(%a: tensor<100xf32>) { return }");
  auto inputs = makeInputs(p.getFunction(), {0, true});
  ASSERT_TRUE(succeeded(inputs));
  auto elements = p.elements(*inputs->front());
  EXPECT_EQ(std::set<double>(elements.begin(), elements.end()),
            (std::set<double>{-2, -1, 0, 1, 2}));
}

// Both nearest values occur, with the exact mean; exact values do not change.
TEST(VerifyTest, random_rounding) {
  TestProgram p("func.func @f(%a: bf16, %b: f32) { return }");
  ElementType bf16(p.getFunction().getArgumentTypes()[0]);
  ElementType f32(p.getFunction().getArgumentTypes()[1]);
  double x = 1 + 0.25 * 0x1p-7, sum = 0;
  std::set<double> values;
  {
    RandomRounding rounding(1);
    for (int i = 0; i < 4096; ++i) {
      double rounded = bf16.round(floatCell(x)).f;
      values.insert(rounded);
      sum += rounded - 1;
      EXPECT_EQ(bf16.round(floatCell(-1.5)).f, -1.5);
      EXPECT_EQ(f32.round(floatCell(x)).f, x);
    }
  }
  EXPECT_EQ(values, (std::set<double>{1, 1 + 0x1p-7}));
  EXPECT_NEAR(sum / 4096, x - 1, 0.03 * 0x1p-7);
  EXPECT_EQ(bf16.round(floatCell(x)).f, 1);
  EXPECT_EQ(bf16.getPrecision(), 8u);
}

TEST(VerifyTest, relative_difference) {
  TestProgram p(
      "func.func @f(%a: tensor<2xf32>, %b: tensor<2xi32>) { return }");
  auto difference = [&](std::vector<double> a, std::vector<double> b) {
    return relativeDifference(*p.argument(0, a), *p.argument(0, b));
  };
  EXPECT_EQ(difference({1, 4}, {1, 4}), 0);
  EXPECT_EQ(difference({2, 4}, {1, 4}), 0.25);
  EXPECT_EQ(difference({0.5, 0}, {0, 0}), 0.5);
  EXPECT_EQ(difference({INFINITY, 1}, {INFINITY, 1}), 0);
  EXPECT_EQ(difference({-INFINITY, 1}, {INFINITY, 1}), INFINITY);
  EXPECT_EQ(difference({1, 1}, {INFINITY, 1}), INFINITY);
  // NaN is equal to NaN.
  EXPECT_EQ(difference({NAN, 1}, {NAN, 1}), 0);
  EXPECT_EQ(difference({NAN, 2}, {NAN, 1}), 1);
  EXPECT_EQ(difference({NAN, 1}, {1, NAN}), INFINITY);
  EXPECT_EQ(difference({INFINITY, 3}, {INFINITY, 2}), 0.5);
  EXPECT_EQ(relativeDifference(*p.argument(1, {5, 1}), *p.argument(1, {2, 1})),
            3);
}

} // namespace
