//===- Solver.cpp - Sweeps, incumbents, fixing, branch and bound ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Search/Solver.h"
#include "Elimination.h"
#include "LocalSearch.h"
#include "tessera/Search/Folding.h"
#include "tessera/Support/Errors.h"
#include "llvm/ADT/STLExtras.h"

using namespace tessera;
using namespace tessera::search;
using llvm::ArrayRef;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::Twine;

namespace {

/// Sweeps between two looks for an incumbent.
constexpr unsigned kSweepsAtOnce = 8;
/// Sweeps of a guess, and at a node of branch and bound.
constexpr unsigned kSweepsOfGuess = 10, kSweepsOfNode = 3;
/// Sweeps that bound an unfolded network end when one closes less than this
/// part of the gap.
constexpr int64_t kLeastGain = 25;
/// The first guess is above the bound by one part in so many.
constexpr int64_t kFirstSlack = 4096;
/// All tables of an elimination may have as many entries as so many of the
/// largest.
constexpr double kLargestTables = 16;
/// The same before any incumbent is known.
constexpr double kFirstTables = 2;
/// The share of a table's entries for eliminations on the way.
constexpr double kQuickShare = 16;

class Search {
public:
  Search(const CostNetwork &network, const SolveLimits &limits)
      : network(network), limits(limits), view(network) {}

  void offer(Assignment assignment);
  NetworkSolution run();
  NetworkSolution bound(const FoldedNetwork &folded, int64_t known);

private:
  bool sweepThereAndBack(Reparametrization &costs);
  bool sweepToEnd(Reparametrization &costs);
  void roundUp(const Reparametrization &costs);
  void findIncumbents(const Reparametrization &costs);
  bool tryElimination(const Reparametrization &costs, double totalEntries);
  bool guess(const Reparametrization &costs, double entries);
  void visit(Reparametrization costs);
  unsigned chooseBranch(const Reparametrization &costs) const;
  /// What is sought costs at most this. Ties with the incumbent are no gain.
  int64_t getLimit() const { return result.cost - 1; }
  /// Entries of the tables of an elimination that may be in vain.
  double getQuickEntries() const { return limits.tableEntries / kQuickShare; }

  const CostNetwork &network;
  const SolveLimits &limits;
  NetworkView view;
  NetworkSolution result;
  /// The least bound of what was not searched.
  int64_t open = kInfinite;
  /// No assignment costs less, by a guess that was too low.
  int64_t proven = 0;
};

} // namespace

void Search::offer(Assignment assignment) {
  if (assignment.cost >= result.cost)
    return;
  result.cost = assignment.cost;
  result.states = std::move(assignment.states);
}

bool Search::sweepThereAndBack(Reparametrization &costs) {
  ++result.sweeps;
  return costs.sweep(/*forward=*/true, getLimit()) &&
         costs.sweep(/*forward=*/false, getLimit());
}

static Domains getDomains(const Reparametrization &costs, size_t count) {
  Domains domains;
  for (unsigned variable = 0; variable < count; ++variable)
    domains.push_back(costs.getStates(variable));
  return domains;
}

/// Sorts states by what they cost at least, then by number.
static void sortByBound(const Reparametrization &costs, unsigned variable,
                        std::vector<unsigned> &states) {
  llvm::sort(states, [&](unsigned a, unsigned b) {
    return std::make_pair(costs.getMarginalBound(variable, a), a) <
           std::make_pair(costs.getMarginalBound(variable, b), b);
  });
}

/// Rounds the costs that have been moved to an assignment, and improves it.
void Search::roundUp(const Reparametrization &costs) {
  for (bool forward : {true, false}) {
    std::vector<unsigned> states = costs.round(forward);
    offer({network.evaluate(states), std::move(states)});
  }
  if (result.states.empty())
    return;
  std::vector<unsigned> states =
      improveStates(view, costs, result.states, getQuickEntries());
  offer({network.evaluate(states), std::move(states)});
}

