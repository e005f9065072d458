//===- Mirror.cpp - Memory of ranks on other nodes ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Mirror.h.
//
//===----------------------------------------------------------------------===//

#include "Mirror.h"

#include <algorithm>
#include <cstring>
#include <limits>

using namespace tessera::rt;

/// Seconds after which a held post is tried again.
static constexpr double heldSeconds = 2e-4;
/// Shortest run that is sent from where it is; shorter ones are packed.
static constexpr int64_t packedBytes = 32 << 10;

Mirror::~Mirror() {
  // Its thread uses the other members.
  link.reset();
}

std::string Mirror::open(const std::string &address, const std::string &token) {
  const Placement &place = ctx->memory.place;
  LinkSetup setup{address, token, place.node, place.nodes};
  hasPut.assign(size_t(place.nodes), false);
  std::string error;
  link = openLink(
      setup,
      [this](const void *header, size_t headerBytes, const void *data,
             size_t bytes) { receive(header, headerBytes, data, bytes); },
      [this] { return retryHeld(); }, error);
  return error;
}

std::string Mirror::connect() {
  const Placement &place = ctx->memory.place;
  std::vector<std::string> addresses;
  int local = ctx->rank - place.firstRank();
  for (int node = 0; node < place.nodes; ++node)
    addresses.push_back(
        ctx->memory.blocks[node * place.perNode + local].address);
  return link->connect(addresses);
}

//===----------------------------------------------------------------------===//
// Sending
//===----------------------------------------------------------------------===//

bool Mirror::staysInPlace(const Operation &op) const {
  return op.sourceBytes > inboxBytes;
}

std::vector<int> Mirror::readersOn(const Operation &op, int node) const {
  std::vector<int> readers;
  for (int index = 0; index < op.group->size(); ++index)
    if (ctx->memory.place.nodeOf(op.group->members[size_t(index)]) == node &&
        isReader(op, index))
      readers.push_back(index);
  return readers;
}

uint32_t Mirror::countReaders(const Operation &op) const {
  const Placement &place = ctx->memory.place;
  std::vector<bool> isNodeReading(size_t(place.nodes), false);
  uint32_t readers = 0;
  for (int index = 0; index < op.group->size(); ++index) {
    int member = op.group->members[size_t(index)];
    if (!isReader(op, index))
      continue;
    if (place.isHere(member))
      ++readers;
    else
      isNodeReading[size_t(place.nodeOf(member))] = staysInPlace(op);
  }
  return readers +
         uint32_t(std::count(isNodeReading.begin(), isNodeReading.end(), true));
}

Status Mirror::send(int node, const LinkMessage &message, const void *data,
                    size_t bytes, bool copies) {
  sent.fetch_add(int64_t(sizeof(message) + bytes), std::memory_order_relaxed);
  std::string error =
      link->send(node, &message, sizeof(message), data, bytes, copies);
  return error.empty() ? TESSERA_RT_OK : fail(ctx, TESSERA_RT_SYSTEM, error);
}

Status Mirror::sendRows(int node, const uint8_t *base, const SourcePart &part) {
  int64_t rows = std::max<int64_t>(1, int64_t(Link::longestData) / part.bytes);
  std::vector<uint8_t> packed;
  for (int64_t begin = 0; begin < part.count; begin += rows) {
    int64_t count = std::min(rows, part.count - begin);
    const uint8_t *first = base + part.offset + begin * part.stride;
    packed.resize(size_t(count * part.bytes));
    for (int64_t i = 0; i < count; ++i)
      memcpy(packed.data() + i * part.bytes, first + i * part.stride,
             size_t(part.bytes));
    LinkMessage message;
    message.kind = LinkMessage::Data;
    message.rank = ctx->rank;
    message.offset = first - ctx->memory.base;
    message.bytes = part.bytes;
    message.stride = part.stride;
    message.count = count;
    if (Status status =
            send(node, message, packed.data(), packed.size(), /*copies=*/true))
      return status;
  }
  return TESSERA_RT_OK;
}

