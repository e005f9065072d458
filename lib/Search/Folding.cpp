//===- Folding.cpp - Merges equal copies in a network ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Search/Folding.h"
#include "llvm/ADT/STLExtras.h"
#include <map>
#include <tuple>

using namespace tessera;
using namespace tessera::search;
using llvm::ArrayRef;

FoldedNetwork::FoldedNetwork(const CostNetwork &from, ArrayRef<unsigned> ties) {
  addVariables(from, ties);
  network.classes = from.classes;
  network.tables = from.tables;
  addEdges(from);
}

void FoldedNetwork::addVariables(const CostNetwork &from,
                                 ArrayRef<unsigned> ties) {
  for (auto [v, variable] : llvm::enumerate(from.variables)) {
    if (ties[v] == v) {
      variables.push_back(network.addVariable(variable.costs));
      continue;
    }
    unsigned folded = variables[ties[v]];
    variables.push_back(folded);
    for (auto [sum, cost] :
         llvm::zip_equal(network.variables[folded].costs, variable.costs))
      sum = addCosts(sum, cost);
  }
}

/// Adds an edge between two tied variables to the costs of their common state.
void FoldedNetwork::addLoop(const CostNetwork &from,
                            const CostNetwork::Edge &edge) {
  std::vector<int64_t> &costs = network.variables[variables[edge.first]].costs;
  for (auto [state, cost] : llvm::enumerate(costs))
    cost = addCosts(cost, from.getEdgeCost(edge, state, state));
}

static CostTable transpose(const CostTable &table) {
  CostTable turned{table.columns, table.rows, {}};
  for (unsigned column = 0; column < table.columns; ++column)
    for (unsigned row = 0; row < table.rows; ++row)
      turned.costs.push_back(table.at(row, column));
  return turned;
}

void FoldedNetwork::addEdges(const CostNetwork &from) {
  std::map<
      std::tuple<unsigned, unsigned, unsigned, unsigned, unsigned, int64_t>,
      unsigned>
      numbers;
  std::map<unsigned, unsigned> turnedTables;
  for (CostNetwork::Edge edge : from.edges) {
    unsigned first = variables[edge.first], second = variables[edge.second];
    if (first == second) {
      addLoop(from, edge);
      origins.push_back({kNone, false});
      continue;
    }
    bool isTurned = first > second;
    if (isTurned) {
      std::swap(first, second);
      std::swap(edge.firstClasses, edge.secondClasses);
      auto [it, isNew] =
          turnedTables.try_emplace(edge.table, network.tables.size());
      if (isNew)
        network.addTable(transpose(from.tables[edge.table]));
      edge.table = it->second;
    }
    edge.first = first;
    edge.second = second;
    auto [it, isNew] =
        numbers.try_emplace({first, second, edge.table, edge.firstClasses,
                             edge.secondClasses, edge.weight},
                            network.edges.size());
    if (isNew) {
      network.edges.push_back(edge);
    } else {
      network.edges[it->second].weight += edge.weight;
      network.edges[it->second].copies += edge.copies;
    }
    origins.push_back({it->second, isTurned});
  }
}

std::vector<unsigned> FoldedNetwork::unfold(ArrayRef<unsigned> states) const {
  std::vector<unsigned> all;
  for (unsigned variable : variables)
    all.push_back(states[variable]);
  return all;
}

std::vector<unsigned> FoldedNetwork::fold(ArrayRef<unsigned> states) const {
  std::vector<unsigned> folded(network.variables.size());
  for (auto [variable, state] : llvm::zip_equal(variables, states))
    folded[variable] = state;
  if (unfold(folded) != states.vec())
    return {};
  return folded;
}
