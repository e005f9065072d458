//===- CommunicationOrder.h - Deadlock check of ranks -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks take part in communications: all members of a collective, or a sender
// and a receiver. Each rank posts its communications in an order of its own and
// may wait for any of them that it has posted. If
//
// * each communication is posted once by each member and by nobody else,
// * the members of a communicator post the communications on it in one order,
//   and
// * the orders of all ranks together have no cycle,
//
// then no rank waits for ever, wherever it waits. Proof: sort the
// communications in an order that agrees with all ranks' orders, and take the
// first that is not complete. All of its members have posted it, since only an
// earlier communication could hold one of them up. Without the third condition,
// ranks that have only one communication in flight at a time hold each other
// up.
//
// Plain C++: no IR.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COLLECTIVES_COMMUNICATIONORDER_H
#define TESSERA_COLLECTIVES_COMMUNICATIONORDER_H

#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// One collective, or one transfer between two ranks.
struct Communication {
  /// For messages: "all_reduce over {"tp"}".
  std::string name;
  llvm::SmallVector<unsigned, 4> members;
  /// Communications with the same number are on one communicator.
  unsigned communicator = 0;
};

/// All communications of a program and the order in which each rank posts its
/// own.
struct CommunicationOrder {
  std::vector<Communication> communications;
  /// The numbers of the communications that each rank posts, in order.
  std::vector<std::vector<unsigned>> ranks;
};

/// Why ranks may wait for each other.
struct Deadlock {
  std::string message;
  /// The communications at fault: around a cycle, or the one that is posted
  /// wrongly.
  std::vector<unsigned> communications;
};

/// Returns nothing if all ranks finish.
std::optional<Deadlock> findDeadlock(const CommunicationOrder &order);

} // namespace tessera

#endif // TESSERA_COLLECTIVES_COMMUNICATIONORDER_H