/// The best assignments of the 1, 2, 3, 4, 6, 9, ... states of each variable
/// that look best, as long as that is quick.
void Search::findIncumbents(const Reparametrization &costs) {
  Domains all = getDomains(costs, network.variables.size());
  size_t most = 0;
  for (auto [variable, states] : llvm::enumerate(all)) {
    most = std::max(most, states.size());
    sortByBound(costs, variable, states);
  }
  for (size_t count = 1, last = 0; last < most;
       last = count, count += std::max<size_t>(1, count / 2)) {
    Domains domains = all;
    for (std::vector<unsigned> &states : domains)
      states.resize(std::min(states.size(), count));
    EliminationOrder order = orderElimination(network, domains);
    if (order.total > getQuickEntries())
      return;
    offer(eliminate(network, domains, order));
  }
}

/// Solves what is left exactly if no table is too large, nor all of them.
bool Search::tryElimination(const Reparametrization &costs,
                            double totalEntries) {
  Domains domains = getDomains(costs, network.variables.size());
  EliminationOrder order = orderElimination(network, domains);
  if (order.largest > limits.tableEntries || order.total > totalEntries)
    return false;
  offer(eliminate(network, domains, order));
  return true;
}

/// The variable with the most states among itself and its neighbors that are
/// not decided: without it the tables shrink most.
unsigned Search::chooseBranch(const Reparametrization &costs) const {
  std::vector<size_t> weights(network.variables.size());
  auto isFree = [&](unsigned v) { return costs.countStates(v) > 1; };
  for (unsigned v = 0; v < weights.size(); ++v)
    if (isFree(v))
      weights[v] = costs.countStates(v);
  for (const CostNetwork::Edge &edge : network.edges)
    if (isFree(edge.first) && isFree(edge.second)) {
      weights[edge.first] += costs.countStates(edge.second);
      weights[edge.second] += costs.countStates(edge.first);
    }
  return llvm::max_element(weights) - weights.begin();
}

/// Removes states as if an assignment little above the bound was known. If what
/// is left can be eliminated and one is within that, it is a cheapest one; if
/// none is, all cost more, and the next guess is higher. True if that ends the
/// search.
bool Search::guess(const Reparametrization &costs, double entries) {
  for (int64_t slack = costs.getBound() / kFirstSlack + 1;; slack *= 2) {
    int64_t limit = costs.getBound() + slack;
    if (limit > getLimit())
      return false;
    Reparametrization left = costs;
    bool isLeft = true;
    for (unsigned i = 0; isLeft && i < kSweepsOfGuess; ++i)
      isLeft = left.sweep(/*forward=*/true, limit) &&
               left.sweep(/*forward=*/false, limit);
    if (isLeft && !tryElimination(left, entries)) {
      findIncumbents(left);
      return false;
    }
    if (result.cost <= limit)
      return true;
    proven = std::max(proven, limit + 1);
  }
}

/// Searches all assignments of the states that are left.
void Search::visit(Reparametrization costs) {
  for (unsigned i = 0; i < kSweepsOfNode; ++i)
    if (!sweepThereAndBack(costs))
      return;
  if (tryElimination(costs, limits.tableEntries * kLargestTables))
    return;
  unsigned branch = chooseBranch(costs);
  std::vector<unsigned> states = costs.getStates(branch);
  sortByBound(costs, branch, states);
  for (unsigned state : states) {
    if (costs.getMarginalBound(branch, state) > getLimit())
      return;
    if (result.nodes == limits.nodes) {
      open = std::min(open, costs.getMarginalBound(branch, state));
      return;
    }
    ++result.nodes;
    Reparametrization child = costs;
    child.keepOnly(branch, state);
    visit(std::move(child));
  }
}

/// Raises the bound as long as that is worth its time. False if nothing is
/// left.
bool Search::sweepToEnd(Reparametrization &costs) {
  int64_t before = costs.getBound();
  while (result.sweeps < limits.sweeps) {
    if (!sweepThereAndBack(costs))
      return false;
    if (result.sweeps % kSweepsAtOnce != 0)
      continue;
    if (guess(costs, getQuickEntries()))
      return false;
    findIncumbents(costs);
    // Less than a thousandth in so many sweeps: elimination is quicker.
    if (costs.getBound() - before <= costs.getBound() / 1000)
      break;
    before = costs.getBound();
  }
  findIncumbents(costs);
  roundUp(costs);
  if (guess(costs, limits.tableEntries))
    return false;
  return sweepThereAndBack(costs);
}

