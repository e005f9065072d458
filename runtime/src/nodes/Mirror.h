//===- Mirror.h - Memory of ranks on other nodes ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The memory of a job has the same layout on every node. A rank that posts a
// collective, or puts a part of its memory, sends it to the nodes that need it,
// and it appears there at the same place, as if its owner were on that node:
// the entry of a collective in the block of its rank, operands in its arena. So
// the ranks there read, reduce and compare it as they do on one node, with the
// same bits.
//
// Each rank sends to its counterparts, the ranks of the same local number. A
// thread of its link receives for all ranks of its node.
//
// An operand of at most inboxBytes is copied when it is posted, and its owner
// waits for no answer. It stays in an inbox at its readers until all of them
// have read it; a later one for the same slot waits until then. A larger
// operand is sent from where it is, and the last reader on a node tells its
// owner that it may be overwritten.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_MIRROR_H
#define TESSERA_RT_SRC_MIRROR_H

#include "Link.h"
#include "SourceParts.h"

#include <deque>
#include <map>
#include <mutex>

namespace tessera::rt {

/// Largest operand that is copied when it is posted, in bytes.
constexpr int64_t inboxBytes = 16 << 10;

/// The header of a message between ranks.
struct LinkMessage {
  enum Kind : int32_t {
    /// An operation in `slot`; with its data if it is in an inbox.
    Post,
    /// `count` runs of `bytes` bytes, `stride` apart, from `offset` of the
    /// shared memory on.
    Data,
    /// The rank's part of an all_reduce is in its destination.
    Reduced,
    /// The next piece of partial sums of a sum that goes from node to node.
    Partial,
    /// Results of such a sum, to be at `offset`. With them `elements` have
    /// come.
    Result,
    /// All readers of a node have read the operation of the receiver's side.
    Read,
    /// Asks for an answer once all messages so far have been taken.
    Flush,
    Flushed
  };
  int32_t kind = Post;
  /// The sender; in Read the owner of the operation.
  int32_t rank = 0;
  int32_t slot = 0;
  uint32_t readers = 0;
  uint64_t ticket = 0;
  int64_t offset = 0, bytes = 0, stride = 0, count = 0;
  int64_t sourceOffset = 0, destinationOffset = 0;
  int32_t isInInbox = 0;
  int64_t elements = 0;
  Header header;
};

class Mirror {
public:
  explicit Mirror(tessera_rt_context *ctx) : ctx(ctx) {}
  ~Mirror();

  /// Opens this rank's link at an address of its node, which other nodes'
  /// ranks open with the token. Returns a message, or nothing.
  std::string open(const std::string &address, const std::string &token);
  const std::string &address() const { return link->address(); }
  /// Connects with the addresses in the blocks of the counterparts.
  std::string connect();

  /// Counts the readers of a source whose acknowledgments its owner awaits: of
  /// this node each, of others each node together.
  uint32_t countReaders(const Operation &op) const;
  /// Sends the operation that this rank has posted to the nodes that read it.
  Status post(int32_t slot, const Operation &op);
  /// Sends this rank's part of an all_reduce, and says that it is there.
  Status postReduced(int32_t slot, const Operation &op);
  /// Sends the next piece of a partial sum to a counterpart.
  Status sendPartial(int target, const Operation &op, const uint8_t *data,
                     int64_t bytes, bool copies);
  /// Takes the next piece that a counterpart has sent. `piece` has the one
  /// before, or nothing. False if there is none.
  bool takePartial(int from, uint64_t ticket, std::vector<uint8_t> &piece);
  /// Sends results of a sum to a counterpart, where they appear at a place of
  /// this rank's memory. `elements` have been sent then.
  Status sendResult(int target, int32_t slot, const Operation &op,
                    const uint8_t *place, const uint8_t *data, int64_t bytes,
                    int64_t elements, bool copies);
  /// Frees the operation of another node's rank, which all readers of this node
  /// have read.
  Status release(int owner, int32_t slot);

  /// Sends a part of this rank's memory to a node. It must not change until
  /// `flush`.
  Status put(int node, const void *at, int64_t bytes);
  /// Waits until the nodes have all that this rank has put.
  Status flush();
  /// Sends a part of this rank's memory, of at most Link::longestData bytes, to
  /// a node. It is copied, and arrives after all that was sent before. Any
  /// thread may call it.
  Status write(int node, const void *at, int64_t bytes);

  /// Bytes that this rank has sent to other nodes, headers included.
  int64_t sentBytes() const { return sent.load(std::memory_order_relaxed); }

private:
  /// A message about a slot that is not free yet.
  struct Held {
    LinkMessage message;
    std::vector<uint8_t> data;
  };

  Status send(int node, const LinkMessage &message, const void *data = nullptr,
              size_t bytes = 0, bool copies = true);
  /// Sends parts of the operand that begins at `base`.
  Status sendParts(int node, const uint8_t *base,
                   const std::vector<SourcePart> &parts);
  Status sendRows(int node, const uint8_t *base, const SourcePart &part);
  /// Members on `node` that read the source of this rank.
  std::vector<int> readersOn(const Operation &op, int node) const;
  bool staysInPlace(const Operation &op) const;

  // On the link's thread.
  void receive(const void *header, size_t headerBytes, const void *data,
               size_t bytes);
  bool isValid(const LinkMessage &message, size_t bytes) const;
  /// True if a message waits for one of the first `end` held ones.
  bool isBehindHeld(const LinkMessage &message, size_t end) const;
  /// Does what a message says. False if its slot is not free yet.
  bool take(const LinkMessage &message, const uint8_t *data);
  bool tryPost(const LinkMessage &message, const uint8_t *data);
  double retryHeld();
  void ringNode();
  void keepPartial(const LinkMessage &message, const uint8_t *data);

  tessera_rt_context *ctx;
  std::unique_ptr<Link> link;
  std::atomic<int64_t> sent{0};
  std::deque<Held> held;
  /// Pieces of partial sums by sender and ticket, and memory of old ones.
  std::map<std::pair<int, uint64_t>, std::deque<std::vector<uint8_t>>> partials;
  std::vector<std::vector<uint8_t>> spare;
  std::mutex partialsMutex;
  /// Nodes that have something unanswered, and the flushes asked and answered.
  std::vector<bool> hasPut;
  uint64_t asked = 0;
  std::atomic<uint64_t> answered{0};
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_MIRROR_H
