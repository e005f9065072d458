//===- FoldingTest.cpp - Folded networks compared with brute force --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Search/Folding.h"
#include "RandomNetwork.h"
#include "gtest/gtest.h"
#include <numeric>

using namespace tessera::search;
using namespace tessera::search::test;

namespace {

/// A row of equal blocks, with a variable before, one after, and one that all
/// blocks share.
struct Layers {
  CostNetwork network;
  std::vector<unsigned> ties;
};

/// Draws a random table between two variables with given numbers of states.
class TableDrawer {
public:
  explicit TableDrawer(std::mt19937 &rng)
      : rng(rng), range(rng() % 2 ? 4 : 1000), infinite(rng() % 2) {}

  int64_t draw() {
    return rng() % 10 < infinite ? kInfinite : int64_t(rng() % range);
  }
  std::vector<int64_t> draw(size_t count) {
    std::vector<int64_t> costs(count);
    for (int64_t &cost : costs)
      cost = draw();
    return costs;
  }

private:
  std::mt19937 &rng;
  unsigned range, infinite;
};

} // namespace

static Layers makeLayers(std::mt19937 &rng) {
  TableDrawer drawer(rng);
  unsigned layers = 2 + rng() % 3, size = 1 + rng() % 3;
  std::vector<std::vector<int64_t>> block;
  for (unsigned i = 0; i < size; ++i)
    block.push_back(drawer.draw(1 + rng() % 3));
  Layers made;
  CostNetwork &network = made.network;
  unsigned before = network.addVariable(drawer.draw(2));
  unsigned shared = network.addVariable(drawer.draw(2));
  unsigned first = network.variables.size();
  for (unsigned layer = 0; layer < layers; ++layer)
    for (const std::vector<int64_t> &costs : block)
      network.addVariable(costs);
  unsigned after = network.addVariable(drawer.draw(2));
  auto getStates = [&](unsigned variable) {
    return network.variables[variable].costs.size();
  };
  /// Joins `a` of each layer with `b` of the layer `step` later, if both exist.
  auto joinAll = [&](unsigned a, unsigned b, unsigned step) {
    std::vector<int64_t> costs = drawer.draw(block[a].size() * block[b].size());
    unsigned last = 0;
    for (unsigned layer = 0; layer + step < layers; ++layer) {
      unsigned from = first + layer * size + a;
      unsigned to = first + (layer + step) * size + b;
      network.addEdge(from, to, costs);
      // Equal layers share tables and classes.
      CostNetwork::Edge &edge = network.edges.back();
      if (layer > 0) {
        edge.table = network.edges[last].table;
        edge.firstClasses = network.edges[last].firstClasses;
        edge.secondClasses = network.edges[last].secondClasses;
      }
      edge.weight = 2;
      last = network.edges.size() - 1;
    }
  };
  for (unsigned a = 0; a < size; ++a)
    for (unsigned b = a + 1; b < size; ++b)
      if (rng() % 2)
        joinAll(a, b, 0);
  // The last variable of a layer may also be the first one.
  joinAll(size - 1, 0, 1);
  if (rng() % 2)
    joinAll(rng() % size, rng() % size, 1);
  unsigned user = rng() % size;
  std::vector<int64_t> ofShared = drawer.draw(2 * block[user].size());
  for (unsigned layer = 0; layer < layers; ++layer)
    network.addEdge(shared, first + layer * size + user, ofShared);
  network.addEdge(before, first, drawer.draw(2 * getStates(first)));
  network.addEdge(after - 1, after, drawer.draw(2 * getStates(after - 1)));
  made.ties.resize(network.variables.size());
  std::iota(made.ties.begin(), made.ties.end(), 0u);
  for (unsigned v = first + size; v < after; ++v)
    made.ties[v] = made.ties[v - size];
  return made;
}

TEST(Folding, AssignmentsCostWhatTheirCopiesDo) {
  std::mt19937 rng(1);
  for (int i = 0; i < 500; ++i) {
    Layers layers = makeLayers(rng);
    FoldedNetwork folded(layers.network, layers.ties);
    ASSERT_FALSE(bool(folded.network.check())) << i;
    EXPECT_LT(folded.network.variables.size(), layers.network.variables.size());
    for (int draw = 0; draw < 20; ++draw) {
      std::vector<unsigned> states;
      for (const CostNetwork::Variable &variable : folded.network.variables)
        states.push_back(rng() % variable.costs.size());
      std::vector<unsigned> all = folded.unfold(states);
      EXPECT_EQ(folded.network.evaluate(states), layers.network.evaluate(all));
      EXPECT_EQ(folded.fold(all), states);
    }
  }
}

