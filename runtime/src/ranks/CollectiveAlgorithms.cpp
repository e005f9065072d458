//===- CollectiveAlgorithms.cpp - Data movement of collectives ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies or reduces the data of each collective, once the peers' operands may
// be read. Every rank pulls the data that it needs; no rank writes into a
// peer's arena.
//
//===----------------------------------------------------------------------===//

#include "Context.h"

#include "kernels/CpuKernels.h"

#include <algorithm>
#include <atomic>
#include <cstring>

using namespace tessera::rt;

/// Largest all_reduce, in bytes, in which every member reduces everything, with
/// one synchronization instead of two. In a larger one each member reduces its
/// chunk and fetches the others'.
static constexpr int64_t smallReduceBytes = 16 << 10;
/// Fewest bytes for which a thread of its own pays.
static constexpr int64_t bytesPerTask = 256 << 10;

bool tessera::rt::isLargeReduce(const Operation &op) {
  return op.group->size() > 1 &&
         op.inner * dtypeSize(op.header.dtype) > smallReduceBytes;
}

void tessera::rt::copyBytes(tessera_rt_context *ctx, void *destination,
                            const void *source, int64_t bytes) {
  if (destination == source || bytes <= 0)
    return;
  if (bytes < 2 * bytesPerTask || ctx->pool->size() == 1) {
    memcpy(destination, source, size_t(bytes));
    return;
  }
  int64_t tasks =
      std::min<int64_t>(bytes / bytesPerTask, int64_t(ctx->pool->size()) * 4);
  int64_t chunk = ((bytes + tasks - 1) / tasks + 63) / 64 * 64;
  ctx->pool->forEach(tasks, [&](int64_t task, int) {
    int64_t begin = task * chunk, end = std::min(begin + chunk, bytes);
    if (begin < end)
      memcpy(static_cast<uint8_t *>(destination) + begin,
             static_cast<const uint8_t *>(source) + begin, size_t(end - begin));
  });
}

/// dst[i] = reduction over members of sources[member][i], on all threads.
static void reduceSources(tessera_rt_context *ctx, const Header &header,
                          const uint8_t *const *sources, int members,
                          uint8_t *destination, int64_t count) {
  int64_t size = dtypeSize(header.dtype);
  int64_t tasks = std::clamp<int64_t>(count * size * members / bytesPerTask, 1,
                                      int64_t(ctx->pool->size()) * 4);
  int64_t chunk = ((count + tasks - 1) / tasks + 63) / 64 * 64;
  ctx->pool->forEach(tasks, [&](int64_t task, int) {
    int64_t begin = task * chunk, end = std::min(begin + chunk, count);
    if (begin >= end)
      return;
    std::vector<const void *> shifted(static_cast<size_t>(members));
    for (int i = 0; i < members; ++i)
      shifted[size_t(i)] = sources[i] + begin * size;
    cpuKernels().reduce(header.dtype, header.reduction, shifted.data(), members,
                        destination + begin * size, end - begin);
  });
}

static int64_t moveGather(tessera_rt_context *ctx, Operation &op,
                          const uint8_t *const *peers) {
  int members = op.group->size();
  int64_t bytes = op.inner * dtypeSize(op.header.dtype);
  uint8_t *destination = ctx->arena() + op.destinationOffset;
  for (int j = 0; j < members; ++j) {
    if (op.outer == 1) {
      copyBytes(ctx, destination + j * bytes, peers[j], bytes);
      continue;
    }
    int64_t shape[2] = {op.outer, bytes}, from[2] = {bytes, 1},
            to[2] = {bytes * members, 1};
    copyStrided(ctx, 1, 2, shape, peers[j], from, destination + j * bytes, to);
  }
  return op.outer * bytes * (members - 1);
}

