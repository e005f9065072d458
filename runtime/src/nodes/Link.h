//===- Link.h - Data between ranks on several nodes -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A link carries messages between a rank and its counterparts, the ranks of the
// same local number on other nodes. It knows nothing of collectives, and its
// users nothing of the library below (ZeroMqLink.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_LINK_H
#define TESSERA_RT_SRC_LINK_H

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tessera::rt {

class Link {
public:
  /// Bytes of the longest header and of the longest data of a message. Longer
  /// data is cut by the sender.
  static constexpr size_t longestHeader = 1024, longestData = 256 << 10;

  /// Called on the link's own thread for each message, in its sender's order.
  /// The memory is valid during the call, and both addresses are multiples of
  /// 8. It may call send, and it must not wait: no message arrives meanwhile.
  using Receive = std::function<void(const void *header, size_t headerBytes,
                                     const void *data, size_t bytes)>;

  /// Stops the thread. Drops what has not left.
  virtual ~Link() = default;

  /// The address that the counterparts connect with: "tcp://10.0.0.1:4711".
  virtual const std::string &address() const = 0;

  /// Connects with the counterparts, by node; the own entry is ignored. Returns
  /// an error or nothing, at once: messages wait until their connection stands.
  /// Call it once, before the first send.
  virtual std::string connect(const std::vector<std::string> &addresses) = 0;

  /// Sends a header (copied) and data to the counterpart on `node`. Data is
  /// copied if `copies`; else it must stay as it is until the receiver has got
  /// it, which the caller learns by an answer, or until the link is destroyed.
  /// Never waits. Any thread may call it. Returns an error or nothing.
  virtual std::string send(int node, const void *header, size_t headerBytes,
                           const void *data, size_t bytes, bool copies) = 0;
};

struct LinkSetup {
  /// The address to listen on, such as "10.0.0.1".
  std::string address;
  /// The secret of all links of the job, of 1 to 255 bytes. It came over
  /// an encrypted door; links do not encrypt.
  std::string token;
  /// The own node, and the number of nodes.
  int node = 0, nodes = 1;
};

/// Opens a link that listens on a free port of setup.address. `idle` runs on
/// the link's thread after messages, and when the seconds are over that its
/// last call returned (infinity: only after messages). Returns null, with
/// `error`, if that is not possible.
std::unique_ptr<Link> openLink(const LinkSetup &setup, Link::Receive receive,
                               std::function<double()> idle,
                               std::string &error);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_LINK_H
