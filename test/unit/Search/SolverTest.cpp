//===- SolverTest.cpp - Solutions compared with brute force ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Search/Solver.h"
#include "RandomNetwork.h"
#include "lib/Search/Reparametrization.h"
#include "gtest/gtest.h"

using namespace tessera::search;
using namespace tessera::search::test;

static constexpr int kNetworks = 2000;
static constexpr double kMaxAssignments = 1e5;

/// Limits with which exact elimination solves everything, nothing, or a part.
static SolveLimits drawLimits(std::mt19937 &rng) {
  SolveLimits limits;
  limits.sweeps = rng() % 2 ? 100 : rng() % 4;
  limits.tableEntries = rng() % 2 ? 3e6 : rng() % 12;
  limits.nodes = ~0u;
  return limits;
}

TEST(Solver, OptimumEqualsBruteForce) {
  std::mt19937 rng(1);
  int infeasible = 0, branched = 0;
  for (int i = 0; i < kNetworks; ++i) {
    CostNetwork network = makeRandomNetwork(rng, kMaxAssignments);
    BruteForce all(network);
    auto solution = solve(network, drawLimits(rng));
    if (all.optimum >= kInfinite) {
      ++infeasible;
      ASSERT_FALSE(bool(solution)) << i;
      EXPECT_EQ(
          llvm::toString(solution.takeError()),
          "expects an assignment of finite cost but the network has none");
      continue;
    }
    ASSERT_TRUE(bool(solution)) << i << llvm::toString(solution.takeError());
    EXPECT_EQ(solution->cost, all.optimum) << i;
    EXPECT_EQ(solution->bound, all.optimum) << i;
    EXPECT_EQ(network.evaluate(solution->states), all.optimum) << i;
    branched += solution->nodes > 0;
  }
  // The random networks cover all cases.
  EXPECT_GT(infeasible, 50);
  EXPECT_GT(branched, 15);
}

TEST(Solver, BoundHoldsWhereNodesEnd) {
  std::mt19937 rng(2);
  int open = 0;
  for (int i = 0; i < kNetworks; ++i) {
    CostNetwork network = makeRandomNetwork(rng, 1e4);
    BruteForce all(network);
    SolveLimits limits;
    limits.sweeps = rng() % 3;
    limits.tableEntries = rng() % 8;
    limits.nodes = rng() % 4;
    auto solution = solve(network, limits);
    if (!solution) {
      std::string error = llvm::toString(solution.takeError());
      EXPECT_TRUE(all.optimum >= kInfinite ||
                  error == "no assignment of finite cost was found within the "
                           "limits")
          << error;
      continue;
    }
    EXPECT_LE(solution->bound, all.optimum) << i;
    EXPECT_GE(solution->cost, all.optimum) << i;
    EXPECT_EQ(network.evaluate(solution->states), solution->cost) << i;
    open += !solution->isOptimal();
  }
  EXPECT_GT(open, 10);
}

TEST(Solver, MinMarginalsEqualBruteForce) {
  std::mt19937 rng(3);
  int bounded = 0;
  for (int i = 0; i < kNetworks; ++i) {
    CostNetwork network = makeRandomNetwork(rng, kMaxAssignments / 10);
    BruteForce all(network);
    if (all.optimum >= kInfinite)
      continue;
    auto solution = solve(network);
    ASSERT_TRUE(bool(solution));
    SolveLimits limits;
    limits.sweeps = 4;
    bool small = i % 2;
    if (small)
      limits.tableEntries = rng() % 40;
    auto marginals = minMarginals(network, *solution, limits);
    ASSERT_TRUE(bool(marginals));
    for (unsigned v = 0; v < marginals->size(); ++v)
      for (unsigned s = 0; s < (*marginals)[v].size(); ++s) {
        const MinMarginal &marginal = (*marginals)[v][s];
        if (marginal.exact)
          EXPECT_EQ(marginal.cost, all.marginals[v][s]) << i;
        else
          EXPECT_LE(marginal.cost, all.marginals[v][s]) << i;
        EXPECT_TRUE(small || marginal.exact) << i;
        bounded += !marginal.exact;
      }
  }
  EXPECT_GT(bounded, 1000);
}

