//===- ReshardCostTest.cpp - Choice of an op's shardings ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Partition/ReshardCost.h"
#include <gtest/gtest.h>

using namespace tessera;

namespace {

/// A matmul ([i,k],[k,j])->([i,j]) of f32 on a mesh x4 y2.
struct Matmul {
  Mesh mesh;
  ShardingRule rule;
  Sharding lhs, rhs, result;
  llvm::SmallVector<int64_t> lhsShape, rhsShape, resultShape;
  AxisRef x, y;
  MeshLinks links;

  Matmul(int64_t i, int64_t k, int64_t j)
      : lhs(Sharding::replicatedOf(2)), rhs(lhs), result(lhs), lhsShape{i, k},
        rhsShape{k, j}, resultShape{i, j} {
    mesh.names = {"x", "y"};
    mesh.sizes = {4, 2};
    x = mesh.fullAxis(0);
    y = mesh.fullAxis(1);
    links = MeshLinks::uniform(mesh);
    unsigned fi = rule.addFactor(i), fj = rule.addFactor(j),
             fk = rule.addFactor(k, FactorKind::Reduction);
    rule.operands = {{{fi}, {fk}}, {{fk}, {fj}}};
    rule.results = {{{fi}, {fj}}};
  }
  /// Axes of i, j, k.
  FactorChoice choose() const {
    ReshardPlanner planner(mesh, links);
    return chooseFactors(planner, rule,
                         {{&lhs, lhsShape, 4}, {&rhs, rhsShape, 4}},
                         {{&result, resultShape, 4}});
  }
};

constexpr unsigned kI = 0, kJ = 1, kK = 2;

} // namespace

TEST(ReshardCost, bytes_are_those_of_the_plan) {
  Matmul m(16, 16, 16);
  Sharding onX = Sharding::replicatedOf(2), whole = onX;
  onX.dims[0].axes = {m.x};
  ReshardPlanner planner(m.mesh);
  auto bytes = [&](const Sharding &from, const Sharding &to) {
    return getReshardCost(planner, from, to, {16, 16}, 4).bytes;
  };
  // A device has 4 of 16 rows and receives 12.
  EXPECT_EQ(bytes(onX, whole), 12 * 16 * 4);
  EXPECT_EQ(bytes(whole, onX), 0);
  Sharding partial = whole;
  partial.unreduced = {m.x};
  EXPECT_EQ(bytes(partial, onX), 3 * 64 * 4);
  EXPECT_EQ(bytes(partial, whole), 2 * 3 * 64 * 4);
}

TEST(ReshardCost, agreed_contraction_is_reduced) {
  Matmul m(16, 64, 16);
  m.lhs.dims[1].axes = m.rhs.dims[0].axes = {m.x};
  FactorChoice choice = m.choose();
  EXPECT_EQ(choice.axes[kK], AxisList{m.x});
  EXPECT_EQ(choice.cost.bytes, 2 * 3 * 16 * 16 * 4 / 4);
  // Both operands are gathered.
  EXPECT_EQ(choice.otherCost.bytes, 2 * 3 * 16 * 16 * 4);
}

// The matmul repeats work on four devices, so it must save three quarters of
// the time, which is measured in bytes here.
TEST(ReshardCost, repeated_work_must_pay) {
  for (auto [k, gathers] : {std::pair(8, true), std::pair(32, false)}) {
    Matmul m(64, k, 64);
    m.links = MeshLinks::uniform(m.mesh, 0, 1);
    m.lhs.dims[1].axes = m.rhs.dims[0].axes = {m.x};
    FactorChoice choice = m.choose();
    EXPECT_EQ(choice.axes[kK].empty(), gathers) << k;
    EXPECT_EQ(choice.cost.time * 4 < choice.otherCost.time, gathers) << k;
  }
}

