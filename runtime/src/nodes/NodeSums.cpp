//===- NodeSums.cpp - Sums that go from node to node ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See NodeSums.h.
//
//===----------------------------------------------------------------------===//

#include "NodeSums.h"

#include "Mirror.h"
#include "kernels/CpuKernels.h"

#include <algorithm>

using namespace tessera::rt;

/// Bytes that a step from node to node costs: what a network of 10 Gbit/s
/// carries in 50 us.
static constexpr int64_t bytesPerHop = 64 << 10;
/// Fewest elements for which a thread of its own pays.
static constexpr int64_t elementsPerTask = 16 << 10;

/// Returns the members on each node if the group is ordered by nodes and has
/// ranks of the same local numbers on each, or 0.
static int findPerNode(const Placement &place, const Group &group) {
  const std::vector<int> &members = group.members;
  size_t perNode = 1;
  while (perNode < members.size() &&
         place.nodeOf(members[perNode]) == place.nodeOf(members[0]))
    ++perNode;
  if (members.size() % perNode != 0)
    return 0;
  std::vector<bool> isSeen(size_t(place.nodes), false);
  for (size_t i = 0; i < members.size(); i += perNode) {
    size_t node = size_t(place.nodeOf(members[i]));
    if (isSeen[node])
      return 0;
    isSeen[node] = true;
    for (size_t j = 0; j < perNode; ++j)
      if (size_t(place.nodeOf(members[i + j])) != node ||
          members[i + j] % place.perNode != members[j] % place.perNode)
        return 0;
  }
  return int(perNode);
}

NodeSum tessera::rt::findNodeSum(const Placement &place, const Operation &op) {
  if (!isReduction(op.kind))
    return {};
  int perNode = findPerNode(place, *op.group);
  int nodes = perNode > 0 ? op.group->size() / perNode : 0;
  if (perNode < 2 || nodes < 2)
    return {};
  // Bytes out of the node that sends most, without and with partial sums.
  double bytes = double(op.sourceBytes);
  double widening =
      double(accumulatedSize(op.header.dtype)) / dtypeSize(op.header.dtype);
  bool gathers = op.kind == OpKind::AllReduce;
  double atOnce = (perNode + gathers) * bytes * (nodes - 1) / nodes;
  double byNodes = (widening + (gathers && nodes > 2)) * bytes;
  int hops = (nodes - 1) * (gathers ? 2 : 1);
  if (atOnce - byNodes <= double(hops * bytesPerHop))
    return {};
  return {nodes, perNode};
}

namespace {
/// This rank's share of a sum.
class Share {
public:
  Share(tessera_rt_context *ctx, int32_t slot, Operation &op,
        const uint8_t *const *sources)
      : ctx(ctx), slot(slot), op(op), sum(op.nodeSum),
        sources(sources + op.group->index / sum.perNode * sum.perNode),
        size(dtypeSize(op.header.dtype)),
        wide(accumulatedSize(op.header.dtype)),
        node(op.group->index / sum.perNode),
        column(op.group->index % sum.perNode) {
    if (isGathered()) {
      getChunk(op.inner, sum.perNode, column, first, count);
      count -= first;
    } else {
      count = op.outer * op.inner * sum.nodes;
    }
  }

  /// Adds what has come from the node before, and passes it on.
  Status add();
  /// Takes the results that have come.
  Status finish();
  /// The member that this rank waits for, or -1.
  int missing() const;

private:
  bool isGathered() const { return op.kind == OpKind::AllReduce; }
  bool isFirst() const { return node == 0; }
  bool isLast() const { return node == sum.nodes - 1; }
  /// Elements of a block of a reduce_scatter.
  int64_t block() const { return op.outer * op.inner; }
  /// Elements whose result this rank takes.
  int64_t results() const { return isGathered() ? count : block(); }
  /// The rank in this column on a node of the group.
  int member(int node) const {
    return op.group->members[size_t(node * sum.perNode + column)];
  }
  Entry &entryOf(int node) const {
    int index = node * sum.perNode + column;
    return ctx->memory.blocks[member(node)].entries[op.peerSlot[size_t(index)]];
  }
  /// The node whose results this rank takes.
  int giver() const { return isGathered() ? node + 1 : sum.nodes - 1; }
  uint8_t *destination(int64_t element) const {
    return ctx->arena() + op.destinationOffset + element * size;
  }

  /// The end of the piece that begins at an element of the share. All nodes cut
  /// alike.
  int64_t endOfPiece(int64_t begin) const;
  /// out[0..) = carry[0..), or nothing, + the elements [begin, end) of the
  /// share in the operands of this node.
  void addPiece(int64_t begin, int64_t end, const uint8_t *carry, uint8_t *out,
                bool isPartial);
  void addRun(int64_t begin, int64_t end, const uint8_t *carry, uint8_t *out,
              bool isPartial);
  Status passOn(int64_t begin, int64_t end, const uint8_t *carry);
  Status giveResult(int64_t begin, int64_t end, const uint8_t *carry);

  tessera_rt_context *ctx;
  int32_t slot;
  Operation &op;
  NodeSum &sum;
  /// Operands of this node's members.
  const uint8_t *const *sources;
  /// Bytes of an element, and of one of a partial sum.
  int64_t size, wide;
  /// Places of this rank: its node among those of the group, and its column.
  int node, column;
  /// The share: its first element of an all_reduce, and its elements.
  int64_t first = 0, count = 0;
};
} // namespace

int64_t Share::endOfPiece(int64_t begin) const {
  int64_t end = std::min(begin + int64_t(Link::longestData) / wide, count);
  return isGathered() ? end : std::min(end, (begin / block() + 1) * block());
}

