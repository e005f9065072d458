//===- RandomNetwork.cpp - Random networks, and brute force ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomNetwork.h"

using namespace tessera::search;
using namespace tessera::search::test;

CostNetwork test::makeRandomNetwork(std::mt19937 &rng, double maxAssignments) {
  CostNetwork network;
  // Few different costs make ties.
  int64_t range = rng() % 2 ? 4 : 1000000;
  unsigned infinite = rng() % 4; // tenths
  auto draw = [&] {
    return rng() % 10 < infinite ? kInfinite : int64_t(rng() % range);
  };
  double assignments = 1;
  for (unsigned i = 0, count = 1 + rng() % 14; i < count; ++i) {
    unsigned states = 1 + rng() % 5;
    if (assignments * states > maxAssignments)
      break;
    assignments *= states;
    std::vector<int64_t> costs(states);
    for (int64_t &cost : costs)
      cost = draw();
    network.addVariable(std::move(costs));
  }
  unsigned count = network.variables.size();
  for (unsigned i = 0; i < 3; ++i) {
    CostTable table{unsigned(1 + rng() % 4), unsigned(1 + rng() % 4), {}};
    for (unsigned j = 0; j < table.rows * table.columns; ++j)
      table.costs.push_back(draw());
    network.addTable(std::move(table));
  }
  for (unsigned i = 0, edges = rng() % (4 * count); count > 1 && i < edges;
       ++i) {
    unsigned first = rng() % count, second = rng() % count;
    if (first == second)
      continue;
    if (first > second)
      std::swap(first, second);
    CostNetwork::Edge edge{first, second, unsigned(rng() % 3)};
    auto addClasses = [&](unsigned variable, unsigned limit) {
      std::vector<uint32_t> list(network.variables[variable].costs.size());
      for (uint32_t &c : list)
        c = rng() % limit;
      return network.addClasses(std::move(list));
    };
    edge.firstClasses = addClasses(first, network.tables[edge.table].rows);
    edge.secondClasses = addClasses(second, network.tables[edge.table].columns);
    edge.weight = 1 + rng() % 3;
    edge.copies = 1 + rng() % 5;
    network.edges.push_back(edge);
  }
  return network;
}

namespace {

/// Tries all assignments, depth first; each level adds the costs that it
/// completes.
class Enumerator {
public:
  Enumerator(const CostNetwork &network, BruteForce &result)
      : network(network), result(result), states(network.variables.size()),
        completed(network.variables.size()) {
    for (const CostNetwork::Edge &edge : network.edges)
      completed[edge.second].push_back(&edge);
  }

  void visit(unsigned variable, int64_t cost) {
    if (variable == states.size()) {
      result.optimum = std::min(result.optimum, cost);
      for (unsigned i = 0; i < variable; ++i)
        result.marginals[i][states[i]] =
            std::min(result.marginals[i][states[i]], cost);
      return;
    }
    for (auto [state, own] :
         llvm::enumerate(network.variables[variable].costs)) {
      states[variable] = state;
      int64_t sum = addCosts(cost, own);
      for (const CostNetwork::Edge *edge : completed[variable])
        sum = addCosts(sum,
                       network.getEdgeCost(*edge, states[edge->first], state));
      if (sum < kInfinite)
        visit(variable + 1, sum);
    }
  }

private:
  const CostNetwork &network;
  BruteForce &result;
  std::vector<unsigned> states;
  std::vector<std::vector<const CostNetwork::Edge *>> completed;
};

} // namespace

BruteForce::BruteForce(const CostNetwork &network) {
  for (const CostNetwork::Variable &variable : network.variables)
    marginals.emplace_back(variable.costs.size(), kInfinite);
  Enumerator(network, *this).visit(0, 0);
}