TEST(Solver, FixingKeepsEveryOptimum) {
  std::mt19937 rng(4);
  size_t removed = 0;
  for (int i = 0; i < kNetworks; ++i) {
    CostNetwork network = makeRandomNetwork(rng, kMaxAssignments / 10);
    BruteForce all(network);
    if (all.optimum >= kInfinite)
      continue;
    NetworkView view(network);
    Reparametrization costs(view);
    for (int sweep = 0; sweep < 10; ++sweep) {
      ASSERT_TRUE(costs.sweep(sweep % 2 == 0, all.optimum));
      EXPECT_LE(costs.getBound(), all.optimum) << i;
    }
    for (unsigned v = 0; v < all.marginals.size(); ++v)
      for (unsigned s = 0; s < all.marginals[v].size(); ++s) {
        removed += !costs.isAlive(v, s);
        if (all.marginals[v][s] == all.optimum) {
          EXPECT_TRUE(costs.isAlive(v, s)) << i << ' ' << v << ' ' << s;
          EXPECT_LE(costs.getMarginalBound(v, s), all.optimum) << i;
        }
      }
  }
  EXPECT_GT(removed, 10000u);
}

/// The excess of a state over the cheapest state of its variable when the last
/// sweep processed it.
static int64_t getExcess(const Reparametrization &costs, unsigned variable,
                         unsigned state, size_t states) {
  int64_t least = kInfinite;
  for (unsigned other = 0; other < states; ++other)
    least = std::min(least, costs.getMarginalBound(variable, other));
  return costs.getMarginalBound(variable, state) - least;
}

TEST(Solver, ReducedCostsGoWithTheBoundBeforeTheSweep) {
  // The bound after a sweep includes the cost that the sweep took from a state;
  // adding the state's cost would count it twice.
  std::mt19937 rng(5);
  int wrongAfter = 0;
  for (int i = 0; i < 300; ++i) {
    CostNetwork network = makeRandomNetwork(rng, 1e4);
    BruteForce all(network);
    NetworkView view(network);
    Reparametrization costs(view);
    if (all.optimum >= kInfinite || !costs.sweep(/*forward=*/true))
      continue;
    int64_t before = costs.getBound();
    ASSERT_TRUE(costs.sweep(/*forward=*/false));
    bool wrong = false;
    for (unsigned v = 0; v < all.marginals.size(); ++v)
      for (unsigned s = 0; s < all.marginals[v].size(); ++s) {
        if (!costs.isAlive(v, s))
          continue;
        int64_t excess = getExcess(costs, v, s, all.marginals[v].size());
        EXPECT_LE(before + excess, all.marginals[v][s]) << i;
        wrong |= costs.getBound() + excess > all.marginals[v][s];
      }
    wrongAfter += wrong;
  }
  EXPECT_GT(wrongAfter, 10);
}

TEST(Solver, SameResultEachRun) {
  std::mt19937 rng(6);
  for (int i = 0; i < 200; ++i) {
    CostNetwork network = makeRandomNetwork(rng, 1e4);
    SolveLimits limits = drawLimits(rng);
    auto first = solve(network, limits), second = solve(network, limits);
    ASSERT_EQ(bool(first), bool(second));
    if (!first) {
      llvm::consumeError(first.takeError());
      llvm::consumeError(second.takeError());
      continue;
    }
    EXPECT_EQ(first->states, second->states);
    EXPECT_EQ(first->nodes, second->nodes);
  }
}

TEST(Solver, StartsFromIncumbents) {
  CostNetwork network;
  network.addVariable({5, 1});
  network.addVariable({0, 2});
  network.addEdge(0, 1, {0, 9, 9, 0});
  auto solution = solve(network, {}, {{1, 1}});
  ASSERT_TRUE(bool(solution));
  EXPECT_EQ(solution->states, (std::vector<unsigned>{1, 1}));
  EXPECT_EQ(solution->cost, 3);
  // A better one is found.
  auto better = solve(network, {}, {{0, 0}});
  ASSERT_TRUE(bool(better));
  EXPECT_EQ(better->cost, 3);
  for (auto [states, message] :
       {std::pair<std::vector<unsigned>, const char *>{
            {0},
            "incumbent 0: expects a state for each of the 2 variables but "
            "got 1"},
        {{0, 2},
         "incumbent 0: variable 1: expects a state below 2 but got 2"}}) {
    auto refused = solve(network, {}, {states});
    ASSERT_FALSE(bool(refused));
    EXPECT_EQ(llvm::toString(refused.takeError()), message);
  }
}

TEST(Solver, StartsFromMessages) {
  // The messages come from a network with other costs.
  std::mt19937 rng(8);
  int started = 0;
  for (int i = 0; i < 500; ++i) {
    CostNetwork network = makeRandomNetwork(rng, 1e4);
    SolveLimits limits = drawLimits(rng);
    auto first = solve(network, limits);
    if (!first) {
      llvm::consumeError(first.takeError());
      continue;
    }
    for (CostTable &table : network.tables)
      for (int64_t &cost : table.costs)
        cost = addCosts(cost, rng() % 3);
    BruteForce all(network);
    auto second = solve(network, limits, {}, first->messages);
    ASSERT_TRUE(bool(second)) << i << llvm::toString(second.takeError());
    EXPECT_EQ(second->cost, all.optimum) << i;
    EXPECT_EQ(second->bound, all.optimum) << i;
    started += !first->messages.empty();
  }
  EXPECT_GT(started, 200);
}

