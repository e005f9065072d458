//===- ExpertsTest.cpp - Ops of mixtures of experts -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares with values computed by hand.
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"
#include <cmath>

using namespace tessera::interp;

namespace {

using Elements = std::vector<double>;

constexpr double kNone = NAN;

/// Returns top_k of one row of elements.
Elements topK(const std::string &spec, const Elements &row, int k) {
  std::string from = "tensor<1x" + std::to_string(row.size()) + "xf32>",
              to = "tensor<1x" + std::to_string(k) + "xi32>";
  return TestProgram(oneOp("nn.top_k " + spec + " %a0 : " + from + " -> " + to,
                           {from}, to))
      .runOne({row});
}

TEST(ExpertsTest, top_k) {
  Elements row{1, 4, 2, 4, -3, 4};
  EXPECT_EQ(topK("2", row, 2), Elements({1, 3}));
  EXPECT_EQ(topK("6", row, 6), Elements({1, 3, 5, 2, 0, 4}));
  EXPECT_EQ(topK("3 smallest", row, 3), Elements({4, 0, 2}));
  EXPECT_EQ(topK("4 smallest", row, 4), Elements({4, 0, 2, 1}));
}

/// NaN is the largest number, as in torch.topk and jax.lax.top_k.
TEST(ExpertsTest, top_k_of_what_is_no_number) {
  Elements row{1, kNone, INFINITY, kNone};
  EXPECT_EQ(topK("3", row, 3), Elements({1, 3, 2}));
  EXPECT_EQ(topK("3 smallest", row, 3), Elements({0, 2, 1}));
}

/// The groups are {1, 5}, {4, 3} and {0, 6}: the last has the largest element,
/// the second the largest sum.
TEST(ExpertsTest, top_k_of_groups) {
  Elements row{1, 5, 4, 3, 0, 6};
  EXPECT_EQ(topK("2 groups 1 of 3 by <max>", row, 2), Elements({5, 4}));
  EXPECT_EQ(topK("2 groups 1 of 3 by <sum2>", row, 2), Elements({2, 3}));
  EXPECT_EQ(topK("3 groups 2 of 3 by <max>", row, 3), Elements({5, 1, 0}));
  EXPECT_EQ(topK("6 groups 3 of 3 by <sum2>", row, 6),
            Elements({5, 1, 2, 3, 0, 4}));
}

/// Scores below 0 are chosen too; experts outside the groups are not.
TEST(ExpertsTest, top_k_of_groups_below_zero) {
  EXPECT_EQ(topK("2 groups 1 of 2 by <max>", {-4, -3, -2, -5}, 2),
            Elements({2, 3}));
}

TEST(ExpertsTest, several_picks_of_a_row) {
  TestProgram forward(
      oneOp("nn.take_along_axis %a0, %a1 : tensor<2x4xf32>, tensor<2x3xi32> -> "
            "tensor<2x3xf32>",
            {"tensor<2x4xf32>", "tensor<2x3xi32>"}, "tensor<2x3xf32>"));
  EXPECT_EQ(forward.runOne({{1, 2, 3, 4, 5, 6, 7, 8}, {3, 0, 3, 1, 1, 2}}),
            Elements({4, 1, 4, 6, 6, 7}));
  TestProgram backward(
      oneOp("nn.take_along_axis_backward %a0, %a1 : tensor<2x3xf32>, "
            "tensor<2x3xi32> -> tensor<2x4xf32>",
            {"tensor<2x3xf32>", "tensor<2x3xi32>"}, "tensor<2x4xf32>"));
  EXPECT_EQ(backward.runOne({{1, 2, 4, 8, 16, 32}, {3, 0, 3, 1, 1, 2}}),
            Elements({2, 0, 0, 5, 0, 24, 32, 0}));
}

/// Returns expert_capacity 2 of the expert 0, which each of four tokens of two
/// sequences has as its only choice.
Elements capacity(const std::string &order, const Elements &scores) {
  return TestProgram(oneOp("nn.expert_capacity 2 of 2 " + order +
                               " %a0, %a1 : tensor<2x4x1xi32>, "
                               "tensor<2x4x1xf32>",
                           {"tensor<2x4x1xi32>", "tensor<2x4x1xf32>"},
                           "tensor<2x4x1xi32>"))
      .runOne({{0, 0, 0, 1, 0, 0, 0, 0}, scores});
}

TEST(ExpertsTest, capacity) {
  EXPECT_EQ(capacity("", {1, 3, 2, 0, 5, 5, 5, 5}),
            Elements({-1, 0, 0, 1, 0, 0, -1, -1}));
}

/// Positions 0, 3, 1, 2 are stored in this order, so the first two of equals
/// are the first and the third.
TEST(ExpertsTest, capacity_in_order) {
  EXPECT_EQ(capacity("order <shards = 2, size = 4>", {1, 1, 1, 1, 5, 5, 5, 6}),
            Elements({0, -1, 0, 1, 0, -1, -1, 0}));
}

const std::string kExperts =
    "tensor<3x1xf64>, tensor<3x2xi32>, tensor<3x2xf64>, tensor<2x1x2xf64>, "
    "tensor<2x2x1xf64>";

/// One MLP of SiLU: x to (x, 2x) gated by (1, -1), added up with the factor
/// `down`.
double expectedPart(double x, double down) {
  auto silu = [](double v) { return v / (1 + std::exp(-v)); };
  return down * (silu(x) * x + silu(-x) * 2 * x);
}

/// Experts 4 and 5 of 8 are held. The first token goes to both, the second to 5
/// and to one that is elsewhere, the third to none.
TEST(ExpertsTest, experts) {
  TestProgram p("func.func @f(%x: tensor<3x1xf64>, %i: tensor<3x2xi32>, %c: "
                "tensor<3x2xf64>, %g: tensor<2x1x2xf64>, %u: "
                "tensor<2x1x2xf64>, %d: tensor<2x2x1xf64>) -> "
                "tensor<3x1xf64> {\n  %at = arith.constant 4 : index\n  %y = "
                "nn.experts <silu> of 8 %x, %i, %c, %g, %u, %d offset %at : " +
                kExperts +
                " -> tensor<3x1xf64>\n  return %y : tensor<3x1xf64>\n}\n");
  Elements y = p.runOne({{1.5, -2, 3},
                         {4, 5, 7, 5, -1, 3},
                         {0.25, 0.5, 9, 2, 9, 9},
                         {1, -1, 1, -1},
                         {1, 2, 1, 2},
                         {1, 1, 10, 10}});
  expectNear(y,
             {0.25 * expectedPart(1.5, 1) + 0.5 * expectedPart(1.5, 10),
              2 * expectedPart(-2, 10), 0},
             1e-12);
}

TEST(ExpertsTest, rows) {
  TestProgram p(
      oneOp("nn.expert_rows %a0, %a1 : tensor<2x2xf32>, tensor<2x2xi32> -> "
            "tensor<2x3x2xf32>",
            {"tensor<2x2xf32>", "tensor<2x2xi32>"}, "tensor<2x3x2xf32>"));
  EXPECT_EQ(p.runOne({{1, 2, 3, 4}, {2, 0, -1, 1}}),
            Elements({1, 2, 0, 0, 1, 2, 0, 0, 3, 4, 0, 0}));
}

} // namespace