// Rows of x and columns of w over one axis, with the result by columns: the
// rows are gathered even if w is smaller. A weight is not moved.
TEST(ReshardCost, result_keeps_its_axes) {
  Matmul m(1024, 16, 16);
  m.lhs.dims[0].axes = {m.x};
  m.rhs.dims[1].axes = m.result.dims[1].axes = {m.x};
  FactorChoice choice = m.choose();
  EXPECT_TRUE(choice.axes[kI].empty());
  EXPECT_EQ(choice.axes[kJ], AxisList{m.x});
}

TEST(ReshardCost, free_slices_are_taken) {
  Matmul m(16, 16, 16);
  m.lhs.dims[0].axes = {m.x};
  m.result.dims[0].axes = {m.x};
  m.result.dims[1].axes = {m.y};
  FactorChoice choice = m.choose();
  EXPECT_EQ(choice.axes[kI], AxisList{m.x});
  EXPECT_EQ(choice.axes[kJ], AxisList{m.y});
  EXPECT_EQ(choice.cost.bytes, 0);
}

TEST(ReshardCost, replicated_factor_takes_no_axes) {
  Matmul m(16, 16, 16);
  m.rule.factors[kI].kind = FactorKind::Replicated;
  m.lhs.dims[0].axes = m.result.dims[0].axes = {m.x};
  EXPECT_TRUE(m.choose().axes[kI].empty());
}

// Keys as in the gradients of attention: contracted in the first result, a
// dimension of the second. Only the first result is partial.
TEST(ReshardCost, partial_is_the_result_without_the_factor) {
  Matmul m(16, 16, 16);
  m.rule.results.push_back({{kK}, {kJ}});
  FactorAxes axes(3);
  axes[kK] = {m.x};
  Sharding sum = getResultSharding(m.rule, m.rule.results[0], axes);
  EXPECT_EQ(sum.unreduced, AxisList{m.x});
  Sharding part = getResultSharding(m.rule, m.rule.results[1], axes);
  EXPECT_TRUE(part.unreduced.empty());
  EXPECT_EQ(part.dims[0].axes, AxisList{m.x});
}

// This occurs in the gradients of attention. The axis shards the queries, I,
// which the second result lacks; its K has that axis. The second result is then
// partial and is scattered. No device repeats the work.
TEST(ReshardCost, each_result_forbids_only_factors_that_it_has) {
  Matmul m(16, 16, 16);
  m.rule.factors[kI].kind = FactorKind::Reduction;
  m.rule.results.push_back({{kK}, {kJ}});
  m.lhs.dims[0].axes = m.result.dims[0].axes = {m.x};
  Sharding keys = Sharding::replicatedOf(2);
  keys.dims[0].axes = {m.x};
  ReshardPlanner planner(m.mesh, m.links);
  FactorChoice choice = chooseFactors(
      planner, m.rule, {{&m.lhs, m.lhsShape, 4}, {&m.rhs, m.rhsShape, 4}},
      {{&m.result, m.resultShape, 4}, {&keys, m.resultShape, 4}});
  EXPECT_EQ(choice.axes[kI], AxisList{m.x});
  EXPECT_TRUE(choice.axes[kK].empty());
  // One reduce-scatter of the second result.
  EXPECT_EQ(choice.cost.bytes, 3 * 16 * 16 * 4 / 4);
}

// A pinned factor gets its axis although operand and result have it elsewhere.
TEST(ReshardCost, pinned_factors_move_operands_and_results) {
  Matmul m(16, 16, 16);
  m.lhs.dims[0].axes = m.result.dims[0].axes = {m.x};
  ReshardPlanner planner(m.mesh, m.links);
  FactorAxes pinned(3);
  pinned[kJ] = {m.x};
  FactorChoice choice = chooseFactors(
      planner, m.rule, {{&m.lhs, m.lhsShape, 4}, {&m.rhs, m.rhsShape, 4}},
      {{&m.result, m.resultShape, 4}}, pinned);
  EXPECT_TRUE(choice.axes[kI].empty());
  EXPECT_EQ(choice.axes[kJ], AxisList{m.x});
}
