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

/// Sweeps between two searches for an incumbent.
constexpr unsigned kSweepsAtOnce = 8;
/// Sweeps per guess, and per node of branch and bound.
constexpr unsigned kSweepsOfGuess = 10, kSweepsOfNode = 3;
/// Sweeps that bound an unfolded network end when a sweep closes less than 1 /
/// kLeastGain of the gap.
constexpr int64_t kLeastGain = 25;
/// The first guess exceeds the bound by 1 / kFirstSlack of it.
constexpr int64_t kFirstSlack = 128;
/// The sweeps of a guess end when a sweep removes less than 1 / kFewRemoved
/// states.
constexpr size_t kFewRemoved = 32;
/// If a guess leaves too many states, the next one's slack is 1 / kLower of it.
constexpr int64_t kLower = 4;
/// All tables of an elimination may total this multiple of the largest one.
constexpr double kLargestTables = 16;
/// The same before any incumbent is known.
constexpr double kFirstTables = 2;
/// Divisor of a table's entries for intermediate eliminations.
constexpr double kQuickShare = 16;

class Search {
public:
  Search(const CostNetwork &network, const SolveLimits &limits)
      : network(network), limits(limits), view(network) {}

  void offer(Assignment assignment);
  NetworkSolution run(const Messages &messages);
  NetworkSolution bound(const FoldedNetwork &folded, const Messages &start,
                        int64_t known);

private:
  bool sweepThereAndBack(Reparametrization &costs, int64_t limit);
  bool sweepToEnd(Reparametrization &costs, bool isStarted);
  bool searchAround(const Reparametrization &costs);
  void roundUp(const Reparametrization &costs);
  void findIncumbents(const Reparametrization &costs);
  bool tryElimination(const Reparametrization &costs, double totalEntries);
  enum class Guessed { None, All, TooMany };
  Guessed tryLimit(const Reparametrization &costs, int64_t limit,
                   double entries);
  bool guess(const Reparametrization &costs, double entries);
  void visit(Reparametrization costs);
  unsigned chooseBranch(const Reparametrization &costs) const;
  /// The most that a better assignment costs. Ties with the incumbent are no
  /// gain.
  int64_t getLimit() const { return result.cost - 1; }
  /// Entries of the tables of an elimination that may be useless.
  double getQuickEntries() const { return limits.tableEntries / kQuickShare; }

  const CostNetwork &network;
  const SolveLimits &limits;
  NetworkView view;
  NetworkSolution result;
  /// The least bound of unsearched nodes.
  int64_t open = kInfinite;
  /// No assignment costs less, as a guess that was too low has proven.
  int64_t proven = 0;
  /// The last limit that left too many states.
  int64_t tooHigh = kInfinite;
};

} // namespace

void Search::offer(Assignment assignment) {
  if (assignment.cost >= result.cost)
    return;
  result.cost = assignment.cost;
  result.states = std::move(assignment.states);
}

bool Search::sweepThereAndBack(Reparametrization &costs, int64_t limit) {
  ++result.sweeps;
  return costs.sweep(/*forward=*/true, limit) &&
         costs.sweep(/*forward=*/false, limit);
}

static Domains getDomains(const Reparametrization &costs, size_t count) {
  Domains domains;
  for (unsigned variable = 0; variable < count; ++variable)
    domains.push_back(costs.getStates(variable));
  return domains;
}

/// Sorts states by their lower bounds, then by number.
static void sortByBound(const Reparametrization &costs, unsigned variable,
                        std::vector<unsigned> &states) {
  llvm::sort(states, [&](unsigned a, unsigned b) {
    return std::make_pair(costs.getMarginalBound(variable, a), a) <
           std::make_pair(costs.getMarginalBound(variable, b), b);
  });
}

/// Rounds the moved costs to an assignment, and improves it.
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

/// The best assignments of the 1, 2, 3, 4, 6, 9, ... most promising states of
/// each variable, as long as that is quick.
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

/// Solves the rest exactly if no table is too large, nor their total.
bool Search::tryElimination(const Reparametrization &costs,
                            double totalEntries) {
  Domains domains = getDomains(costs, network.variables.size());
  EliminationOrder order = orderElimination(network, domains);
  if (order.largest > limits.tableEntries || order.total > totalEntries)
    return false;
  offer(eliminate(network, domains, order));
  return true;
}

/// The variable with the most states in itself and its undecided neighbors:
/// without it, the tables shrink the most.
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

