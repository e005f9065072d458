//===- Doors.h - Control messages between nodes -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The root, node 0's agent, opens a door on one address; the agents of all
// nodes connect with it. What passes is encrypted, and both sides prove that
// they know the job's key (CURVE of ZeroMQ): another client delivers nothing.
//
// A door may be used by one thread at a time. Messages from one sender arrive
// whole, once, and in their order, unless the connection ends: then those on
// their way may be lost, and `Gone` tells of it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_DOORS_H
#define TESSERA_RT_SRC_DOORS_H

#include "nodes/JobKey.h"

#include <cstddef>
#include <memory>
#include <string>

namespace tessera::rt {

/// Bytes of the longest message.
inline constexpr size_t longestDoorMessage = size_t(256) << 20;

/// Something that a door has received.
struct DoorEvent {
  enum Kind {
    None,
    Message,
    /// The connection of that node (at an agent: of the root) ended, and none
    /// came back within half a second. A link that is down without a reset, and
    /// a stopped process, end no connection. A node may come back after it; its
    /// messages then arrive as before. An agent that is refused because the
    /// root has another one of its node gets this once, too.
    Gone
  } kind = None;
  /// At the root: the sender, or the node that is gone.
  int node = -1;
  std::string message;
};

/// The address and the key by which agents reach the root.
struct RootAddress {
  std::string endpoint; ///< "tcp://10.0.0.1:4711"
  JobKey key;
};

class Door {
public:
  virtual ~Door();

  /// Returns what has arrived, without waiting; the kind is None if nothing
  /// has.
  virtual DoorEvent receive() = 0;
};

/// The root's door. The destructor gives messages that were just sent up to a
/// second to leave.
class RootDoor : public Door {
public:
  /// Listens on `address`, a numeric IPv4 or IPv6 address of this machine, at
  /// `port`; 0: a free one. No other address is listened on. Returns null, with
  /// `error`, if that is not possible.
  static std::unique_ptr<RootDoor> open(const std::string &address, int port,
                                        const JobKey &key, std::string &error);

  /// "tcp://10.0.0.1:4711", with the port in use.
  virtual const std::string &endpoint() const = 0;

  /// Sends to a node; never waits. A message to a node that is not connected,
  /// and one above longestDoorMessage, is dropped.
  virtual void send(int node, const std::string &message) = 0;
};

/// An agent's door. Its destructor is as the root's.
class AgentDoor : public Door {
public:
  /// Connects as `node`; returns at once. While nobody listens there, it tries
  /// again up to 20 times a second, and what is sent meanwhile waits. The root
  /// refuses a second connection of a node while the first one lives.
  static std::unique_ptr<AgentDoor> connect(const RootAddress &root, int node,
                                            std::string &error);

  /// Sends to the root; never waits. A message above longestDoorMessage is
  /// dropped.
  virtual void send(const std::string &message) = 0;

  /// True if the last try to connect reached a listener that did not accept the
  /// key, or that is no root at all. Known after a receive().
  virtual bool isRefused() const = 0;
};

/// Waits until a door (null: none) may have something to receive, `wake` (an
/// eventfd; -1: none) is readable, or `seconds` are over. May return early.
void waitForDoors(RootDoor *root, AgentDoor *agent, int wake, double seconds);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_DOORS_H
