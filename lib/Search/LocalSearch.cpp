//===- LocalSearch.cpp - Improves a known assignment ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalSearch.h"
#include "llvm/ADT/STLExtras.h"

using namespace tessera;
using namespace tessera::search;

/// The most and the fewest free variables.
static constexpr size_t kMostFree = 64, kLeastFree = 2;
/// The most centers of a pass, and the most passes.
static constexpr size_t kMostCenters = 48;
static constexpr unsigned kMostPasses = 4;

namespace {

class LocalSearch {
public:
  LocalSearch(const NetworkView &view, const Reparametrization &costs,
              std::vector<unsigned> states, double entries)
      : view(view), network(view.network), costs(costs), entries(entries),
        states(std::move(states)) {}

  std::vector<unsigned> run();

private:
  std::vector<unsigned> getCenters() const;
  std::vector<unsigned> getNeighborhood(unsigned center, size_t size) const;
  CostNetwork makeShape(llvm::ArrayRef<unsigned> free,
                        const Domains &domains) const;
  void fillCosts(CostNetwork &part, llvm::ArrayRef<unsigned> free,
                 const Domains &domains) const;
  bool improveAround(unsigned center);

  const NetworkView &view;
  const CostNetwork &network;
  const Reparametrization &costs;
  double entries;
  std::vector<unsigned> states;
};

} // namespace

/// The position of a free variable; the number of free variables for others.
static unsigned find(llvm::ArrayRef<unsigned> free, unsigned variable) {
  const unsigned *it = llvm::lower_bound(free, variable);
  return it == free.end() || *it != variable ? free.size() : it - free.begin();
}

/// The variables at which the assignment exceeds the bound, the largest excess
/// first.
std::vector<unsigned> LocalSearch::getCenters() const {
  std::vector<int64_t> above;
  for (auto [variable, state] : llvm::enumerate(states))
    above.push_back(costs.getCost(variable, state));
  for (auto [e, edge] : llvm::enumerate(network.edges)) {
    // A removed state is an excess by itself.
    if (!costs.isAlive(edge.first, states[edge.first]) ||
        !costs.isAlive(edge.second, states[edge.second]))
      continue;
    int64_t cost =
        costs.getResidual(e, states[edge.first], states[edge.second]);
    above[edge.first] = addCosts(above[edge.first], cost);
    above[edge.second] = addCosts(above[edge.second], cost);
  }
  std::vector<unsigned> centers;
  for (unsigned variable = 0; variable < states.size(); ++variable)
    if (above[variable] > 0)
      centers.push_back(variable);
  llvm::stable_sort(
      centers, [&](unsigned a, unsigned b) { return above[a] > above[b]; });
  centers.resize(std::min(centers.size(), kMostCenters));
  return centers;
}

/// The nearest variables with several states, in order.
std::vector<unsigned> LocalSearch::getNeighborhood(unsigned center,
                                                   size_t size) const {
  std::vector<unsigned> free{center};
  std::vector<bool> isSeen(states.size());
  isSeen[center] = true;
  auto add = [&](unsigned variable) {
    if (!isSeen[variable] && free.size() < size &&
        costs.countStates(variable) > 1) {
      isSeen[variable] = true;
      free.push_back(variable);
    }
  };
  for (size_t i = 0; i < free.size(); ++i) {
    unsigned variable = free[i];
    for (unsigned e : view.earlier[variable])
      add(network.edges[e].first);
    for (unsigned e : view.later[variable])
      add(network.edges[e].second);
  }
  llvm::sort(free);
  return free;
}

/// The network of the free variables without costs: shows the size of an
/// elimination.
CostNetwork LocalSearch::makeShape(llvm::ArrayRef<unsigned> free,
                                   const Domains &domains) const {
  CostNetwork shape;
  for (const std::vector<unsigned> &states : domains)
    shape.addVariable(std::vector<int64_t>(states.size()));
  for (auto [i, variable] : llvm::enumerate(free))
    for (unsigned e : view.earlier[variable]) {
      unsigned other = find(free, network.edges[e].first);
      if (other < free.size())
        shape.edges.push_back({other, unsigned(i)});
    }
  return shape;
}

/// Adds the costs of the free variables, among themselves and with the others.
void LocalSearch::fillCosts(CostNetwork &part, llvm::ArrayRef<unsigned> free,
                            const Domains &domains) const {
  part.edges.clear();
  auto addFixed = [&](unsigned i, auto getCost) {
    for (auto [sum, state] :
         llvm::zip_equal(part.variables[i].costs, domains[i]))
      sum = addCosts(sum, getCost(state));
  };
  for (auto [i, variable] : llvm::enumerate(free)) {
    addFixed(i, [&](unsigned state) {
      return network.variables[variable].costs[state];
    });
    for (unsigned e : view.earlier[variable]) {
      const CostNetwork::Edge &edge = network.edges[e];
      unsigned other = find(free, edge.first);
      if (other == free.size()) {
        addFixed(i, [&](unsigned state) {
          return network.getEdgeCost(edge, states[edge.first], state);
        });
        continue;
      }
      std::vector<int64_t> pairs;
      for (unsigned a : domains[other])
        for (unsigned b : domains[i])
          pairs.push_back(network.getEdgeCost(edge, a, b));
      part.addEdge(other, i, std::move(pairs));
    }
    for (unsigned e : view.later[variable]) {
      const CostNetwork::Edge &edge = network.edges[e];
      if (find(free, edge.second) == free.size())
        addFixed(i, [&](unsigned state) {
          return network.getEdgeCost(edge, state, states[edge.second]);
        });
    }
  }
}

bool LocalSearch::improveAround(unsigned center) {
  for (size_t size = kMostFree; size >= kLeastFree; size /= 2) {
    std::vector<unsigned> free = getNeighborhood(center, size);
    Domains domains, positions;
    std::vector<unsigned> now;
    for (unsigned variable : free) {
      domains.push_back(costs.getStates(variable));
      if (!llvm::is_contained(domains.back(), states[variable]))
        domains.back().push_back(states[variable]);
      now.push_back(llvm::find(domains.back(), states[variable]) -
                    domains.back().begin());
      positions.emplace_back(domains.back().size());
      for (auto [i, position] : llvm::enumerate(positions.back()))
        position = i;
    }
    CostNetwork part = makeShape(free, domains);
    EliminationOrder order = orderElimination(part, positions);
    if (order.total > entries)
      continue;
    fillCosts(part, free, domains);
    Assignment best = eliminate(part, positions, order);
    if (best.cost >= part.evaluate(now))
      return false;
    for (auto [variable, domain, position] :
         llvm::zip_equal(free, domains, best.states))
      states[variable] = domain[position];
    return true;
  }
  return false;
}

std::vector<unsigned> LocalSearch::run() {
  bool changed = true;
  for (unsigned pass = 0; changed && pass < kMostPasses; ++pass) {
    changed = false;
    for (unsigned center : getCenters())
      changed |= improveAround(center);
  }
  return std::move(states);
}

std::vector<unsigned> search::improveStates(const NetworkView &view,
                                            const Reparametrization &costs,
                                            std::vector<unsigned> states,
                                            double entries) {
  return LocalSearch(view, costs, std::move(states), entries).run();
}
