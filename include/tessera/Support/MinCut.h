//===- MinCut.h - The minimum cut of a network ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_MINCUT_H
#define TESSERA_SUPPORT_MINCUT_H

#include <cstdint>
#include <limits>
#include <vector>

namespace tessera {

/// A directed network between a source and a sink, and its minimum cut by
/// blocking flows (Dinic 1970).
class MinCut {
public:
  /// A capacity that no cut crosses, unless all cuts do.
  static constexpr int64_t kInfinite = std::numeric_limits<int64_t>::max() / 4;

  explicit MinCut(unsigned numNodes) : edges(numNodes) {}

  /// Capacities must add up to less than kInfinite.
  void addEdge(unsigned from, unsigned to, int64_t capacity);
  /// Whether each node is on the source's side of a minimum cut: the one with
  /// the fewest nodes there. Call once.
  std::vector<bool> cut(unsigned source, unsigned sink);

private:
  struct Edge {
    unsigned to;
    /// Index of the reverse edge in the edges of `to`.
    unsigned reverse;
    int64_t left;
  };

  bool computeLevels(unsigned source, unsigned sink);
  bool augment(unsigned source, unsigned sink);

  std::vector<std::vector<Edge>> edges;
  /// Distance from the source over edges that are not full; -1 if unreachable.
  std::vector<int> level;
  /// The next edge to try at each node.
  std::vector<size_t> next;
};

} // namespace tessera

#endif // TESSERA_SUPPORT_MINCUT_H