/// Adds elements that are beside each other in the share. In the operands of a
/// reduce_scatter only those of a row are.
void Share::addRun(int64_t begin, int64_t end, const uint8_t *carry,
                   uint8_t *out, bool isPartial) {
  int64_t outSize = isPartial ? wide : size;
  std::vector<const void *> parts(static_cast<size_t>(sum.perNode));
  for (int64_t at = begin, next; at < end; at = next) {
    int64_t from = first + at;
    next = end;
    if (!isGathered()) {
      int64_t owner = at / block() * sum.perNode + column;
      int64_t row = at % block() / op.inner;
      from = (row * op.group->size() + owner) * op.inner + at % op.inner;
      next = std::min(end, (at / op.inner + 1) * op.inner);
    }
    for (int j = 0; j < sum.perNode; ++j)
      parts[size_t(j)] = sources[j] + from * size;
    cpuKernels().reducePart(op.header.dtype, op.header.reduction,
                            carry ? carry + (at - begin) * wide : nullptr,
                            parts.data(), sum.perNode,
                            out + (at - begin) * outSize, isPartial, next - at);
  }
}

void Share::addPiece(int64_t begin, int64_t end, const uint8_t *carry,
                     uint8_t *out, bool isPartial) {
  int64_t tasks = std::clamp<int64_t>((end - begin) / elementsPerTask, 1,
                                      int64_t(ctx->pool->size()));
  int64_t outSize = isPartial ? wide : size;
  ctx->pool->forEach(tasks, [&](int64_t task, int) {
    int64_t from = (end - begin) * task / tasks;
    int64_t to = (end - begin) * (task + 1) / tasks;
    addRun(begin + from, begin + to, carry ? carry + from * wide : nullptr,
           out + from * outSize, isPartial);
  });
}

Status Share::passOn(int64_t begin, int64_t end, const uint8_t *carry) {
  // The place of the result is free: it comes after all nodes have added.
  bool fits = isGathered() && wide == size;
  std::vector<uint8_t> copy(fits ? 0 : size_t((end - begin) * wide));
  uint8_t *partial = fits ? destination(first + begin) : copy.data();
  addPiece(begin, end, carry, partial, /*isPartial=*/true);
  return ctx->mirror->sendPartial(member(node + 1), op, partial,
                                  (end - begin) * wide, /*copies=*/!fits);
}

Status Share::giveResult(int64_t begin, int64_t end, const uint8_t *carry) {
  int64_t bytes = (end - begin) * size;
  if (isGathered()) {
    uint8_t *result = destination(first + begin);
    addPiece(begin, end, carry, result, /*isPartial=*/false);
    return ctx->mirror->sendResult(member(node - 1), slot, op, result, result,
                                   bytes, end, /*copies=*/false);
  }
  int owner = int(begin / block());
  int64_t from = begin % block();
  if (owner == node) {
    addPiece(begin, end, carry, destination(from), /*isPartial=*/false);
    return TESSERA_RT_OK;
  }
  std::vector<uint8_t> copy(static_cast<size_t>(bytes));
  addPiece(begin, end, carry, copy.data(), /*isPartial=*/false);
  return ctx->mirror->sendResult(member(owner), slot, op, destination(from),
                                 copy.data(), bytes, from + (end - begin),
                                 /*copies=*/true);
}

Status Share::add() {
  std::vector<uint8_t> carry;
  while (sum.added < count) {
    if (!isFirst() &&
        !ctx->mirror->takePartial(member(node - 1), op.ticket, carry))
      break;
    const uint8_t *before = isFirst() ? nullptr : carry.data();
    int64_t end = endOfPiece(sum.added);
    if (before && int64_t(carry.size()) != (end - sum.added) * wide)
      return fail(ctx, TESSERA_RT_MISMATCH,
                  format("expects a partial sum of %lld bytes from rank %d, "
                         "but got %zu",
                         (long long)((end - sum.added) * wide),
                         member(node - 1), carry.size()));
    if (Status status = isLast() ? giveResult(sum.added, end, before)
                                 : passOn(sum.added, end, before))
      return status;
    sum.added = end;
  }
  if (isLast() && sum.added == count)
    sum.finished = results();
  return TESSERA_RT_OK;
}

Status Share::finish() {
  if (isLast())
    return TESSERA_RT_OK;
  const Entry &entry = entryOf(giver());
  const uint8_t *from =
      ctx->memory.arena(member(giver())) + entry.destinationOffset;
  int64_t come = entry.results.load(), begin = sum.finished;
  if (come == begin)
    return TESSERA_RT_OK;
  copyBytes(ctx, destination(first + begin), from + (first + begin) * size,
            (come - begin) * size);
  sum.finished = come;
  if (isFirst() || !isGathered())
    return TESSERA_RT_OK;
  while (begin < come) {
    int64_t end = endOfPiece(begin);
    uint8_t *result = destination(first + begin);
    if (Status status = ctx->mirror->sendResult(
            member(node - 1), slot, op, result, result, (end - begin) * size,
            end, /*copies=*/false))
      return status;
    begin = end;
  }
  return TESSERA_RT_OK;
}

int Share::missing() const {
  if (sum.added < count)
    return member(node - 1);
  return sum.finished < results() ? member(giver()) : -1;
}

Status tessera::rt::advanceNodeSum(tessera_rt_context *ctx, int32_t slot,
                                   Operation &op, const uint8_t *const *sources,
                                   int &missing) {
  Share share(ctx, slot, op, sources);
  Status status = share.add();
  if (status == TESSERA_RT_OK)
    status = share.finish();
  missing = share.missing();
  return status;
}