Status Mirror::sendParts(int node, const uint8_t *base,
                         const std::vector<SourcePart> &parts) {
  for (const SourcePart &part : parts) {
    if (part.size() == 0)
      continue;
    if (part.count > 1 && part.bytes < packedBytes) {
      if (Status status = sendRows(node, base, part))
        return status;
      continue;
    }
    for (int64_t row = 0; row < part.count; ++row)
      for (int64_t at = 0; at < part.bytes; at += Link::longestData) {
        const uint8_t *from = base + part.offset + row * part.stride + at;
        LinkMessage message;
        message.kind = LinkMessage::Data;
        message.rank = ctx->rank;
        message.offset = from - ctx->memory.base;
        message.count = 1;
        message.bytes = std::min<int64_t>(part.bytes - at, Link::longestData);
        if (Status status = send(node, message, from, size_t(message.bytes),
                                 /*copies=*/false))
          return status;
      }
  }
  return TESSERA_RT_OK;
}

Status Mirror::post(int32_t slot, const Operation &op) {
  const Placement &place = ctx->memory.place;
  if (!op.isRead)
    return TESSERA_RT_OK;
  const uint8_t *source = ctx->arena() + op.sourceOffset;
  for (int node = 0; node < place.nodes; ++node) {
    std::vector<int> readers;
    if (node != place.node)
      readers = readersOn(op, node);
    if (readers.empty())
      continue;
    LinkMessage message;
    message.kind = LinkMessage::Post;
    message.rank = ctx->rank;
    message.slot = slot;
    message.ticket = op.ticket;
    message.readers = uint32_t(readers.size());
    message.sourceOffset = op.sourceOffset;
    message.destinationOffset = op.destinationOffset;
    message.header = op.header;
    message.isInInbox = !staysInPlace(op);
    if (staysInPlace(op) && !op.nodeSum.isUsed())
      if (Status status = sendParts(node, source, findSourceParts(op, readers)))
        return status;
    message.bytes = message.isInInbox ? op.sourceBytes : 0;
    if (Status status = send(node, message, source, size_t(message.bytes)))
      return status;
  }
  return TESSERA_RT_OK;
}

Status Mirror::postReduced(int32_t slot, const Operation &op) {
  const Placement &place = ctx->memory.place;
  int64_t begin, end, size = dtypeSize(op.header.dtype);
  getReducedChunk(op, op.group->index, begin, end);
  const uint8_t *destination = ctx->arena() + op.destinationOffset;
  for (int node = 0; node < place.nodes; ++node) {
    if (node == place.node || readersOn(op, node).empty())
      continue;
    if (Status status = sendParts(node, destination,
                                  {{begin * size, (end - begin) * size, 0, 1}}))
      return status;
    LinkMessage message;
    message.kind = LinkMessage::Reduced;
    message.rank = ctx->rank;
    message.slot = slot;
    message.ticket = op.ticket;
    if (Status status = send(node, message))
      return status;
  }
  return TESSERA_RT_OK;
}

Status Mirror::sendPartial(int target, const Operation &op, const uint8_t *data,
                           int64_t bytes, bool copies) {
  LinkMessage message;
  message.kind = LinkMessage::Partial;
  message.rank = ctx->rank;
  message.ticket = op.ticket;
  message.bytes = bytes;
  return send(ctx->memory.place.nodeOf(target), message, data, size_t(bytes),
              copies);
}

bool Mirror::takePartial(int from, uint64_t ticket,
                         std::vector<uint8_t> &piece) {
  std::lock_guard<std::mutex> lock(partialsMutex);
  if (!piece.empty())
    spare.push_back(std::move(piece));
  piece.clear();
  auto found = partials.find({from, ticket});
  if (found == partials.end())
    return false;
  piece = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty())
    partials.erase(found);
  return true;
}

Status Mirror::sendResult(int target, int32_t slot, const Operation &op,
                          const uint8_t *place, const uint8_t *data,
                          int64_t bytes, int64_t elements, bool copies) {
  LinkMessage message;
  message.kind = LinkMessage::Result;
  message.rank = ctx->rank;
  message.slot = slot;
  message.ticket = op.ticket;
  message.offset = place - ctx->memory.base;
  message.bytes = bytes;
  message.count = 1;
  message.elements = elements;
  return send(ctx->memory.place.nodeOf(target), message, data, size_t(bytes),
              copies);
}