TEST(Folding, UnequalCopiesHaveNoFoldedAssignment) {
  CostNetwork network;
  network.addVariable({0, 1});
  network.addVariable({0, 1});
  FoldedNetwork folded(network, {0, 0});
  EXPECT_EQ(folded.fold({1, 1}), std::vector<unsigned>{1});
  EXPECT_TRUE(folded.fold({0, 1}).empty());
}

TEST(Folding, BoundsTheUnfoldedNetwork) {
  std::mt19937 rng(2);
  int periodic = 0, closed = 0, improved = 0;
  for (int i = 0; i < 2000; ++i) {
    Layers layers = makeLayers(rng);
    BruteForce all(layers.network);
    FoldedNetwork folded(layers.network, layers.ties);
    auto best = solve(folded.network);
    if (!best) {
      llvm::consumeError(best.takeError());
      continue;
    }
    // Compares with the best solution in which equal layers are equal.
    EXPECT_EQ(best->cost, BruteForce(folded.network).optimum) << i;
    EXPECT_GE(best->cost, all.optimum) << i;
    periodic += best->cost == all.optimum;
    NetworkSolution known;
    known.states = folded.unfold(best->states);
    known.cost = best->cost;
    SolveLimits limits;
    limits.sweeps = rng() % 20;
    // Everything depends on sweeps if there are no tables.
    limits.tableEntries = rng() % 2 ? 3e6 : 0;
    // A bound that is close enough ends the search early, and it holds.
    limits.gap = 0.3;
    EXPECT_LE(boundUnfolded(layers.network, folded, known, limits).bound,
              all.optimum)
        << i;
    limits.gap = 0;
    NetworkSolution bounded =
        boundUnfolded(layers.network, folded, known, limits);
    EXPECT_LE(bounded.bound, all.optimum) << i;
    EXPECT_GE(bounded.bound, 0) << i;
    EXPECT_LE(bounded.cost, best->cost) << i;
    EXPECT_EQ(layers.network.evaluate(bounded.states), bounded.cost) << i;
    closed += bounded.isOptimal();
    improved += bounded.cost < best->cost;
    if (limits.tableEntries > 0) {
      EXPECT_EQ(bounded.cost, all.optimum) << i;
      EXPECT_TRUE(bounded.isOptimal()) << i;
    }
  }
  EXPECT_GT(periodic, 300);
  EXPECT_GT(improved, 100);
  EXPECT_GT(closed, 1000);
}

TEST(Folding, MessagesBoundWithoutASweep) {
  // Ten equal layers of two variables; equal states of neighbors cost
  // least.
  CostNetwork network;
  std::vector<unsigned> ties;
  for (unsigned layer = 0; layer < 10; ++layer) {
    ties.insert(ties.end(), {0, 1});
    network.addVariable({3, 4, 9});
    network.addVariable({7, 2, 0});
  }
  std::vector<int64_t> apart = {0, 5, 5, 5, 0, 5, 5, 5, 0};
  for (unsigned v = 0; v + 1 < network.variables.size(); ++v) {
    network.addEdge(v, v + 1, apart);
    CostNetwork::Edge &edge = network.edges.back();
    edge.table = edge.firstClasses = edge.secondClasses = 0;
  }
  FoldedNetwork folded(network, ties);
  // One edge is within a layer, the other from its end to the next layer's
  // start.
  EXPECT_EQ(folded.network.edges.size(), 2u);
  EXPECT_EQ(folded.network.edges[0].copies, 10);
  EXPECT_EQ(folded.network.edges[1].copies, 9);
  auto best = solve(folded.network);
  ASSERT_TRUE(bool(best));
  NetworkSolution known;
  known.states = folded.unfold(best->states);
  known.cost = network.evaluate(known.states);
  EXPECT_EQ(known.cost, 60);
  SolveLimits limits;
  limits.sweeps = 2;
  limits.tableEntries = 0;
  EXPECT_EQ(boundUnfolded(network, folded, known, limits).bound, 60);
}
