//===- OpStatesTest.cpp - The ways of running an op -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/ShardingSearch/OpStates.h"
#include "gtest/gtest.h"

using namespace tessera;

namespace {

/// ([i,k],[k,j])->([i,j]).
ShardingRule makeMatmul(int64_t i, int64_t j, int64_t k) {
  ShardingRule rule;
  unsigned fi = rule.addFactor(i), fj = rule.addFactor(j),
           fk = rule.addFactor(k, FactorKind::Reduction);
  rule.operands = {{{fi}, {fk}}, {{fk}, {fj}}};
  rule.results = {{{fi}, {fj}}};
  return rule;
}

OpChoices makeChoices(const ShardingRule &rule, llvm::ArrayRef<int64_t> sizes) {
  OpChoices choices;
  for (auto [axis, size] : llvm::enumerate(sizes))
    choices.units.push_back({AxisRef{static_cast<unsigned>(axis), 1, size}});
  choices.unpaddable.resize(rule.factors.size());
  return choices;
}

TEST(OpStates, an_axis_is_on_a_factor_or_on_none) {
  ShardingRule rule = makeMatmul(8, 8, 8);
  OpChoices choices = makeChoices(rule, {4});
  std::vector<RunState> states = getOpStates(rule, choices);
  ASSERT_EQ(states.size(), 4u);
  for (const AxisList &axes : states[0].axes)
    EXPECT_TRUE(axes.empty());
}

TEST(OpStates, two_axes_on_a_factor_have_two_orders) {
  ShardingRule rule = makeMatmul(16, 16, 16);
  // 4 for the first; the second has 4 and an additional order on the same
  // factor.
  EXPECT_EQ(getOpStates(rule, makeChoices(rule, {2, 4})).size(), 19u);
}

TEST(OpStates, a_linear_op_may_leave_operands_partial) {
  ShardingRule rule = makeMatmul(8, 8, 8);
  OpChoices choices = makeChoices(rule, {4});
  llvm::SmallBitVector first(2);
  first.set(0);
  choices.linear.push_back(first);
  std::vector<RunState> states = getOpStates(rule, choices);
  ASSERT_EQ(states.size(), 5u);
  EXPECT_EQ(states.back().partial, choices.units[0]);
  EXPECT_TRUE(states.back().partialOperands.test(0));
  EXPECT_FALSE(states.back().partialOperands.test(1));
}

TEST(OpStates, padding_is_a_quarter_at_most) {
  EXPECT_EQ(getShardSize(259, 4), 65);
  EXPECT_EQ(getShardSize(4, 5), 1);
  EXPECT_EQ(getShardSize(3, 4), std::nullopt);
  ShardingRule rule = makeMatmul(259, 3, 8);
  OpChoices choices = makeChoices(rule, {4});
  // Allowed on i and k, not on j.
  EXPECT_EQ(getOpStates(rule, choices).size(), 3u);
  choices.unpaddable.set(0);
  EXPECT_EQ(getOpStates(rule, choices).size(), 2u);
}

TEST(OpStates, pinned_axes_stay) {
  ShardingRule rule = makeMatmul(8, 8, 8);
  OpChoices choices = makeChoices(rule, {4});
  choices.pinned = {{}, choices.units[0], {}};
  std::vector<RunState> states = getOpStates(rule, choices);
  ASSERT_EQ(states.size(), 1u);
  EXPECT_EQ(states[0].axes[1], choices.units[0]);
}

TEST(OpStates, an_axis_is_split_over_groups_and_heads) {
  // 4 groups of 6 heads on 8 devices.
  ShardingRule rule;
  unsigned groups = rule.addFactor(4), heads = rule.addFactor(6);
  rule.operands = {{{groups}, {heads}}};
  rule.results.push_back(rule.operands[0]);
  std::vector<RunState> states = getOpStates(rule, makeChoices(rule, {8}));
  bool isSplit = false;
  for (const RunState &state : states)
    isSplit |= state.axes[groups] == AxisList{{0, 1, 4}} &&
               state.axes[heads] == AxisList{{0, 4, 2}};
  EXPECT_TRUE(isSplit);
}

} // namespace
