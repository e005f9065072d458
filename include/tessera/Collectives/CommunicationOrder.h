//===- CommunicationOrder.h - Do ranks wait for each other? -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks take part in communications: all members of a collective, or a sender
// and a receiver. Each rank posts its communications in an order of its own and
// may wait for any of them, but for none before it has posted it. If
//
// * each communication is posted once by each member and by nobody else,
// * the members of a communicator post the communications on it in one order,
// and
// * the orders of all ranks together have no cycle,
//
// then no rank waits for ever, wherever it waits: of the communications that
// are not complete the first, in an order that all ranks' orders agree with,
// has been posted by all of its members, since each of them can only be held up
// by an earlier one. Without the third, ranks that have only one thing in
// flight at a time hold each other up.
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
  /// Communications with one number are on one communicator.
  unsigned communicator = 0;
};

/// All communications of a program and the order in which each rank posts its
/// own.
struct CommunicationOrder {
  std::vector<Communication> communications;
  /// What each rank posts, in order: numbers of communications.
  std::vector<std::vector<unsigned>> ranks;
};

/// Why ranks may wait for each other.
struct Deadlock {
  std::string message;
  /// Communications to blame: around a cycle, or the one that is posted
  /// wrongly.
  std::vector<unsigned> communications;
};

/// Nothing if all ranks come to their end.
std::optional<Deadlock> findDeadlock(const CommunicationOrder &order);

} // namespace tessera

#endif // TESSERA_COLLECTIVES_COMMUNICATIONORDER_H
