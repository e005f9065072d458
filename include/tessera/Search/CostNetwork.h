//===- CostNetwork.h - A cost function network ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pairwise cost function network (weighted constraint satisfaction problem)
// in plain C++: variables with a cost for each of their states, and edges with
// a cost for each pair of states of two variables. What is wanted is a state
// for each variable so that the sum of all costs is least.
//
//         costs 3 0 5               costs 1 4
//        [ variable 0 ]---edge---[ variable 1 ]
//                     table[class of the state of 0][class of the state of 1]
//
// Many states of a variable look equal to an edge (an op's states that need one
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

/// The cost of what is impossible. Costs are picoseconds; any unit will do.
constexpr int64_t kInfinite = int64_t(1) << 61;

/// All finite costs of a network, each table's largest times its weight, sum to
/// at most this: about ten hours. Sums of costs then stay far below kInfinite.
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

/// See the file comment.
struct CostNetwork {
  /// A decision: the cost of each of its states.
  struct Variable {
    std::vector<int64_t> costs;
  };

  /// Costs of pairs of states of two variables.
  struct Edge {
    /// Variables, the first before the second.
    unsigned first = 0, second = 0;
    /// Of `tables`.
    unsigned table = 0;
    /// Of `classes`: the row of the table for each state of the first variable,
    /// the column for each state of the second.
    unsigned firstClasses = 0, secondClasses = 0;
    /// The costs of the table count so often.
    int64_t weight = 1;
    /// How many equal edges of a larger network this one stands for. Sweeps
    /// hand it as many shares of what a variable costs: an edge of one layer is
    /// not to take what all layers cost.
    int64_t copies = 1;
  };

  /// In the order in which costs go from one to the next (of the program, where
  /// there is one): sweeps follow it.
  std::vector<Variable> variables;
  std::vector<Edge> edges;
  std::vector<CostTable> tables;
  std::vector<std::vector<uint32_t>> classes;

  /// Appends a variable, a table, classes; returns its number.
  unsigned addVariable(std::vector<int64_t> costs);
  unsigned addTable(CostTable table);
  unsigned addClasses(std::vector<uint32_t> classesOfStates);
  /// Appends an edge with a table over all pairs of states of two variables.
  void addEdge(unsigned first, unsigned second, std::vector<int64_t> costs);

  /// An error that names variable, edge or table if this is no network: a
  /// variable without states, a cost below 0 or above kInfinite, numbers out of
  /// range, tables and classes of other sizes, a sum above kMaxTotal.
  llvm::Error check() const;

  /// An error if this is not one state for each variable.
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
  /// The problem bears `name`, of letters, digits and `_`.
  void writeCfn(llvm::raw_ostream &os, llvm::StringRef name = "tessera") const;
};

} // namespace tessera::search

#endif // TESSERA_SEARCH_COSTNETWORK_H
