//===- LocalSearchTest.cpp - Better assignments near a known one ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Search/LocalSearch.h"
#include "RandomNetwork.h"
#include "gtest/gtest.h"

using namespace tessera::search;
using namespace tessera::search::test;

/// Draws an assignment with finite cost, if a few draws find one.
static std::vector<unsigned> drawStates(const CostNetwork &network,
                                        std::mt19937 &rng) {
  for (int draw = 0; draw < 20; ++draw) {
    std::vector<unsigned> states;
    for (const CostNetwork::Variable &variable : network.variables)
      states.push_back(rng() % variable.costs.size());
    if (network.evaluate(states) < kInfinite)
      return states;
  }
  return {};
}

TEST(LocalSearch, FindsTheOptimumOfANeighborhoodOfAll) {
  std::mt19937 rng(1);
  int improved = 0;
  for (int i = 0; i < 1000; ++i) {
    CostNetwork network = makeRandomNetwork(rng, 1e4);
    std::vector<unsigned> states = drawStates(network, rng);
    if (states.empty())
      continue;
    NetworkView view(network);
    Reparametrization costs(view);
    ASSERT_TRUE(costs.sweep(/*forward=*/true));
    ASSERT_TRUE(costs.sweep(/*forward=*/false));
    int64_t before = network.evaluate(states);
    int64_t after = network.evaluate(improveStates(view, costs, states, 1e6));
    EXPECT_EQ(after, BruteForce(network).optimum) << i;
    improved += after < before;
  }
  EXPECT_GT(improved, 300);
}

TEST(LocalSearch, NothingGetsWorseWithSmallTables) {
  std::mt19937 rng(2);
  for (int i = 0; i < 1000; ++i) {
    CostNetwork network = makeRandomNetwork(rng, 1e6);
    std::vector<unsigned> states = drawStates(network, rng);
    if (states.empty())
      continue;
    NetworkView view(network);
    Reparametrization costs(view);
    ASSERT_TRUE(costs.sweep(/*forward=*/true));
    std::vector<unsigned> better =
        improveStates(view, costs, states, rng() % 40);
    EXPECT_LE(network.evaluate(better), network.evaluate(states)) << i;
  }
}

TEST(LocalSearch, RoundingTakesWhatIsCheapestWithTheEarlierOnes) {
  CostNetwork network;
  network.addVariable({0, 1});
  network.addVariable({1, 0});
  network.addEdge(0, 1, {0, 9, 9, 0});
  NetworkView view(network);
  Reparametrization costs(view);
  EXPECT_EQ(costs.round(/*forward=*/true), (std::vector<unsigned>{0, 0}));
  EXPECT_EQ(costs.round(/*forward=*/false), (std::vector<unsigned>{1, 1}));
}
