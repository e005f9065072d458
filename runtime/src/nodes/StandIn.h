//===- StandIn.h - A rank that speaks for its node --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The process with a node's agent may be the one that is stopped or dead. Then
// another rank of the node tells the root what it sees.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_STANDIN_H
#define TESSERA_RT_SRC_STANDIN_H

#include "Doors.h"
#include "Messages.h"

#include <memory>

namespace tessera::rt {

/// Returns the states of this node's ranks.
States findStates(const SharedMemory &memory);

/// The number of a rank that stands in, at the root's door: those of nodes come
/// first.
inline int standInNumber(const Placement &place, int rank) {
  return place.nodes + rank;
}

class StandIn {
public:
  StandIn(SharedMemory &memory, int rank);
  ~StandIn();

  /// Sends a message, with the states of this node's ranks before it.
  void send(const std::string &message);
  /// Waits up to `seconds` for the root's verdict, and makes it that of this
  /// node. Returns false if none comes.
  bool await(double seconds, Verdict &verdict);

private:
  SharedMemory &memory;
  std::unique_ptr<AgentDoor> door;
};

/// Records the verdict on this node, for all of its ranks.
void recordVerdict(SharedMemory &memory, const Verdict &verdict);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_STANDIN_H
