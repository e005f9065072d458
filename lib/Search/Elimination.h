//===- Elimination.h - Exact bucket elimination -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bucket elimination (non-serial dynamic programming; Dechter 1999) replaces a
// variable by a table over the variables that it shares costs with. The table
// has the minimum that the variable and its costs add. The sizes of the tables
// depend on the order alone, so they are known beforehand.
//
//   0---1---2     eliminate 1:     0-------2
//    \     /      joint costs       \     /      its table joins the edge
//     \   /       over (0, 2, 1)     \   /       between 0 and 2
//      \ /                            \ /
//       3                              3
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_SEARCH_ELIMINATION_H
#define TESSERA_LIB_SEARCH_ELIMINATION_H

#include "tessera/Search/CostNetwork.h"

namespace tessera::search {

/// The states of each variable that take part, by number.
using Domains = std::vector<std::vector<unsigned>>;

/// An order in which to eliminate the variables of a network.
struct EliminationOrder {
  std::vector<unsigned> variables;
  /// For each of `variables`, the later ones that its costs depend on at that
  /// time, in ascending order.
  std::vector<std::vector<unsigned>> scopes;
  /// Entries of the largest joint table and of all (a joint table is over a
  /// variable and its scope). Excludes decided variables without neighbors.
  double largest = 0, total = 0;
};

/// Orders variables so that the next one has the smallest joint table
/// (min-weight); ties go to the first.
EliminationOrder orderElimination(const CostNetwork &network,
                                  const Domains &domains);

/// The best states within `domains`; cost kInfinite if none has a finite cost.
struct Assignment {
  int64_t cost = kInfinite;
  std::vector<unsigned> states;
};

/// Eliminates all variables in order.
Assignment eliminate(const CostNetwork &network, const Domains &domains,
                     const EliminationOrder &order);

/// The least cost of an assignment within `domains` for each of their states
/// (min-marginals), in one pass up and one down the tree of tables. Keeps all
/// joint tables at once.
std::vector<std::vector<int64_t>>
eliminateForMarginals(const CostNetwork &network, const Domains &domains,
                      const EliminationOrder &order);

} // namespace tessera::search

#endif // TESSERA_LIB_SEARCH_ELIMINATION_H