TEST(Solver, MessagesOfOtherEdgesAreRefused) {
  CostNetwork network;
  network.addVariable({5, 1});
  network.addVariable({0, 2, 3});
  network.addEdge(0, 1, {0, 9, 9, 0, 1, 1});
  for (auto [messages, text] :
       {std::pair<Messages, const char *>{
            {{0, 0}, {0, 0}}, "expects messages of 1 edges but got 2"},
        {{{0, 0, 0}}, "messages of edge 0: expects 2 states but got 3"}}) {
    auto refused = solve(network, {}, {}, messages);
    ASSERT_FALSE(bool(refused));
    EXPECT_EQ(llvm::toString(refused.takeError()), text);
  }
}

TEST(Solver, OneSweepBoundsAsMuchWithLittleMemory) {
  std::mt19937 rng(9);
  int infinite = 0;
  for (int i = 0; i < kNetworks; ++i) {
    CostNetwork network = makeRandomNetwork(rng, 1e4);
    NetworkView view(network);
    Reparametrization costs(view);
    if (!costs.sweep(/*forward=*/true) || !costs.sweep(/*forward=*/false))
      continue;
    Messages messages = costs.getMoved();
    Reparametrization swept(view);
    swept.start(messages);
    bool isLeft = swept.sweep(/*forward=*/true);
    int64_t bound = boundBySweep(
        view, [&](unsigned edge) { return llvm::ArrayRef(messages[edge]); });
    EXPECT_EQ(bound, isLeft ? swept.getBound() : kInfinite) << i;
    infinite += !isLeft;
  }
  EXPECT_LT(infinite, kNetworks / 2);
}

TEST(Solver, EmptyNetwork) {
  auto solution = solve(CostNetwork());
  ASSERT_TRUE(bool(solution));
  EXPECT_EQ(solution->cost, 0);
  EXPECT_TRUE(solution->isOptimal());
}

TEST(Solver, EdgesThatStandForManyGetAsManyShares) {
  // 0 --- 1    with three copies
  //  \--- 2
  CostNetwork network;
  network.addVariable({0, 80});
  network.addVariable({0, 0});
  network.addVariable({0, 0});
  network.addEdge(0, 1, {0, 0, 0, 0});
  network.addEdge(0, 2, {0, 0, 0, 0});
  network.edges[0].copies = 3;
  NetworkView view(network);
  Reparametrization costs(view);
  ASSERT_TRUE(costs.sweep(/*forward=*/true));
  EXPECT_EQ(costs.getMoved(0, /*isFirst=*/true),
            (std::vector<int64_t>{0, -60}));
  EXPECT_EQ(costs.getMoved(1, /*isFirst=*/true),
            (std::vector<int64_t>{0, -20}));
}

TEST(Solver, StatesThatAreLeftKeepTheirNumbers) {
  // Sweeps copy the remaining network without states 0, 1 and 3.
  CostNetwork network;
  network.addVariable({50, 60, 3, 70, 4});
  network.addVariable({0, 1});
  network.addEdge(0, 1, {0, 0, 0, 0, 2, 0, 0, 0, 0, 2});
  NetworkView view(network);
  Reparametrization costs(view);
  for (bool forward : {true, false, true, false})
    ASSERT_TRUE(costs.sweep(forward, /*limit=*/6));
  EXPECT_EQ(costs.getBound(), 4);
  EXPECT_EQ(costs.getStates(0), (std::vector<unsigned>{2, 4}));
  for (unsigned state : {0u, 1u, 3u}) {
    EXPECT_FALSE(costs.isAlive(0, state));
    EXPECT_EQ(costs.getMarginalBound(0, state), kInfinite);
  }
  EXPECT_EQ(costs.getMoved(0, /*isFirst=*/true).size(), 5u);
  // States 4 and 0 cost 4, and so do 2 and 1; 2 and 0 cost 5.
  EXPECT_EQ(network.evaluate(costs.round(/*forward=*/true)), 4);
  EXPECT_EQ(costs.getBound() + costs.getCost(0, 4) + costs.getCost(1, 0) +
                costs.getResidual(0, 4, 0),
            4);
  EXPECT_EQ(costs.getBound() + costs.getCost(0, 2) + costs.getCost(1, 0) +
                costs.getResidual(0, 2, 0),
            5);
}
