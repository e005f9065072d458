//===- DistTest.cpp - Ranks, sharing, transfers, errors -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// test/exec tests the results of collectives. These tests check properties that
// results do not show.
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"

using namespace tessera::interp;

namespace {

using Elements = std::vector<double>;

// Ranks with the same tensor are evaluated once and share the result, and so do
// the members of a group.
TEST(DistTest, shares_equal_values) {
  TestProgram p(R"(
  dist.mesh @mesh ["x"=2, "y"=2]
  func.func @f(%a: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
    %0 = arith.addf %a, %a : tensor<2xf32>
    %1 = dist.all_reduce <sum> %0 over <{"y"}> on @mesh : tensor<2xf32> -> tensor<2xf32>
    return %0, %1 : tensor<2xf32>, tensor<2xf32>
  })");
  TensorRef a = p.argument(0, {1, 2}), c = p.argument(0, {3, 4});
  auto results = interpret(p.getFunction(), {{a}, {a}, {c}, {a}});
  ASSERT_TRUE(succeeded(results)) << p.error;
  auto &r = *results;
  EXPECT_EQ(r[0][0], r[1][0]);
  EXPECT_EQ(r[0][0], r[3][0]);
  EXPECT_NE(r[0][0], r[2][0]);
  EXPECT_EQ(r[0][1], r[1][1]);
  EXPECT_EQ(r[2][1], r[3][1]);
  EXPECT_EQ(p.elements(*r[2][1]), (Elements{8, 12}));
}

TEST(DistTest, counts_collectives) {
  TestProgram p(R"(
  dist.mesh @mesh ["x"=4]
  func.func @f(%a: tensor<2xf32>) -> tensor<8xf32> {
    %0 = dist.all_gather %a dim 0 over <{"x"}> on @mesh : tensor<2xf32> -> tensor<8xf32>
    %1 = dist.all_reduce <sum> %0 over <{"x"}> on @mesh : tensor<8xf32> -> tensor<8xf32>
    %2 = dist.all_reduce <max> %1 over <{"x"}> on @mesh : tensor<8xf32> -> tensor<8xf32>
    return %2 : tensor<8xf32>
  })");
  Statistics statistics;
  p.runAll({{{1}}, {{2}}, {{3}}, {{4}}}, &statistics);
  ASSERT_EQ(statistics.collectives.size(), 2u);
  EXPECT_EQ(statistics.collectives["all_gather"].count, 1);
  EXPECT_EQ(statistics.collectives["all_gather"].bytes, 24);
  EXPECT_EQ(statistics.collectives["all_reduce"].count, 2);
  EXPECT_EQ(statistics.collectives["all_reduce"].bytes, 96);
}

// On one rank, constraints and collectives on global types change nothing.
TEST(DistTest, global_programs) {
  TestProgram p(R"(
  dist.mesh @mesh ["x"=2]
  func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = dist.constraint %a <@mesh, [{"x"}]> : tensor<4xf32>
    %1 = dist.reshard %0 from <@mesh, [{"x"}]> to <@mesh, [{}]> : tensor<4xf32>
    %2 = dist.all_slice %1 dim 0 over <{"x"}> on @mesh from <@mesh, [{}]>
        to <@mesh, [{"x"}]> : tensor<4xf32> -> tensor<4xf32>
    %3 = dist.all_gather %2 dim 0 over <{"x"}> on @mesh from <@mesh, [{"x"}]>
        to <@mesh, [{}]> : tensor<4xf32> -> tensor<4xf32>
    %4 = dist.to_partial <sum> %3 over <{"x"}> on @mesh : tensor<4xf32>
    %5 = dist.all_reduce <sum> %4 over <{"x"}> on @mesh from <@mesh, [{}], unreduced={"x"}>
        to <@mesh, [{}]> : tensor<4xf32> -> tensor<4xf32>
    dist.group %0, %5 : tensor<4xf32>, tensor<4xf32>
    return %5 : tensor<4xf32>
  })");
  EXPECT_EQ(p.runOne({{1, 2, 3, 4}}), (Elements{1, 2, 3, 4}));
}

TEST(DistTest, mesh_must_fit) {
  TestProgram p(R"(
  dist.mesh @mesh ["x"=4]
  func.func @f() -> index {
    %0 = dist.axis_offset <{"x"}> size 2 on @mesh : index
    return %0 : index
  })");
  EXPECT_TRUE(failed(p.run({{}, {}})));
  EXPECT_EQ(p.error, "'dist.axis_offset' op expects to be interpreted on the 4 "
                     "devices of @mesh but "
                     "got 2 ranks");
}

TEST(DistTest, transfers_must_pair) {
  TestProgram p(R"(
  dist.mesh @mesh ["pp"=2]
  func.func @f() -> tensor<2xf32> {
    %0 = dist.recv along "pp" 0 to 1 tag 7 on @mesh : tensor<2xf32>
    return %0 : tensor<2xf32>
  })");
  EXPECT_TRUE(failed(p.run({{}, {}})));
  EXPECT_EQ(
      p.error,
      "'dist.recv' op expects a dist.send along \"pp\" 0 to 1 tag 7 before it");
  TestProgram q(R"(
  dist.mesh @mesh ["pp"=2]
  func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {
    dist.send %a along "pp" 0 to 1 tag 7 on @mesh : tensor<2xf32>
    return %a : tensor<2xf32>
  })");
  EXPECT_TRUE(failed(q.run({{{1}}, {{2}}})));
  EXPECT_EQ(q.error, "expects every dist.send to be received but one along "
                     "\"pp\" 0 to 1 tag 7 was not");
}

} // namespace
