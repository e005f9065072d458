//===- Reparametrization.h - Costs moved along edges ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A network with the same cost for every assignment, written as a constant and
// costs of variables and edges that are all at least 0: the constant is a lower
// bound. Sweeps raise it by sequential tree-reweighted message passing (TRW-S,
// Kolmogorov 2006; in its generalization SRMP, Kolmogorov 2015). Each variable
// in turn takes the cost of the cheapest pair of each state from its edges,
// moves its least cost to the constant, and distributes the rest in equal
// shares to the later edges.
//
// All costs are integers, so the bound is exact, without rounding. At any time,
// an assignment with state k of variable i costs at least
// `getBound() + getCost(i, k)`. A state is removed if this exceeds the cost of
// a known assignment (reduced-cost fixing).
//
// Sweeps visit the remaining states and table entries. Once many states are
// removed, the tables are copied without them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_SEARCH_REPARAMETRIZATION_H
#define TESSERA_LIB_SEARCH_REPARAMETRIZATION_H

#include "tessera/Search/Solver.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <memory>

namespace tessera::search {

/// Costs from here on are infinite, after sums and differences with finite
/// ones.
constexpr int64_t kNearInfinite = kInfinite / 2;

/// Data that all reparametrizations of a network share.
class NetworkView {
public:
  /// `network` must pass check() and outlive this.
  explicit NetworkView(const CostNetwork &network);

  const CostNetwork &network;
  /// The edges of each variable to earlier and to later variables.
  std::vector<std::vector<unsigned>> earlier, later;
  /// The costs of each edge by class, row by row, including the weight; at most
  /// kInfinite.
  std::vector<std::shared_ptr<const CostTable>> tables;
  /// Upper bound on the cost of all assignments of finite cost.
  int64_t total = 0;

  /// The number of shares into which a sweep divides the cost of a variable.
  int64_t countShares(unsigned variable) const;
};

/// Writes the cheapest pair of each row of a table with `given` for the
/// columns, or of each column with `given` for the rows, to `taken`, which is
/// infinite.
void takeCheapestPairs(const CostTable &table, bool byRow,
                       const std::vector<int64_t> &given,
                       std::vector<int64_t> &taken);

/// Returns the costs moved from an edge to its first variable.
using MessageReader = llvm::function_ref<llvm::ArrayRef<int64_t>(unsigned)>;

/// The bound of a Reparametrization after start() with these messages and a
/// forward sweep without a limit. Keeps only the messages. kInfinite if no
/// assignment has a finite cost.
int64_t boundBySweep(const NetworkView &view, MessageReader messages);

/// See the file comment. A copy is independent.
class Reparametrization {
public:
  explicit Reparametrization(const NetworkView &view);

  /// Moves costs from the first to the last variable, or back. Removes states
  /// whose assignments all cost more than `limit` or are all infinite. False if
  /// a variable has no state left. Does nothing once the moved costs are too
  /// large for exact arithmetic.
  bool sweep(bool forward, int64_t limit = kInfinite);

  /// A lower bound on the cost of all assignments of remaining states.
  int64_t getBound() const { return bound; }
  /// A lower bound on the cost of assignments with this state, minus the
  /// current bound.
  int64_t getCost(unsigned variable, unsigned state) const {
    unsigned position = find(variable, state);
    return position == kNone ? kInfinite : costs[variable][position];
  }
  bool isAlive(unsigned variable, unsigned state) const {
    return getCost(variable, state) < kNearInfinite;
  }
  unsigned countStates(unsigned variable) const { return alive[variable]; }
  /// The remaining states of all variables.
  size_t countStates() const { return numAlive; }
  /// The remaining states of a variable.
  std::vector<unsigned> getStates(unsigned variable) const;
  /// A lower bound on the cost of assignments with this state, as of the last
  /// sweep over its variable; kInfinite for a removed state.
  int64_t getMarginalBound(unsigned variable, unsigned state) const {
    unsigned position = find(variable, state);
    return position == kNone ? kInfinite : marginals[variable][position];
  }

  /// The costs moved from an edge to each state of its first or of its second
  /// variable; 0 for a removed state.
  std::vector<int64_t> getMoved(unsigned edge, bool isFirst) const;
  /// The same for all edges to their first variables.
  Messages getMoved() const;
  /// The remaining cost of an edge for two remaining states.
  int64_t getResidual(unsigned edge, unsigned firstState,
                      unsigned secondState) const;
  /// Initializes a new reparametrization: moves `moved[e]` from edge e to its
  /// first variable, and the remaining costs of its cheapest pairs to its
  /// second variable.
  void start(const Messages &moved);

  /// An assignment of remaining states: each variable in turn takes the state
  /// that is cheapest with the earlier ones.
  std::vector<unsigned> round(bool forward) const;

  /// Removes all states but one, which must remain.
  void keepOnly(unsigned variable, unsigned state);

private:
  static constexpr unsigned kNone = ~0u;
  /// The costs of an edge: a table, and the row or column of each state of its
  /// variables, by position.
  struct EdgeCosts {
    const CostTable *table;
    const std::vector<uint32_t> *first, *second;
  };
  /// Tables and classes without removed states.
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
  /// The states of each variable that have a position in lists, ascending;
  /// costs at positions of removed states are kInfinite.
  std::vector<std::vector<unsigned>> states;
  std::vector<std::vector<int64_t>> costs, marginals;
  std::vector<unsigned> alive;
  /// The costs moved from each edge to its first and to its second variable, by
  /// edge and position.
  std::vector<std::vector<int64_t>> toFirst, toSecond;
  std::vector<EdgeCosts> edges;
  /// The number of shares of each variable's cost.
  std::vector<int64_t> parts;
  std::shared_ptr<const Shrunk> shrunk;
  /// Remaining states, and positions.
  size_t numAlive = 0, numPositions = 0;
  /// A bound on the magnitudes of moved costs.
  int64_t largestMoved = 0;
  /// Scratch by class, and by position.
  std::vector<int64_t> given, taken, shares;
};

} // namespace tessera::search

#endif // TESSERA_LIB_SEARCH_REPARAMETRIZATION_H