/// Removes states as if an assignment of this cost were known, and eliminates
/// the rest if its tables are not too large.
Search::Guessed Search::tryLimit(const Reparametrization &costs, int64_t limit,
                                 double entries) {
  Reparametrization left = costs;
  for (unsigned i = 0; i < kSweepsOfGuess; ++i) {
    int64_t bound = left.getBound();
    size_t count = left.countStates();
    if (!left.sweep(/*forward=*/true, limit) ||
        !left.sweep(/*forward=*/false, limit))
      return Guessed::None;
    // Neither the bound nor the states will converge in time.
    int64_t gained = left.getBound() - bound;
    if (gained * (kSweepsOfGuess - i) < limit - bound &&
        left.countStates() > count - count / kFewRemoved)
      break;
  }
  if (tryElimination(left, entries))
    return result.cost <= limit ? Guessed::All : Guessed::None;
  findIncumbents(left);
  return Guessed::TooMany;
}

/// Guesses the cost of the cheapest assignment. If there is none within the
/// limit, all cost more, and the next guess is higher. If the remaining states
/// can be eliminated, the cheapest one is found. If too many states remain,
/// tries lower limits. True if that ends the search.
bool Search::guess(const Reparametrization &costs, double entries) {
  int64_t least = std::max(costs.getBound(), proven);
  int64_t slack =
      tooHigh < kInfinite ? (tooHigh - least) / kLower : least / kFirstSlack;
  slack = std::max<int64_t>(slack, 1);
  // Higher limits leave too many states now.
  int64_t highest = kInfinite;
  while (true) {
    int64_t limit = std::min(addCosts(least, slack), getLimit());
    if (limit >= highest)
      return false;
    switch (tryLimit(costs, limit, entries)) {
    case Guessed::All:
      return true;
    case Guessed::None:
      proven = std::max(proven, limit + 1);
      if (proven > getLimit())
        return true;
      slack = addCosts(slack, slack);
      break;
    case Guessed::TooMany:
      tooHigh = limit;
      if (highest < kInfinite || slack < kLower)
        return false;
      highest = limit;
      slack /= kLower;
      break;
    }
  }
}

