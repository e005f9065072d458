//===- Placement.h - Ranks and the nodes that they are on -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A node is a set of consecutive ranks that share memory. All nodes of a job
// have equally many.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_PLACEMENT_H
#define TESSERA_RT_SRC_PLACEMENT_H

namespace tessera::rt {

/// The node of a process, and the ranks of each node.
struct Placement {
  int node = 0, nodes = 1;
  int perNode = 1;

  int ranks() const { return nodes * perNode; }
  int firstRank() const { return node * perNode; }
  int endRank() const { return firstRank() + perNode; }
  int nodeOf(int rank) const { return rank / perNode; }
  bool isHere(int rank) const { return nodeOf(rank) == node; }
  bool isAcrossNodes() const { return nodes > 1; }
};

/// All ranks on one node.
inline Placement onOneNode(int ranks) { return {0, 1, ranks}; }

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_PLACEMENT_H