Status Mirror::release(int owner, int32_t slot) {
  RankBlock &block = ctx->memory.blocks[owner];
  const Entry &entry = block.entries[slot];
  LinkMessage message;
  message.kind = LinkMessage::Read;
  message.rank = owner;
  message.slot = slot;
  message.ticket = block.tickets[slot].load();
  bool isAwaited = !entry.isInInbox;
  // The next operation of this slot may now appear.
  block.tickets[slot].store(0);
  return isAwaited ? send(ctx->memory.place.nodeOf(owner), message)
                   : TESSERA_RT_OK;
}

Status Mirror::put(int node, const void *at, int64_t bytes) {
  if (node == ctx->memory.place.node)
    return TESSERA_RT_OK;
  hasPut[size_t(node)] = true;
  return sendParts(node, static_cast<const uint8_t *>(at), {{0, bytes, 0, 1}});
}

Status Mirror::write(int node, const void *at, int64_t bytes) {
  if (node == ctx->memory.place.node)
    return TESSERA_RT_OK;
  LinkMessage message;
  message.kind = LinkMessage::Data;
  message.rank = ctx->rank;
  message.offset = static_cast<const uint8_t *>(at) - ctx->memory.base;
  message.bytes = bytes;
  message.count = 1;
  return send(node, message, at, size_t(bytes), /*copies=*/true);
}

Status Mirror::flush() {
  for (size_t node = 0; node < hasPut.size(); ++node) {
    if (!hasPut[node])
      continue;
    LinkMessage message;
    message.kind = LinkMessage::Flush;
    message.rank = ctx->rank;
    if (Status status = send(int(node), message))
      return status;
    ++asked;
    hasPut[node] = false;
  }
  return waitForNodes(ctx, "the transfer of memory to other nodes",
                      [this] { return answered.load() >= asked; });
}

//===----------------------------------------------------------------------===//
// Receiving, on the link's thread
//===----------------------------------------------------------------------===//

bool Mirror::isValid(const LinkMessage &m, size_t bytes) const {
  const Placement &place = ctx->memory.place;
  if (m.rank < 0 || m.rank >= place.ranks() || m.slot < 0 ||
      m.slot >= numSlots ||
      place.isHere(m.rank) != (m.kind == LinkMessage::Read))
    return false;
  if (m.kind == LinkMessage::Post)
    return m.bytes == int64_t(bytes) && m.bytes <= inboxBytes &&
           (m.bytes == 0 || m.isInInbox);
  if (m.kind == LinkMessage::Partial)
    return m.bytes == int64_t(bytes) && bytes > 0;
  if (m.kind != LinkMessage::Data && m.kind != LinkMessage::Result)
    return m.kind > LinkMessage::Data && m.kind <= LinkMessage::Flushed;
  int64_t limit = ctx->memory.bytes;
  return m.count >= 1 && m.bytes >= 1 && m.stride >= 0 && m.offset >= 0 &&
         m.count * m.bytes == int64_t(bytes) && m.bytes <= limit &&
         m.stride <= limit / m.count &&
         m.offset <= limit - (m.count - 1) * m.stride - m.bytes;
}

void Mirror::receive(const void *header, size_t headerBytes, const void *data,
                     size_t bytes) {
  LinkMessage message;
  if (headerBytes == sizeof(message))
    memcpy(static_cast<void *>(&message), header, sizeof(message));
  if (headerBytes != sizeof(message) || !isValid(message, bytes)) {
    fail(ctx, TESSERA_RT_MISMATCH,
         "another node sends what this version of the runtime does not expect");
    return;
  }
  auto *from = static_cast<const uint8_t *>(data);
  if (isBehindHeld(message, held.size()) || !take(message, from))
    held.push_back({message, std::vector<uint8_t>(from, from + bytes)});
}