static int64_t moveScatter(tessera_rt_context *ctx, Operation &op,
                           const uint8_t *const *peers) {
  int members = op.group->size();
  int64_t bytes = op.inner * dtypeSize(op.header.dtype);
  uint8_t *destination = ctx->arena() + op.destinationOffset;
  std::vector<const uint8_t *> sources(static_cast<size_t>(members));
  // If there are many short rows, threads share rows and not elements of a row.
  if (op.outer > 1 && bytes * members < bytesPerTask) {
    int64_t tasks = std::clamp<int64_t>(
        op.outer * bytes * members / bytesPerTask, 1, ctx->pool->size() * 4);
    ctx->pool->forEach(tasks, [&](int64_t task, int) {
      std::vector<const void *> row(static_cast<size_t>(members));
      for (int64_t i = op.outer * task / tasks;
           i < op.outer * (task + 1) / tasks; ++i) {
        for (int j = 0; j < members; ++j)
          row[size_t(j)] = peers[j] + (i * members + op.group->index) * bytes;
        cpuKernels().reduce(op.header.dtype, op.header.reduction, row.data(),
                            members, destination + i * bytes, op.inner);
      }
    });
    return bytesToReduce(op);
  }
  for (int64_t i = 0; i < op.outer; ++i) {
    for (int j = 0; j < members; ++j)
      sources[size_t(j)] = peers[j] + (i * members + op.group->index) * bytes;
    reduceSources(ctx, op.header, sources.data(), members,
                  destination + i * bytes, op.inner);
  }
  return bytesToReduce(op);
}

void tessera::rt::getChunk(int64_t count, int64_t parts, int64_t part,
                           int64_t &begin, int64_t &end) {
  int64_t chunk = ((count + parts - 1) / parts + 15) / 16 * 16;
  begin = std::min(chunk * part, count);
  end = std::min(begin + chunk, count);
}

void tessera::rt::getReducedChunk(const Operation &op, int index,
                                  int64_t &begin, int64_t &end) {
  getChunk(op.inner, op.group->size(), index, begin, end);
}

static int64_t moveReduce(tessera_rt_context *ctx, Operation &op,
                          const uint8_t *const *peers) {
  int members = op.group->size();
  int64_t size = dtypeSize(op.header.dtype), count = op.inner;
  uint8_t *destination = ctx->arena() + op.destinationOffset;
  if (!isLargeReduce(op)) {
    // The operation is in place, so peers may still read the memory to
    // overwrite.
    if (members > 1 && op.sourceOffset == op.destinationOffset) {
      op.held.resize(size_t(count * size));
      destination = op.held.data();
    }
    reduceSources(ctx, op.header, peers, members, destination, count);
    return bytesToReduce(op);
  }
  int64_t begin, end;
  getReducedChunk(op, op.group->index, begin, end);
  std::vector<const uint8_t *> sources(static_cast<size_t>(members));
  for (int j = 0; j < members; ++j)
    sources[size_t(j)] = peers[j] + begin * size;
  reduceSources(ctx, op.header, sources.data(), members,
                destination + begin * size, end - begin);
  return bytesToReduce(op);
}

int tessera::rt::findChunkOwners(const Operation &op, int &first) {
  int count = op.nodeSum.isUsed() ? op.nodeSum.perNode : op.group->size();
  first = op.group->index / count * count;
  return count;
}

void tessera::rt::gatherReduced(tessera_rt_context *ctx, Operation &op,
                                const uint8_t *const *peers) {
  int64_t size = dtypeSize(op.header.dtype), begin, end;
  int self = op.group->index;
  int first, chunks = findChunkOwners(op, first);
  for (int j = 0; j < chunks; ++j) {
    if (first + j == self)
      continue;
    getChunk(op.inner, chunks, j, begin, end);
    copyBytes(ctx, ctx->arena() + op.destinationOffset + begin * size,
              peers[first + j] + begin * size, (end - begin) * size);
  }
  // The call and the bytes of the first half are already counted.
  getReducedChunk(op, self, begin, end);
  countTraffic(ctx, op, 0, (op.inner - (end - begin)) * size);
}

