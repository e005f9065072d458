//===- CostNetwork.h - A cost function network ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pairwise cost function network (weighted constraint satisfaction problem)
// in plain C++: variables with a cost for each of their states, and edges with
// a cost for each pair of states of two variables. The goal is a state for each
// variable that minimizes the sum of all costs.
//
//         costs 3 0 5               costs 1 4
//        [ variable 0 ]---edge---[ variable 1 ]
//                     table[class of the state of 0][class of the state of 1]
//
// Many states of a variable look equal to an edge (an op's states that need one
// sharding of an operand): the tables are over classes of states, and edges
// share tables and classes.
// sharding of an operand): the tables are over classes of states, and edges
// share tables and classes.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SEARCH_COSTNETWORK_H
#define TESSERA_SEARCH_COSTNETWORK_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <vector>

namespace tessera::search {

/// The cost of an impossible state. Costs are picoseconds; any unit will do.
constexpr int64_t kInfinite = int64_t(1) << 61;

/// The limit on the sum of all finite costs of a network, each table's largest
/// times its weight: about ten hours. Sums of costs then stay far below
/// kInfinite.
constexpr int64_t kMaxTotal = int64_t(1) << 55;

/// The sum of two costs, each at most kInfinite; kInfinite if one of them is.
inline int64_t addCosts(int64_t a, int64_t b) {
  return a >= kInfinite || b >= kInfinite ? kInfinite : a + b;
}

/// A cost that counts `weight` times; kInfinite stays as it is.
inline int64_t scaleCost(int64_t cost, int64_t weight) {
  return cost >= kInfinite ? kInfinite : cost * weight;
}

/// The largest finite cost; 0 without one.
int64_t getLargestFinite(llvm::ArrayRef<int64_t> costs);

/// Costs of pairs, row by row.
struct CostTable {
  unsigned rows = 0, columns = 0;
  std::vector<int64_t> costs;

  /// The cost of a pair.
  int64_t at(unsigned row, unsigned column) const {
    return costs[size_t(row) * columns + column];
  }
};

/// A cost function network. See the file comment.
struct CostNetwork {
  /// A decision: the cost of each of its states.
  struct Variable {
    std::vector<int64_t> costs;
  };

  /// Costs of pairs of states of two variables.
  struct Edge {
    /// Variables, the first before the second.
    unsigned first = 0, second = 0;
    /// Index into `tables`.
    unsigned table = 0;
    /// Indices into `classes`: the row of the table for each state of the first
    /// variable, the column for each state of the second.
    unsigned firstClasses = 0, secondClasses = 0;
    /// Factor of the table's costs.
    int64_t weight = 1;
    /// Number of equal edges of a larger network that this edge represents.
    /// Sweeps give it that many shares of a variable's cost, so that an edge of
    /// one layer does not take the cost of all layers.
    int64_t copies = 1;
  };

  /// In the order of the program, if there is one: sweeps pass costs from one
  /// variable to the next in this order.
  std::vector<Variable> variables;
  std::vector<Edge> edges;
  std::vector<CostTable> tables;
  std::vector<std::vector<uint32_t>> classes;

  /// Appends a variable, a table or classes; returns its number.
  unsigned addVariable(std::vector<int64_t> costs);
  unsigned addTable(CostTable table);
  unsigned addClasses(std::vector<uint32_t> classesOfStates);
  /// Appends an edge with a table over all pairs of states of two variables.
  void addEdge(unsigned first, unsigned second, std::vector<int64_t> costs);

  /// Fails, with the variable, edge or table, if the network is malformed: a
  /// variable without states, a cost below 0 or above kInfinite, numbers out of
  /// range, tables and classes of other sizes, a sum above kMaxTotal.
  llvm::Error check() const;

  /// Fails if this is not one state for each variable.
  llvm::Error checkStates(llvm::ArrayRef<unsigned> states) const;

  /// The cost of an edge for states of its variables.
  int64_t getEdgeCost(const Edge &edge, unsigned firstState,
                      unsigned secondState) const {
    const CostTable &table = tables[edge.table];
    return scaleCost(table.at(classes[edge.firstClasses][firstState],
                              classes[edge.secondClasses][secondState]),
                     edge.weight);
  }

  /// The sum of all costs for a state of each variable; kInfinite if one is.
  int64_t evaluate(llvm::ArrayRef<unsigned> states) const;

  /// Writes the network in toulbar2's cost function network format (JSON):
  /// variables `v0`, `v1`, ... with states `s0`, ..., every cost an integer.
  /// `name` consists of letters, digits and `_`.
  void writeCfn(llvm::raw_ostream &os, llvm::StringRef name = "tessera") const;
};

} // namespace tessera::search

#endif // TESSERA_SEARCH_COSTNETWORK_H
