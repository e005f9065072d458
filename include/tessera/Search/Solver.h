//===- Solver.h - The cheapest assignment, with a bound ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Solves a cost function network, with a proven bound:
//
//  1. Sweeps of TRW-S (Kolmogorov 2006) raise a lower bound.
//  2. Incumbents come from exact elimination over the 2, 3, ... best states of
//     each variable, and from neighborhoods of a known one.
//  3. Reduced-cost fixing removes states with which no assignment is cheaper
//     than the incumbent; as a guess, it also assumes an incumbent a little
//     above the bound.
//  4. Exact elimination solves the rest; if its tables are too large,
//  depth-first
//     branch and bound with sweeps at each node continues.
//
// Limits are counts, and everything is in integers: the same network gives the
// same solution on any machine.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SEARCH_SOLVER_H
#define TESSERA_SEARCH_SOLVER_H

#include "tessera/Search/CostNetwork.h"

namespace tessera::search {

/// Counts that end a search.
struct SolveLimits {
  /// Sweeps, there and back, before branches; at least one is done.
  unsigned sweeps = 100;
  /// Nodes of branch and bound.
  unsigned nodes = 300;
  /// Entries of a table of exact elimination.
  double tableEntries = 3e6;
  /// The gap at which boundUnfolded() ends.
  double gap = 0;
};

/// For each edge the costs moved from it to each state of its first variable.
/// Sweeps may start from them, on the same network or on one with other costs.
using Messages = std::vector<std::vector<int64_t>>;

/// An assignment, and its distance from the best one.
struct NetworkSolution {
  /// A state for each variable.
  std::vector<unsigned> states;
  int64_t cost = kInfinite;
  /// No assignment costs less.
  int64_t bound = 0;
  /// Number of sweeps (there and back) and of nodes, and number of states left
  /// when the first search without sweeps began.
  unsigned sweeps = 0, nodes = 0;
  size_t statesLeft = 0;
  /// Messages of the sweeps that removed no states; empty if there were none.
  Messages messages;

  /// True if `states` is a cheapest assignment.
  bool isOptimal() const { return bound == cost; }
  /// 1 - bound / cost: the share of the cost that the best may save.
  double gap() const {
    return cost == 0 ? 0 : 1 - double(bound) / double(cost);
  }
};

/// Finds the cheapest assignment. `incumbents` are known assignments;
/// `messages` come from a network with the same variables and edges, or are
/// empty. Fails for a network that does not pass check(), an incumbent that is
/// not an assignment, messages that do not match the edges' first variables,
/// and if no assignment has finite cost, or none was found within the limits.
llvm::Expected<NetworkSolution>
solve(const CostNetwork &network, const SolveLimits &limits = {},
      llvm::ArrayRef<std::vector<unsigned>> incumbents = {},
      const Messages &messages = {});

/// The cost of the cheapest assignment with a given state.
struct MinMarginal {
  /// Exact, or a lower bound; kInfinite if no assignment of finite cost has the
  /// state.
  int64_t cost = 0;
  bool exact = false;
};

/// The min-marginal of each state of each variable. They are exact where
/// elimination tables within the limits allow it: for all states, or for states
/// with an assignment not much above `solution`. Fails where solve() fails.
llvm::Expected<std::vector<std::vector<MinMarginal>>>
minMarginals(const CostNetwork &network, const NetworkSolution &solution,
             const SolveLimits &limits = {});

} // namespace tessera::search

#endif // TESSERA_SEARCH_SOLVER_H
