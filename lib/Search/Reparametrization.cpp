//===- Reparametrization.cpp - Sweeps of TRW-S in integers ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reparametrization.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

using namespace tessera;
using namespace tessera::search;

NetworkView::NetworkView(const CostNetwork &network)
    : network(network), earlier(network.variables.size()),
      later(network.variables.size()) {
  std::map<std::pair<unsigned, int64_t>, std::shared_ptr<const CostTable>>
      scaled;
  for (auto [e, edge] : llvm::enumerate(network.edges)) {
    later[edge.first].push_back(e);
    earlier[edge.second].push_back(e);
    auto &table = scaled[{edge.table, edge.weight}];
    if (!table) {
      auto copy = std::make_shared<CostTable>(network.tables[edge.table]);
      for (int64_t &cost : copy->costs)
        cost = scaleCost(cost, edge.weight);
      table = std::move(copy);
    }
    tables.push_back(table);
    total += getLargestFinite(table->costs);
  }
  for (const CostNetwork::Variable &variable : network.variables)
    total += getLargestFinite(variable.costs);
}

Reparametrization::Reparametrization(const NetworkView &view) : view(&view) {
  for (const CostNetwork::Variable &variable : view.network.variables) {
    costs.push_back(variable.costs);
    marginals.emplace_back(variable.costs.size(), 0);
    alive.push_back(llvm::count_if(
        variable.costs, [](int64_t cost) { return cost < kInfinite; }));
  }
  for (const CostNetwork::Edge &edge : view.network.edges) {
    toFirst.emplace_back(costs[edge.first].size(), 0);
    toSecond.emplace_back(costs[edge.second].size(), 0);
  }
}

std::vector<unsigned> Reparametrization::getStates(unsigned variable) const {
  std::vector<unsigned> states;
  for (unsigned state = 0; state < costs[variable].size(); ++state)
    if (isAlive(variable, state))
      states.push_back(state);
  return states;
}

bool Reparametrization::remove(unsigned variable, unsigned state) {
  costs[variable][state] = kInfinite;
  return --alive[variable] != 0;
}

void Reparametrization::keepOnly(unsigned variable, unsigned state) {
  for (auto [other, cost] : llvm::enumerate(costs[variable]))
    if (other != state)
      cost = kInfinite;
  alive[variable] = 1;
}

/// Moves to each state of `variable` what its cheapest pair on `edge` costs,
/// which leaves 0 there. A state without a pair of finite cost is removed.
void Reparametrization::collect(unsigned variable, unsigned e) {
  const CostNetwork::Edge &edge = view->network.edges[e];
  const CostTable &table = *view->tables[e];
  bool isFirst = edge.first == variable;
  unsigned other = isFirst ? edge.second : edge.first;
  llvm::ArrayRef<uint32_t> mine =
      view->network.classes[isFirst ? edge.firstClasses : edge.secondClasses];
  llvm::ArrayRef<uint32_t> theirs =
      view->network.classes[isFirst ? edge.secondClasses : edge.firstClasses];
  std::vector<int64_t> &myMoved = isFirst ? toFirst[e] : toSecond[e];
  const std::vector<int64_t> &theirMoved = isFirst ? toSecond[e] : toFirst[e];

  given.assign(isFirst ? table.columns : table.rows, kInfinite);
  for (auto [state, moved] : llvm::enumerate(theirMoved))
    if (isAlive(other, state))
      given[theirs[state]] = std::min(given[theirs[state]], -moved);
  taken.assign(isFirst ? table.rows : table.columns, kInfinite);
  for (unsigned row = 0; row < table.rows; ++row) {
    const int64_t *cost = table.costs.data() + size_t(row) * table.columns;
    if (isFirst) {
      int64_t least = kInfinite;
      for (unsigned column = 0; column < table.columns; ++column)
        least = std::min(least, cost[column] + given[column]);
      taken[row] = least;
    } else if (given[row] < kNearInfinite) {
      for (unsigned column = 0; column < table.columns; ++column)
        taken[column] = std::min(taken[column], cost[column] + given[row]);
    }
  }
  for (auto [state, cost] : llvm::enumerate(costs[variable])) {
    if (cost >= kNearInfinite)
      continue;
    int64_t least = taken[mine[state]];
    if (least >= kNearInfinite) {
      remove(variable, state);
      continue;
    }
    cost += least - myMoved[state];
    myMoved[state] = least;
    largestMoved = std::max(largestMoved, std::abs(least));
  }
}

