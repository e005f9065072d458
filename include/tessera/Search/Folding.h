//===- Folding.h - Folds equal copies of a network --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The layers of a model are equal copies of a block, and most of its best
// assignments repeat one. Tied variables have equal states. A folded network
// has one variable for each set of tied ones; its costs are their sums:
//
//     a0 -- b0 -- a1 -- b1 -- a2 -- b2        a0, a1, a2 tied; b0, b1, b2 too
//
//     a (3 times) -- b (3 times)              a_i -- b_i counts three times,
//       \___________/                         b_i -- a_i+1 twice: end to start
//
// Each of its assignments is an assignment of the whole network in which tied
// variables have equal states, with the same cost. The messages along its
// edges, divided among the copies, bound the whole network.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SEARCH_FOLDING_H
#define TESSERA_SEARCH_FOLDING_H

#include "tessera/Search/Solver.h"

namespace tessera::search {

/// A folded network. See the file comment.
class FoldedNetwork {
public:
  /// For each variable of `network`, which passes check(), `ties` has the first
  /// variable that it is tied to: itself or an earlier one with as many states.
  FoldedNetwork(const CostNetwork &network, llvm::ArrayRef<unsigned> ties);

  /// Expands an assignment to all copies.
  std::vector<unsigned> unfold(llvm::ArrayRef<unsigned> states) const;
  /// Folds an assignment; empty if tied variables differ in it.
  std::vector<unsigned> fold(llvm::ArrayRef<unsigned> states) const;

  /// The edge in `network` for an edge of the original network.
  struct Origin {
    /// Index into the edges of `network`; kNone if it joins two tied variables.
    unsigned edge = 0;
    /// Its first variable is the second one there.
    bool isTurned = false;
  };
  static constexpr unsigned kNone = ~0u;

  CostNetwork network;
  /// For each original variable, its variable in `network`.
  std::vector<unsigned> variables;
  std::vector<Origin> origins;

private:
  void addVariables(const CostNetwork &from, llvm::ArrayRef<unsigned> ties);
  void addEdges(const CostNetwork &from);
  void addLoop(const CostNetwork &from, const CostNetwork::Edge &edge);
};

/// Computes a lower bound of all assignments of `network` from the repeated
/// messages of `folded`. `known` is an assignment with a valid bound and with
/// messages of `folded` or none. Returns the same or a cheaper assignment.
NetworkSolution boundUnfolded(const CostNetwork &network,
                              const FoldedNetwork &folded,
                              NetworkSolution known,
                              const SolveLimits &limits = {});

} // namespace tessera::search

#endif // TESSERA_SEARCH_FOLDING_H