bool Mirror::isBehindHeld(const LinkMessage &message, size_t end) const {
  // Only these are about a slot of their sender.
  if (message.kind != LinkMessage::Post &&
      message.kind != LinkMessage::Reduced &&
      message.kind != LinkMessage::Result)
    return false;
  return std::any_of(held.begin(), held.begin() + long(end),
                     [&](const Held &before) {
                       return before.message.rank == message.rank &&
                              before.message.slot == message.slot;
                     });
}

bool Mirror::tryPost(const LinkMessage &message, const uint8_t *data) {
  RankBlock &block = ctx->memory.blocks[message.rank];
  if (block.tickets[message.slot].load() != 0)
    return false;
  if (message.isInInbox && data)
    memcpy(ctx->memory.inbox(message.rank, message.slot), data,
           size_t(message.bytes));
  Entry &entry = block.entries[message.slot];
  entry.header = message.header;
  entry.sourceOffset = message.sourceOffset;
  entry.destinationOffset = message.destinationOffset;
  entry.postedAt = monotonicSeconds();
  entry.readers = message.readers;
  entry.isInInbox = message.isInInbox != 0;
  entry.acknowledged.store(0, std::memory_order_relaxed);
  entry.phase.store(0, std::memory_order_relaxed);
  entry.results.store(0, std::memory_order_relaxed);
  block.tickets[message.slot].store(message.ticket);
  ringNode();
  return true;
}

void Mirror::ringNode() {
  const Placement &place = ctx->memory.place;
  for (int rank = place.firstRank(); rank < place.endRank(); ++rank)
    ringDoorbell(ctx->memory.blocks[rank]);
}

void Mirror::keepPartial(const LinkMessage &message, const uint8_t *data) {
  std::lock_guard<std::mutex> lock(partialsMutex);
  std::vector<uint8_t> piece;
  if (!spare.empty()) {
    piece = std::move(spare.back());
    spare.pop_back();
  }
  piece.assign(data, data + message.bytes);
  partials[{message.rank, message.ticket}].push_back(std::move(piece));
  ringDoorbell(ctx->block());
}

bool Mirror::take(const LinkMessage &message, const uint8_t *data) {
  RankBlock &block = ctx->memory.blocks[message.rank];
  switch (message.kind) {
  case LinkMessage::Post:
    return tryPost(message, data);
  case LinkMessage::Data:
    for (int64_t i = 0; i < message.count; ++i)
      memcpy(ctx->memory.base + message.offset + i * message.stride,
             data + i * message.bytes, size_t(message.bytes));
    break;
  case LinkMessage::Partial:
    keepPartial(message, data);
    break;
  case LinkMessage::Result:
    memcpy(ctx->memory.base + message.offset, data, size_t(message.bytes));
    block.entries[message.slot].results.store(message.elements);
    ringDoorbell(ctx->block());
    break;
  case LinkMessage::Reduced:
    block.entries[message.slot].phase.store(1);
    ringNode();
    break;
  case LinkMessage::Read: {
    Entry &entry = block.entries[message.slot];
    uint32_t readers = entry.readers;
    if (block.tickets[message.slot].load() == message.ticket &&
        entry.acknowledged.fetch_add(1) + 1 == readers)
      ringDoorbell(block);
    break;
  }
  case LinkMessage::Flush: {
    LinkMessage answer;
    answer.kind = LinkMessage::Flushed;
    answer.rank = ctx->rank;
    send(ctx->memory.place.nodeOf(message.rank), answer);
    break;
  }
  case LinkMessage::Flushed:
    answered.fetch_add(1);
    ringDoorbell(ctx->block());
    break;
  default:
    break;
  }
  return true;
}

double Mirror::retryHeld() {
  for (size_t i = 0; i < held.size();) {
    const Held &one = held[i];
    if (!isBehindHeld(one.message, i) && take(one.message, one.data.data()))
      held.erase(held.begin() + long(i));
    else
      ++i;
  }
  return held.empty() ? std::numeric_limits<double>::infinity() : heldSeconds;
}