static int64_t moveAllToAll(tessera_rt_context *ctx, Operation &op,
                            const uint8_t *const *peers) {
  int members = op.group->size(), self = op.group->index;
  int32_t rank = int32_t(op.shape.size());
  int64_t size = dtypeSize(op.header.dtype);
  std::vector<int64_t> chunk = op.shape;
  chunk[size_t(op.splitDim)] /= members;
  std::vector<int64_t> result = chunk;
  result[size_t(op.concatDim)] *= members;
  std::vector<int64_t> from(static_cast<size_t>(rank)),
      to(static_cast<size_t>(rank));
  int64_t fromStride = 1, toStride = 1, bytes = size;
  for (int32_t d = rank; d-- > 0;) {
    from[size_t(d)] = fromStride;
    to[size_t(d)] = toStride;
    fromStride *= op.shape[size_t(d)];
    toStride *= result[size_t(d)];
    bytes *= chunk[size_t(d)];
  }
  size_t split = size_t(op.splitDim), concat = size_t(op.concatDim);
  uint8_t *destination = ctx->arena() + op.destinationOffset;
  for (int j = 0; j < members; ++j)
    copyStrided(ctx, size, rank, chunk.data(),
                peers[j] + self * chunk[split] * from[split] * size,
                from.data(),
                destination + j * chunk[concat] * to[concat] * size, to.data());
  return bytes * (members - 1);
}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

/// True if one of a token's ids is one of `experts` from `first` on.
template <typename Id>
static bool goesTo(const Id *ids, int64_t choices, int64_t first,
                   int64_t experts) {
  for (int64_t j = 0; j < choices; ++j)
    if (uint64_t(int64_t(ids[j]) - first) < uint64_t(experts))
      return true;
  return false;
}

namespace {
/// The rows of a dispatch or a combine on this rank.
struct TokenMove {
  TokenMove(tessera_rt_context *ctx, const Operation &op)
      : ctx(ctx), op(op), members(op.group->size()), self(op.group->index),
        rows(op.inner / op.tokens.width),
        bytes(op.tokens.width * dtypeSize(op.header.dtype)),
        destination(ctx->arena() + op.destinationOffset) {}

  /// True if the token of this number in the result goes to a member's experts.
  bool goesTo(int64_t token, int64_t member) const {
    const TokenRows &t = op.tokens;
    const uint8_t *ids = ctx->arena() + t.idsOffset;
    int64_t at = token * t.choices;
    int64_t first = t.blocks[size_t(member)] * t.experts;
    if (t.idType == TESSERA_RT_I32)
      return ::goesTo(reinterpret_cast<const int32_t *>(ids) + at, t.choices,
                      first, t.experts);
    return ::goesTo(reinterpret_cast<const int64_t *>(ids) + at, t.choices,
                    first, t.experts);
  }

  /// Runs `move` for each of the result's tokens, on all threads, and returns
  /// the sum of the bytes that it received. A thread has memory for the rows of
  /// all members.
  template <typename Move>
  int64_t forEach(int64_t tokens, int64_t bytesPerToken, Move &&move) const {
    int64_t tasks = std::clamp<int64_t>(tokens * bytesPerToken / bytesPerTask,
                                        1, int64_t(ctx->pool->size()) * 4);
    std::atomic<int64_t> received{0};
    ctx->pool->forEach(tasks, [&](int64_t task, int) {
      std::vector<const void *> parts(static_cast<size_t>(members));
      int64_t sum = 0;
      for (int64_t token = tokens * task / tasks;
           token < tokens * (task + 1) / tasks; ++token)
        sum += move(token, destination + token * bytes, parts.data());
      received += sum;
    });
    return received;
  }

  tessera_rt_context *ctx;
  const Operation &op;
  int64_t members, self, rows, bytes;
  uint8_t *destination;
};
} // namespace