/// Searches all assignments of the remaining states.
void Search::visit(Reparametrization costs) {
  for (unsigned i = 0; i < kSweepsOfNode; ++i)
    if (!sweepThereAndBack(costs, getLimit()))
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

/// Raises the bound as long as that is worth its time, without removing states
/// of possible assignments. False if nothing is left to search.
bool Search::sweepToEnd(Reparametrization &costs, bool isStarted) {
  int64_t before = costs.getBound();
  while (result.sweeps < limits.sweeps) {
    if (!sweepThereAndBack(costs, kInfinite))
      return false;
    bool isEarly =
        isStarted && result.sweeps <= 2 &&
        getLimit() - costs.getBound() <= costs.getBound() / kFirstSlack;
    if (!isEarly && result.sweeps % kSweepsAtOnce != 0)
      continue;
    if (guess(costs, getQuickEntries()))
      return false;
    // Less than a thousandth in these sweeps: elimination is faster.
    if (!isEarly && costs.getBound() - before <= costs.getBound() / 1000)
      break;
    before = costs.getBound();
  }
  return true;
}

/// Searches a cheaper assignment around the best one, then the remaining
/// states.
bool Search::searchAround(const Reparametrization &costs) {
  findIncumbents(costs);
  roundUp(costs);
  return !guess(costs, limits.tableEntries);
}

NetworkSolution Search::run(const Messages &messages) {
  Reparametrization costs(view);
  if (!messages.empty())
    costs.start(messages);
  if (sweepThereAndBack(costs, kInfinite) &&
      !tryElimination(costs, limits.tableEntries * kFirstTables) &&
      sweepToEnd(costs, !messages.empty()) && searchAround(costs)) {
    result.messages = costs.getMoved();
    if (sweepThereAndBack(costs, getLimit())) {
      for (unsigned variable = 0; variable < network.variables.size();
           ++variable)
        result.statesLeft += costs.countStates(variable);
      visit(std::move(costs));
    }
  } else {
    result.messages = costs.getMoved();
  }
  // All costs below the incumbent were searched, except for open nodes.
  result.bound = std::min(result.cost, std::max(open, proven));
  return std::move(result);
}

namespace {

/// The messages of a folded network, distributed among the edges that each of
/// its edges represents.
class SharedMessages {
public:
  /// Sweeps from `messages` until the folded bound is `enough`.
  SharedMessages(const CostNetwork &network, const FoldedNetwork &folded,
                 const Messages &messages, unsigned sweeps, int64_t enough);

  llvm::ArrayRef<int64_t> get(unsigned edge) const {
    FoldedNetwork::Origin origin = folded.origins[edge];
    if (origin.edge != FoldedNetwork::kNone)
      return (origin.isTurned ? toSecond : toFirst)[origin.edge];
    unsigned first = network.edges[edge].first;
    return ArrayRef(none).take_front(network.variables[first].costs.size());
  }

private:
  const CostNetwork &network;
  const FoldedNetwork &folded;
  Messages toFirst, toSecond;
  /// The messages of an edge between two copies.
  std::vector<int64_t> none;
};

} // namespace

SharedMessages::SharedMessages(const CostNetwork &network,
                               const FoldedNetwork &folded,
                               const Messages &messages, unsigned sweeps,
                               int64_t enough)
    : network(network), folded(folded) {
  NetworkView view(folded.network);
  Reparametrization costs(view);
  if (!messages.empty())
    costs.start(messages);
  for (unsigned i = 0; i < sweeps && (i == 0 || costs.getBound() < enough);
       ++i) {
    costs.sweep(/*forward=*/true);
    costs.sweep(/*forward=*/false);
  }
  for (auto [e, edge] : llvm::enumerate(folded.network.edges)) {
    auto share = [&, &copies = edge.copies](bool isFirst) {
      std::vector<int64_t> moved = costs.getMoved(e, isFirst);
      for (int64_t &cost : moved)
        cost /= copies;
      return moved;
    };
    toFirst.push_back(share(/*isFirst=*/true));
    toSecond.push_back(share(/*isFirst=*/false));
  }
  for (const CostNetwork::Variable &variable : network.variables)
    none.resize(std::max(none.size(), variable.costs.size()));
}

/// Sweeps from the messages of a folded network; eliminates the rest if the gap
/// is not small and that is quick.
NetworkSolution Search::bound(const FoldedNetwork &folded,
                              const Messages &start, int64_t known) {
  // The folded network does not have edges between copies, so half of the gap
  // is reserved for them.
  auto enough =
      static_cast<int64_t>(double(result.cost) * (1 - limits.gap / 2));
  SharedMessages shared(network, folded, start, limits.sweeps, enough);
  auto isEnough = [&](int64_t bound) {
    return double(result.cost - bound) <= limits.gap * double(result.cost);
  };
  // The first sweep mostly suffices, and takes little memory.
  if (limits.sweeps > 0) {
    known = std::max(known, boundBySweep(view, [&](unsigned edge) {
                       return shared.get(edge);
                     }));
    if (isEnough(known)) {
      result.sweeps = 1;
      result.bound = std::min(result.cost, known);
      return std::move(result);
    }
  }
  Messages messages;
  for (unsigned edge = 0; edge < network.edges.size(); ++edge)
    messages.push_back(shared.get(edge).vec());
  Reparametrization costs(view);
  costs.start(messages);
  bool isLeft = true, isClose = false;
  int64_t before = costs.getBound();
  auto sweep = [&](bool forward) {
    isLeft = isLeft && costs.sweep(forward, getLimit());
    isClose = isEnough(costs.getBound());
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
  return search.bound(folded, known.messages, known.bound);
}

static Error checkMessages(const CostNetwork &network,
                           const Messages &messages) {
  if (messages.empty())
    return Error::success();
  if (messages.size() != network.edges.size())
    return createStringError("expects messages of " +
                             Twine(network.edges.size()) + " edges but got " +
                             Twine(messages.size()));
  for (auto [e, edge] : llvm::enumerate(network.edges))
    if (size_t count = network.variables[edge.first].costs.size();
        messages[e].size() != count)
      return createStringError("messages of edge " + Twine(e) + ": expects " +
                               Twine(count) + " states but got " +
                               Twine(messages[e].size()));
  return Error::success();
}

Expected<NetworkSolution>
search::solve(const CostNetwork &network, const SolveLimits &limits,
              ArrayRef<std::vector<unsigned>> incumbents,
              const Messages &messages) {
  if (Error error = network.check())
    return error;
  if (Error error = checkMessages(network, messages))
    return error;
  Search search(network, limits);
  for (auto [i, states] : llvm::enumerate(incumbents)) {
    if (Error error = network.checkStates(states))
      return prefixError("incumbent " + Twine(i) + ": ", std::move(error));
    search.offer({network.evaluate(states), states});
  }
  NetworkSolution solution = search.run(messages);
  if (solution.cost >= kInfinite)
    return createStringError(
        solution.bound >= kInfinite
            ? "expects an assignment of finite cost but the network has none"
            : "no assignment of finite cost was found within the limits");
  return solution;
}