/// Gives the least cost of a variable to the bound.
bool Reparametrization::normalize(unsigned variable, int64_t limit) {
  if (alive[variable] == 0)
    return false;
  std::vector<int64_t> &mine = costs[variable];
  int64_t least = *llvm::min_element(mine);
  bound += least;
  for (auto [state, cost] : llvm::enumerate(mine)) {
    marginals[variable][state] = kInfinite;
    if (cost >= kNearInfinite)
      continue;
    cost -= least;
    if (bound + cost > limit)
      remove(variable, state);
    else
      marginals[variable][state] = bound + cost;
  }
  return alive[variable] != 0;
}

/// Edges may be below 0 until all is moved, so nothing is removed for its cost.
void Reparametrization::start(std::vector<std::vector<int64_t>> moved) {
  llvm::ArrayRef<CostNetwork::Edge> edges = view->network.edges;
  for (unsigned e = 0; e < edges.size(); ++e) {
    for (auto [cost, given] :
         llvm::zip_equal(costs[edges[e].first], moved[e])) {
      cost += cost < kNearInfinite ? given : 0;
      largestMoved = std::max(largestMoved, std::abs(given));
    }
    toFirst[e] = std::move(moved[e]);
  }
  for (unsigned e = 0; e < edges.size(); ++e)
    collect(edges[e].second, e);
  for (unsigned variable = 0; variable < costs.size(); ++variable)
    normalize(variable, kInfinite);
}

void Reparametrization::distribute(unsigned variable, bool forward) {
  llvm::ArrayRef<unsigned> next =
      forward ? view->later[variable] : view->earlier[variable];
  int64_t shares =
      std::max(view->later[variable].size(), view->earlier[variable].size());
  for (unsigned e : next) {
    std::vector<int64_t> &moved = forward ? toFirst[e] : toSecond[e];
    for (auto [state, cost] : llvm::enumerate(costs[variable]))
      if (cost < kNearInfinite)
        moved[state] -= cost / shares;
  }
  int64_t count = next.size();
  for (int64_t &cost : costs[variable])
    if (cost < kNearInfinite)
      cost -= count * (cost / shares);
}

int64_t Reparametrization::getResidual(unsigned e, unsigned firstState,
                                       unsigned secondState) const {
  const CostNetwork::Edge &edge = view->network.edges[e];
  int64_t cost = view->network.getEdgeCost(edge, firstState, secondState);
  return cost >= kNearInfinite
             ? kInfinite
             : cost - toFirst[e][firstState] - toSecond[e][secondState];
}

std::vector<unsigned> Reparametrization::round(bool forward) const {
  unsigned count = costs.size();
  std::vector<unsigned> states(count);
  for (unsigned i = 0; i < count; ++i) {
    unsigned variable = forward ? i : count - 1 - i;
    std::vector<int64_t> sums = costs[variable];
    for (unsigned e : (forward ? view->earlier : view->later)[variable]) {
      const CostNetwork::Edge &edge = view->network.edges[e];
      for (auto [state, sum] : llvm::enumerate(sums))
        sum =
            addCosts(sum, forward ? getResidual(e, states[edge.first], state)
                                  : getResidual(e, state, states[edge.second]));
    }
    states[variable] = llvm::min_element(sums) - sums.begin();
  }
  return states;
}

bool Reparametrization::sweep(bool forward, int64_t limit) {
  // A sweep moves at most a few times the total, 2^55.
  constexpr int64_t kMostMoved = int64_t(1) << 58;
  if (largestMoved > kMostMoved)
    return true;
  limit = std::min(limit, view->total);
  unsigned count = costs.size();
  for (unsigned i = 0; i < count; ++i) {
    unsigned variable = forward ? i : count - 1 - i;
    for (unsigned e : forward ? view->earlier[variable] : view->later[variable])
      collect(variable, e);
    if (!normalize(variable, limit))
      return false;
    if (!(forward ? view->later : view->earlier)[variable].empty())
      distribute(variable, forward);
  }
  return true;
}