static int64_t moveDispatch(tessera_rt_context *ctx, Operation &op,
                            const uint8_t *const *peers) {
  TokenMove m(ctx, op);
  auto move = [&](int64_t token, uint8_t *to, const void **) -> int64_t {
    if (!m.goesTo(token, m.self))
      return 0;
    int64_t block = token / m.rows, member = block % m.members;
    const uint8_t *from =
        peers[member] + (block / m.members * m.rows + token % m.rows) * m.bytes;
    if (to != from)
      memcpy(to, from, size_t(m.bytes));
    return member == m.self ? 0 : m.bytes;
  };
  return m.forEach(op.outer * m.members * m.rows, m.bytes, move);
}

static int64_t moveCombine(tessera_rt_context *ctx, Operation &op,
                           const uint8_t *const *peers) {
  TokenMove m(ctx, op);
  auto move = [&](int64_t token, uint8_t *to, const void **parts) -> int64_t {
    int64_t row =
        (token / m.rows * m.members + m.self) * m.rows + token % m.rows;
    int count = 0;
    int64_t received = 0;
    for (int64_t member = 0; member < m.members; ++member)
      if (m.goesTo(token, member)) {
        parts[count++] = peers[member] + row * m.bytes;
        received += member == m.self ? 0 : m.bytes;
      }
    if (count == 0)
      memset(to, 0, size_t(m.bytes));
    else
      cpuKernels().reduce(op.header.dtype, TESSERA_RT_SUM, parts, count, to,
                          op.tokens.width);
    return received;
  };
  return m.forEach(op.outer * m.rows, m.bytes * m.members, move);
}

void tessera::rt::moveData(tessera_rt_context *ctx, Operation &op,
                           const uint8_t *const *peers) {
  int64_t received = 0;
  int64_t bytes = op.header.count * dtypeSize(op.header.dtype);
  uint8_t *destination = ctx->arena() + op.destinationOffset;
  switch (op.kind) {
  case OpKind::AllGather:
    received = moveGather(ctx, op, peers);
    break;
  case OpKind::ReduceScatter:
    received = moveScatter(ctx, op, peers);
    break;
  case OpKind::AllReduce:
    received = moveReduce(ctx, op, peers);
    break;
  case OpKind::AllToAll:
    received = moveAllToAll(ctx, op, peers);
    break;
  case OpKind::Permute:
  case OpKind::Broadcast:
  case OpKind::Recv:
    if (op.readsFrom >= 0)
      copyBytes(ctx, destination, peers[op.readsFrom], bytes);
    else
      memset(destination, 0, size_t(bytes));
    if (op.readsFrom >= 0 && op.readsFrom != op.group->index)
      received = bytes;
    break;
  case OpKind::Dispatch:
    received = moveDispatch(ctx, op, peers);
    break;
  case OpKind::Combine:
    received = moveCombine(ctx, op, peers);
    break;
  case OpKind::Send:
  case OpKind::Barrier:
    break;
  }
  if (op.kind == OpKind::Barrier)
    return;
  countTraffic(ctx, op, 1, received);
}

int64_t tessera::rt::bytesToReduce(const Operation &op) {
  int64_t begin = 0, end = op.outer * op.inner;
  if (op.kind == OpKind::AllReduce && isLargeReduce(op))
    getReducedChunk(op, op.group->index, begin, end);
  return (end - begin) * dtypeSize(op.header.dtype) * (op.group->size() - 1);
}

void tessera::rt::countTraffic(tessera_rt_context *ctx, const Operation &op,
                               int64_t calls, int64_t bytes) {
  RankNumbers &block = ctx->block().numbers;
  int32_t i = 0;
  while (i < block.numTraffic &&
         (block.traffic[i].op != int32_t(op.kind) ||
          strcmp(block.traffic[i].axes, op.header.axes) != 0))
    ++i;
  if (i == maxTraffic)
    return;
  Traffic &traffic = block.traffic[i];
  if (i == block.numTraffic) {
    ++block.numTraffic;
    traffic.op = int32_t(op.kind);
    memcpy(traffic.axes, op.header.axes, sizeof(traffic.axes));
  }
  traffic.calls += calls;
  traffic.bytes += bytes;
}
