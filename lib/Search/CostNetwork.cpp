//===- CostNetwork.cpp - Building, checking and printing a network --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Search/CostNetwork.h"
#include "tessera/Support/Errors.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <numeric>

using namespace tessera;
using namespace tessera::search;
using llvm::ArrayRef;
using llvm::createStringError;
using llvm::Error;
using llvm::Twine;

unsigned CostNetwork::addVariable(std::vector<int64_t> costs) {
  variables.push_back({std::move(costs)});
  return variables.size() - 1;
}

unsigned CostNetwork::addTable(CostTable table) {
  tables.push_back(std::move(table));
  return tables.size() - 1;
}

unsigned CostNetwork::addClasses(std::vector<uint32_t> classesOfStates) {
  classes.push_back(std::move(classesOfStates));
  return classes.size() - 1;
}

void CostNetwork::addEdge(unsigned first, unsigned second,
                          std::vector<int64_t> costs) {
  auto addAll = [&](unsigned variable) {
    std::vector<uint32_t> all(variables[variable].costs.size());
    std::iota(all.begin(), all.end(), 0u);
    return addClasses(std::move(all));
  };
  Edge edge{first, second, 0, addAll(first), addAll(second)};
  edge.table =
      addTable({unsigned(variables[first].costs.size()),
                unsigned(variables[second].costs.size()), std::move(costs)});
  edges.push_back(edge);
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static Error checkCosts(ArrayRef<int64_t> costs) {
  for (int64_t cost : costs)
    if (cost < 0 || cost > kInfinite)
      return createStringError("expects costs from 0 to infinity but got " +
                               Twine(cost));
  return Error::success();
}

static Error checkTable(const CostTable &table) {
  if (table.costs.size() != size_t(table.rows) * table.columns)
    return createStringError("expects " + Twine(table.rows) + " x " +
                             Twine(table.columns) + " costs but got " +
                             Twine(table.costs.size()));
  return checkCosts(table.costs);
}

static Error checkClasses(const CostNetwork &network, unsigned number,
                          unsigned variable, unsigned limit) {
  if (number >= network.classes.size())
    return createStringError("expects one of " + Twine(network.classes.size()) +
                             " lists of classes but got " + Twine(number));
  ArrayRef<uint32_t> list = network.classes[number];
  size_t states = network.variables[variable].costs.size();
  if (list.size() != states)
    return createStringError("expects a class for each of the " +
                             Twine(states) + " states of variable " +
                             Twine(variable) + " but got " +
                             Twine(list.size()));
  for (uint32_t c : list)
    if (c >= limit)
      return createStringError("expects classes below " + Twine(limit) +
                               " but got " + Twine(c));
  return Error::success();
}

static Error checkEdge(const CostNetwork &network,
                       const CostNetwork::Edge &edge) {
  if (edge.first >= edge.second || edge.second >= network.variables.size())
    return createStringError("expects two of " +
                             Twine(network.variables.size()) +
                             " variables in order but got " +
                             Twine(edge.first) + " and " + Twine(edge.second));
  if (edge.table >= network.tables.size())
    return createStringError("expects one of " + Twine(network.tables.size()) +
                             " tables but got " + Twine(edge.table));
  if (edge.weight < 1)
    return createStringError("expects a weight of 1 or more but got " +
                             Twine(edge.weight));
  if (edge.copies < 1)
    return createStringError("expects an edge that stands for 1 or more but "
                             "got " +
                             Twine(edge.copies));
  const CostTable &table = network.tables[edge.table];
  if (Error error =
          checkClasses(network, edge.firstClasses, edge.first, table.rows))
    return error;
  return checkClasses(network, edge.secondClasses, edge.second, table.columns);
}

int64_t search::getLargestFinite(ArrayRef<int64_t> costs) {
  int64_t largest = 0;
  for (int64_t cost : costs)
    if (cost < kInfinite)
      largest = std::max(largest, cost);
  return largest;
}

/// The sum that kMaxTotal limits. Costs and numbers must be checked before.
static double getTotal(const CostNetwork &network) {
  double total = 0;
  for (const CostNetwork::Variable &variable : network.variables)
    total += double(getLargestFinite(variable.costs));
  std::vector<int64_t> largest;
  for (const CostTable &table : network.tables)
    largest.push_back(getLargestFinite(table.costs));
  for (const CostNetwork::Edge &edge : network.edges)
    total += double(largest[edge.table]) * double(edge.weight);
  return total;
}

Error CostNetwork::check() const {
  for (auto [i, variable] : llvm::enumerate(variables)) {
    if (variable.costs.empty())
      return createStringError("variable " + Twine(i) +
                               ": expects a state but got none");
    if (Error error = checkCosts(variable.costs))
      return prefixError("variable " + Twine(i) + ": ", std::move(error));
  }
  for (auto [i, table] : llvm::enumerate(tables))
    if (Error error = checkTable(table))
      return prefixError("table " + Twine(i) + ": ", std::move(error));
  for (auto [i, edge] : llvm::enumerate(edges))
    if (Error error = checkEdge(*this, edge))
      return prefixError("edge " + Twine(i) + ": ", std::move(error));
  if (double total = getTotal(*this); total > double(kMaxTotal))
    return createStringError("expects finite costs that sum to " +
                             Twine(kMaxTotal) + " at most but got about " +
                             llvm::formatv("{0:E2}", total).str());
  return Error::success();
}

Error CostNetwork::checkStates(ArrayRef<unsigned> states) const {
  if (states.size() != variables.size())
    return createStringError("expects a state for each of the " +
                             Twine(variables.size()) + " variables but got " +
                             Twine(states.size()));
  for (auto [i, state] : llvm::enumerate(states))
    if (state >= variables[i].costs.size())
      return createStringError(
          "variable " + Twine(i) + ": expects a state below " +
          Twine(variables[i].costs.size()) + " but got " + Twine(state));
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Costs and text
//===----------------------------------------------------------------------===//

int64_t CostNetwork::evaluate(ArrayRef<unsigned> states) const {
  int64_t cost = 0;
  for (auto [variable, state] : llvm::zip_equal(variables, states))
    cost = addCosts(cost, variable.costs[state]);
  for (const Edge &edge : edges)
    cost = addCosts(cost,
                    getEdgeCost(edge, states[edge.first], states[edge.second]));
  return cost;
}

void CostNetwork::writeCfn(llvm::raw_ostream &os, llvm::StringRef name) const {
  // toulbar2 treats costs from the upper bound on as infinite. It is above any
  // finite sum, even after rounding.
  int64_t top = int64_t(getTotal(*this) * (1 + 1e-9)) + 2;
  auto print = [&](int64_t cost) { os << std::min(cost, top); };
  os << "{\"problem\": {\"name\": \"" << name << "\", \"mustbe\": \"<" << top
     << "\"},\n\"variables\": {";
  for (auto [i, variable] : llvm::enumerate(variables)) {
    os << (i ? ",\n" : "\n") << "\"v" << i << "\": [";
    for (size_t state = 0; state < variable.costs.size(); ++state)
      os << (state ? ", " : "") << "\"s" << state << '"';
    os << ']';
  }
  os << "\n},\n\"functions\": {";
  for (auto [i, variable] : llvm::enumerate(variables)) {
    os << (i ? ",\n" : "\n") << "\"v" << i << "\": {\"scope\": [\"v" << i
       << "\"], \"costs\": [";
    llvm::interleaveComma(variable.costs, os, print);
    os << "]}";
  }
  for (auto [i, edge] : llvm::enumerate(edges)) {
    os << ",\n\"e" << i << "\": {\"scope\": [\"v" << edge.first << "\", \"v"
       << edge.second << "\"], \"costs\": [";
    bool first = true;
    for (size_t a = 0; a < variables[edge.first].costs.size(); ++a)
      for (size_t b = 0; b < variables[edge.second].costs.size(); ++b) {
        os << (first ? "" : ", ");
        first = false;
        print(getEdgeCost(edge, a, b));
      }
    os << "]}";
  }
  os << "\n}}\n";
}
