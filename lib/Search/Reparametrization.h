//===- Reparametrization.h - Costs moved along edges ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A network with the same cost for every assignment, written as a constant and
// costs of variables and edges that are all at least 0: the constant is a lower
// bound. Sweeps raise it by sequential tree-reweighted message passing (TRW-S,
// Kolmogorov 2006; in the form of its generalisation SRMP, Kolmogorov 2015):
// each variable in turn takes from its edges what every pair of a state costs,
// gives its least cost to the constant, and hands the rest in equal shares to
// the edges that come later.
//
// Everything is in integers, so the bound is exact: no rounding is to be
// allowed for. At any moment an assignment with state k of variable i costs at
// least `getBound() + getCost(i, k)`; a state for which that is above the cost
// of a known assignment is removed (reduced-cost fixing).
//
// Sweeps go over the states and entries of tables that are left: once many are
// removed, all is copied without them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_SEARCH_REPARAMETRIZATION_H
#define TESSERA_LIB_SEARCH_REPARAMETRIZATION_H

#include "tessera/Search/Solver.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <memory>

namespace tessera::search {

/// Costs are infinite from here on, after sums and differences with finite
/// ones.
constexpr int64_t kNearInfinite = kInfinite / 2;

/// What stays the same in all reparametrizations of a network.
class NetworkView {
public:
  /// `network` passes check() and stays alive.
  explicit NetworkView(const CostNetwork &network);

  const CostNetwork &network;
  /// For each variable the edges to earlier and to later variables.
  std::vector<std::vector<unsigned>> earlier, later;
  /// For each edge its costs by class, row by row, weight included; at most
  /// kInfinite.
  std::vector<std::shared_ptr<const CostTable>> tables;
  /// No assignment of finite cost costs more.
  int64_t total = 0;

  /// The shares into which a sweep cuts what a variable costs.
  int64_t countShares(unsigned variable) const;
};

/// The cheapest pair of each row of a table with `given` for the columns, or of
/// each column with `given` for the rows, into `taken`, which is infinite.
void takeCheapestPairs(const CostTable &table, bool byRow,
                       const std::vector<int64_t> &given,
                       std::vector<int64_t> &taken);

/// What was moved from an edge to its first variable.
using MessageReader = llvm::function_ref<llvm::ArrayRef<int64_t>(unsigned)>;

/// The bound that Reparametrization has after start() with these messages and a
/// sweep forward without a limit, and keeps no more than the messages on the
/// way. kInfinite if there is no assignment of finite cost.
int64_t boundBySweep(const NetworkView &view, MessageReader messages);

/// See the file comment. A copy is independent.
class Reparametrization {
public:
  explicit Reparametrization(const NetworkView &view);

  /// Moves costs from the first to the last variable, or back. Removes states
  /// whose assignments all cost more than `limit`, and those that have no
  /// finite assignment. False if a variable has none left. Does nothing once
  /// what was moved is too large to count on with.
  bool sweep(bool forward, int64_t limit = kInfinite);

  /// A lower bound of what all assignments of states that are left cost.
  int64_t getBound() const { return bound; }
  /// What an assignment with this state costs at least above the bound at
  /// present.
  int64_t getCost(unsigned variable, unsigned state) const {
    unsigned position = find(variable, state);
    return position == kNone ? kInfinite : costs[variable][position];
  }
  bool isAlive(unsigned variable, unsigned state) const {
    return getCost(variable, state) < kNearInfinite;
  }
  unsigned countStates(unsigned variable) const { return alive[variable]; }
  /// Of all variables.
  size_t countStates() const { return numAlive; }
  /// The states that are left.
  std::vector<unsigned> getStates(unsigned variable) const;
  /// What an assignment with this state cost at least when the last sweep was
  /// at its variable; kInfinite for a state that is removed.
  int64_t getMarginalBound(unsigned variable, unsigned state) const {
    unsigned position = find(variable, state);
    return position == kNone ? kInfinite : marginals[variable][position];
  }

  /// What was moved from an edge to each state of its first variable, or of its
  /// second; 0 for a state that is removed.
  std::vector<int64_t> getMoved(unsigned edge, bool isFirst) const;
  /// The same of all edges to their first variables.
  Messages getMoved() const;
  /// What an edge still costs for two states that are left.
  int64_t getResidual(unsigned edge, unsigned firstState,
                      unsigned secondState) const;
  /// Of a new reparametrization: moves `moved[e]` from edge e to its first
  /// variable, and what is then left of its cheapest pairs to its second.
  void start(const Messages &moved);

  /// An assignment of states that are left: each variable in turn takes the one
  /// that is cheapest with those before it.
  std::vector<unsigned> round(bool forward) const;

  /// Removes all states but one, which is alive.
  void keepOnly(unsigned variable, unsigned state);

private:
  static constexpr unsigned kNone = ~0u;
  /// What an edge costs: a table, and the row or column of each state of its
  /// variables, by position.
  struct EdgeCosts {
    const CostTable *table;
    const std::vector<uint32_t> *first, *second;
  };
  /// Tables and classes without what is removed.
  struct Shrunk;

  unsigned find(unsigned variable, unsigned state) const;
  bool remove(unsigned variable, unsigned position);
  void shrink();
  void dropRemoved();
  void collect(unsigned variable, unsigned edge);
  bool normalize(unsigned variable, int64_t limit);
  void distribute(unsigned variable, bool forward);

  const NetworkView *view;
  int64_t bound = 0;
  /// For each variable the states that lists have a position for, ascending;
  /// costs at positions of removed states are kInfinite.
  std::vector<std::vector<unsigned>> states;
  std::vector<std::vector<int64_t>> costs, marginals;
  std::vector<unsigned> alive;
  /// By edge and position: what was moved from the edge to its first and to its
  /// second variable.
  std::vector<std::vector<int64_t>> toFirst, toSecond;
  std::vector<EdgeCosts> edges;
  /// The shares into which each variable's cost is cut.
  std::vector<int64_t> parts;
  std::shared_ptr<const Shrunk> shrunk;
  /// States that are left, and positions.
  size_t numAlive = 0, numPositions = 0;
  /// A bound of the magnitudes of what was moved.
  int64_t largestMoved = 0;
  /// Scratch, by class, and by position.
  std::vector<int64_t> given, taken, shares;
};

} // namespace tessera::search

#endif // TESSERA_LIB_SEARCH_REPARAMETRIZATION_H