NetworkSolution Search::run() {
  Reparametrization costs(view);
  if (sweepThereAndBack(costs) &&
      !tryElimination(costs, limits.tableEntries * kFirstTables) &&
      sweepToEnd(costs)) {
    for (unsigned variable = 0; variable < network.variables.size(); ++variable)
      result.statesLeft += costs.countStates(variable);
    visit(std::move(costs));
  }
  // All that costs less than the incumbent was searched but for what is open.
  result.bound = std::min(result.cost, std::max(open, proven));
  return std::move(result);
}

/// The messages of a folded network, shared among the edges that each of its
/// edges stands for; of sweeps until its bound is `enough`.
static std::vector<std::vector<int64_t>>
spreadMessages(const FoldedNetwork &folded, unsigned sweeps, int64_t enough) {
  NetworkView view(folded.network);
  Reparametrization costs(view);
  for (unsigned i = 0; i < sweeps && costs.getBound() < enough; ++i) {
    costs.sweep(/*forward=*/true);
    costs.sweep(/*forward=*/false);
  }
  std::vector<std::vector<int64_t>> messages;
  for (const FoldedNetwork::Origin &origin : folded.origins) {
    messages.emplace_back();
    if (origin.edge == FoldedNetwork::kNone)
      continue;
    for (int64_t moved : costs.getMoved(origin.edge, !origin.isTurned))
      messages.back().push_back(moved /
                                folded.network.edges[origin.edge].copies);
  }
  return messages;
}

/// Sweeps from the messages of a folded network; what is then left is
/// eliminated if the gap is not small and that is quick.
NetworkSolution Search::bound(const FoldedNetwork &folded, int64_t known) {
  // Edges between copies are not in the folded network, so half of the gap is
  // left to them.
  auto enough =
      static_cast<int64_t>(double(result.cost) * (1 - limits.gap / 2));
  auto messages = spreadMessages(folded, limits.sweeps, enough);
  for (auto [list, edge] : llvm::zip_equal(messages, network.edges))
    list.resize(network.variables[edge.first].costs.size());
  Reparametrization costs(view);
  costs.start(std::move(messages));
  bool isLeft = true, isClose = false;
  int64_t before = costs.getBound();
  auto sweep = [&](bool forward) {
    isLeft = isLeft && costs.sweep(forward, getLimit());
    auto gap = double(result.cost - costs.getBound());
    isClose = gap <= limits.gap * double(result.cost);
  };
  while (isLeft && !isClose && result.sweeps < limits.sweeps) {
    ++result.sweeps;
    sweep(/*forward=*/true);
    if (isClose)
      break;
    sweep(/*forward=*/false);
    int64_t gained = costs.getBound() - before;
    if (gained <= (result.cost - costs.getBound()) / kLeastGain)
      break;
    before = costs.getBound();
  }
  if (isLeft && (isClose || !tryElimination(costs, limits.tableEntries)))
    open = std::max(known, costs.getBound());
  result.bound = std::min(result.cost, open);
  return std::move(result);
}

NetworkSolution search::boundUnfolded(const CostNetwork &network,
                                      const FoldedNetwork &folded,
                                      NetworkSolution known,
                                      const SolveLimits &limits) {
  Search search(network, limits);
  search.offer({known.cost, std::move(known.states)});
  return search.bound(folded, known.bound);
}

Expected<NetworkSolution>
search::solve(const CostNetwork &network, const SolveLimits &limits,
              ArrayRef<std::vector<unsigned>> incumbents) {
  if (Error error = network.check())
    return error;
  Search search(network, limits);
  for (auto [i, states] : llvm::enumerate(incumbents)) {
    if (Error error = network.checkStates(states))
      return prefixError("incumbent " + Twine(i) + ": ", std::move(error));
    search.offer({network.evaluate(states), states});
  }
  NetworkSolution solution = search.run();
  if (solution.cost >= kInfinite)
    return createStringError(
        solution.bound >= kInfinite
            ? "expects an assignment of finite cost but the network has none"
            : "no assignment of finite cost was found within the limits");
  return solution;
}
