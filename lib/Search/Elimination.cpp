//===- Elimination.cpp - Exact bucket elimination -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Elimination.h"
#include "llvm/ADT/STLExtras.h"
#include <memory>
#include <set>

using namespace tessera;
using namespace tessera::search;
using llvm::ArrayRef;

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

EliminationOrder search::orderElimination(const CostNetwork &network,
                                          const Domains &domains) {
  unsigned count = network.variables.size();
  std::vector<std::set<unsigned>> neighbors(count);
  for (const CostNetwork::Edge &edge : network.edges) {
    // An edge to a decided variable is a cost of the other one.
    if (domains[edge.first].size() == 1 || domains[edge.second].size() == 1)
      continue;
    neighbors[edge.first].insert(edge.second);
    neighbors[edge.second].insert(edge.first);
  }
  auto getEntries = [&](unsigned variable) {
    double entries = double(domains[variable].size());
    for (unsigned other : neighbors[variable])
      entries *= double(domains[other].size());
    return entries;
  };
  std::set<std::pair<double, unsigned>> queue;
  std::vector<double> entries(count);
  for (unsigned variable = 0; variable < count; ++variable)
    queue.insert({entries[variable] = getEntries(variable), variable});
  EliminationOrder order;
  while (!queue.empty()) {
    unsigned variable = queue.begin()->second;
    queue.erase(queue.begin());
    if (entries[variable] > 1) {
      order.largest = std::max(order.largest, entries[variable]);
      order.total += entries[variable];
    }
    order.variables.push_back(variable);
    std::set<unsigned> scope = std::move(neighbors[variable]);
    order.scopes.emplace_back(scope.begin(), scope.end());
    for (unsigned other : scope) {
      neighbors[other].erase(variable);
      neighbors[other].insert(scope.begin(), scope.end());
      neighbors[other].erase(other);
    }
    for (unsigned other : scope) {
      queue.erase({entries[other], other});
      queue.insert({entries[other] = getEntries(other), other});
    }
  }
  return order;
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

namespace {

/// Costs over some variables; the last one is innermost.
struct Factor {
  std::vector<unsigned> scope;
  std::vector<int64_t> costs;
};

/// The tables of one elimination. Costs of states are by position in the
/// domains.
class Eliminator {
public:
  Eliminator(const CostNetwork &network, const Domains &domains,
             const EliminationOrder &order);

  Assignment run();
  std::vector<std::vector<int64_t>> getMarginals();

private:
  void addEdge(const CostNetwork::Edge &edge);
  std::vector<unsigned> getJointScope(unsigned step) const;
  Factor sumBucket(unsigned step, const Factor *without = nullptr) const;
  void add(Factor &joint, const Factor &factor) const;
  Factor minimize(const Factor &joint, ArrayRef<unsigned> scope,
                  std::vector<uint32_t> *best = nullptr) const;
  size_t countEntries(ArrayRef<unsigned> scope) const;
  std::vector<size_t> getStrides(ArrayRef<unsigned> within,
                                 ArrayRef<unsigned> scope) const;
  template <typename Visitor>
  void walk(ArrayRef<unsigned> scope, ArrayRef<unsigned> other,
            Visitor visit) const;
  void eliminateStep(unsigned step);

  const CostNetwork &network;
  const Domains &domains;
  const EliminationOrder &order;
  /// The step that eliminates each variable.
  std::vector<unsigned> stepOf;
  /// The costs that each step sums.
  std::vector<std::vector<std::shared_ptr<Factor>>> buckets;
  /// The table that each step made, and the steps whose tables it received.
  std::vector<std::shared_ptr<Factor>> messages;
  std::vector<std::vector<unsigned>> children;
  /// For each step, the best position of its variable per entry of its scope.
  std::vector<std::vector<uint32_t>> best;
  int64_t constant = 0;
};

} // namespace

Eliminator::Eliminator(const CostNetwork &network, const Domains &domains,
                       const EliminationOrder &order)
    : network(network), domains(domains), order(order),
      stepOf(network.variables.size()), buckets(network.variables.size()),
      messages(network.variables.size()), children(network.variables.size()),
      best(network.variables.size()) {
  for (auto [step, variable] : llvm::enumerate(order.variables)) {
    stepOf[variable] = step;
    auto factor = std::make_shared<Factor>();
    factor->scope = {variable};
    for (unsigned state : domains[variable])
      factor->costs.push_back(network.variables[variable].costs[state]);
    buckets[step].push_back(std::move(factor));
  }
  for (const CostNetwork::Edge &edge : network.edges)
    addEdge(edge);
}

void Eliminator::addEdge(const CostNetwork::Edge &edge) {
  auto factor = std::make_shared<Factor>();
  unsigned step = buckets.size();
  for (unsigned variable : {edge.first, edge.second})
    if (domains[variable].size() != 1) {
      factor->scope.push_back(variable);
      step = std::min(step, stepOf[variable]);
    }
  for (unsigned a : domains[edge.first])
    for (unsigned b : domains[edge.second])
      factor->costs.push_back(network.getEdgeCost(edge, a, b));
  if (factor->scope.empty())
    constant = addCosts(constant, factor->costs.front());
  else
    buckets[step].push_back(std::move(factor));
}

size_t Eliminator::countEntries(ArrayRef<unsigned> scope) const {
  size_t entries = 1;
  for (unsigned variable : scope)
    entries *= domains[variable].size();
  return entries;
}

/// For each variable of `scope`, its stride in a table over `within`; 0 if it
/// is not in `within`.
std::vector<size_t> Eliminator::getStrides(ArrayRef<unsigned> within,
                                           ArrayRef<unsigned> scope) const {
  std::vector<size_t> strides;
  for (unsigned variable : scope) {
    const unsigned *it = llvm::find(within, variable);
    strides.push_back(it == within.end() ? 0
                                         : countEntries(within.drop_front(
                                               it - within.begin() + 1)));
  }
  return strides;
}

/// Calls `visit(entry, otherEntry, inner, otherStride)` for the rows of a table
/// over `scope`: `inner` entries from `entry` on, and their positions in a
/// table over `other`.
template <typename Visitor>
void Eliminator::walk(ArrayRef<unsigned> scope, ArrayRef<unsigned> other,
                      Visitor visit) const {
  std::vector<size_t> strides = getStrides(other, scope);
  size_t inner = domains[scope.back()].size(), rows = countEntries(scope);
  rows /= inner;
  std::vector<size_t> position(scope.size() - 1);
  size_t otherEntry = 0;
  for (size_t row = 0; row < rows; ++row) {
    visit(row * inner, otherEntry, inner, strides.back());
    for (size_t d = position.size(); d-- > 0;) {
      otherEntry += strides[d];
      if (++position[d] < domains[scope[d]].size())
        break;
      otherEntry -= strides[d] * position[d];
      position[d] = 0;
    }
  }
}

void Eliminator::add(Factor &joint, const Factor &factor) const {
  walk(joint.scope, factor.scope,
       [&](size_t entry, size_t other, size_t inner, size_t stride) {
         int64_t *to = joint.costs.data() + entry;
         const int64_t *from = factor.costs.data() + other;
         for (size_t i = 0; i < inner; ++i)
           to[i] = std::min(kInfinite, to[i] + from[i * stride]);
       });
}

/// Minimizes over the variables that are not in `scope`. `best`: if only the
/// last one is not, its position for each entry.
Factor Eliminator::minimize(const Factor &joint, ArrayRef<unsigned> scope,
                            std::vector<uint32_t> *best) const {
  Factor result{scope.vec(),
                std::vector<int64_t>(countEntries(scope), kInfinite)};
  if (best)
    best->assign(result.costs.size(), 0);
  walk(joint.scope, scope,
       [&](size_t entry, size_t other, size_t inner, size_t stride) {
         for (size_t i = 0; i < inner; ++i) {
           int64_t &least = result.costs[other + i * stride];
           if (joint.costs[entry + i] >= least)
             continue;
           least = joint.costs[entry + i];
           if (best)
             (*best)[other] = i;
         }
       });
  return result;
}

std::vector<unsigned> Eliminator::getJointScope(unsigned step) const {
  std::vector<unsigned> scope = order.scopes[step];
  scope.push_back(order.variables[step]);
  return scope;
}

/// The joint table of a step.
Factor Eliminator::sumBucket(unsigned step, const Factor *without) const {
  Factor joint{getJointScope(step), {}};
  joint.costs.assign(countEntries(joint.scope), 0);
  for (const std::shared_ptr<Factor> &factor : buckets[step])
    if (factor.get() != without)
      add(joint, *factor);
  return joint;
}

/// Replaces the variable of a step by a table for the next variable of its
/// scope.
void Eliminator::eliminateStep(unsigned step) {
  const std::vector<unsigned> &scope = order.scopes[step];
  auto message =
      std::make_shared<Factor>(minimize(sumBucket(step), scope, &best[step]));
  if (scope.empty()) {
    constant = addCosts(constant, message->costs.front());
    return;
  }
  unsigned next = buckets.size();
  for (unsigned variable : scope)
    next = std::min(next, stepOf[variable]);
  messages[step] = message;
  children[next].push_back(step);
  buckets[next].push_back(std::move(message));
}

Assignment Eliminator::run() {
  for (unsigned step = 0; step < buckets.size(); ++step) {
    eliminateStep(step);
    buckets[step].clear();
  }
  Assignment result;
  result.cost = constant;
  if (constant >= kInfinite)
    return result;
  std::vector<size_t> positions(stepOf.size());
  result.states.resize(stepOf.size());
  for (unsigned step = buckets.size(); step-- > 0;) {
    unsigned variable = order.variables[step];
    size_t entry = 0;
    for (unsigned other : order.scopes[step])
      entry = entry * domains[other].size() + positions[other];
    positions[variable] = best[step][entry];
    result.states[variable] = domains[variable][positions[variable]];
  }
  return result;
}

std::vector<std::vector<int64_t>> Eliminator::getMarginals() {
  for (unsigned step = 0; step < buckets.size(); ++step)
    eliminateStep(step);
  std::vector<std::vector<int64_t>> marginals(stepOf.size());
  for (unsigned step = buckets.size(); step-- > 0;) {
    unsigned variable = order.variables[step];
    Factor joint = sumBucket(step);
    // `joint` covers a connected component of the network; the others add at
    // least their minimum.
    int64_t least = *llvm::min_element(joint.costs);
    marginals[variable] = minimize(joint, {variable}).costs;
    for (int64_t &cost : marginals[variable])
      cost =
          constant >= kInfinite ? kInfinite : addCosts(cost, constant - least);
    // Passes down the costs that a child did not have.
    for (unsigned child : children[step])
      buckets[child].push_back(std::make_shared<Factor>(minimize(
          sumBucket(step, messages[child].get()), order.scopes[child])));
  }
  return marginals;
}

Assignment search::eliminate(const CostNetwork &network, const Domains &domains,
                             const EliminationOrder &order) {
  return Eliminator(network, domains, order).run();
}

std::vector<std::vector<int64_t>>
search::eliminateForMarginals(const CostNetwork &network,
                              const Domains &domains,
                              const EliminationOrder &order) {
  return Eliminator(network, domains, order).getMarginals();
}
