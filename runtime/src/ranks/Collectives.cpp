//===- Collectives.cpp - Posting collectives ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C entry points of all collectives: they check the arguments, describe the
// operation, and publish it for the peers. Waiting is in Waiting.cpp, data
// movement in CollectiveAlgorithms.cpp.
//
//===----------------------------------------------------------------------===//

#include "host/HostTarget.h"

#include <cstring>
#include <signal.h>
#include <unistd.h>

using namespace tessera::rt;

Status tessera::rt::fail(tessera_rt_context *ctx, Status status,
                         const std::string &text) {
  std::string line = format("rank %d: ", ctx->rank) + text;
  bool first = recordFailure(ctx->memory, ctx->rank, line);
  // The detecting rank prints it if no launcher does.
  if (first && !ctx->launched)
    fprintf(stderr, "tessera: error: %s\n", line.c_str());
  return status;
}

Group *tessera::rt::findGroup(tessera_rt_context *ctx, const int64_t *axes,
                              int32_t numAxes) {
  size_t count = numAxes < 0 ? 0 : size_t(numAxes);
  for (std::unique_ptr<Group> &group : ctx->groups)
    if (group->axes.size() == count &&
        (count == 0 ||
         memcmp(group->axes.data(), axes, count * sizeof(StridedAxis)) == 0))
      return group.get();
  auto group = std::make_unique<Group>();
  std::string error =
      makeGroup(axes, int32_t(count), ctx->rank, ctx->ranks, ctx->mesh, *group);
  if (!error.empty()) {
    fail(ctx, TESSERA_RT_INVALID, error);
    return nullptr;
  }
  ctx->groups.push_back(std::move(group));
  return ctx->groups.back().get();
}

/// Raises the fault that a test asked for at this operation.
static void injectFault(tessera_rt_context *ctx) {
  InjectedFault::Kind kind = ctx->fault.kind;
  ctx->fault.kind = InjectedFault::None;
  if (kind == InjectedFault::Kill)
    kill(getpid(), SIGKILL);
  if (kind == InjectedFault::Stop)
    kill(getpid(), SIGSTOP);
  if (kind == InjectedFault::Sleep)
    for (;;)
      pause();
}

/// Identity of an operation: a key of its group or stream, and its ordinal
/// there.
static uint64_t makeTicket(uint64_t key, uint64_t ordinal) {
  uint64_t ticket =
      hashBytes(&ordinal, sizeof(ordinal), key ^ 0x9e3779b97f4aull);
  return ticket ? ticket : 1;
}

/// Ticket of a send or receive: by sender, receiver and tag.
static uint64_t pointToPointTicket(Group &group, int sender, int receiver,
                                   uint64_t tag) {
  uint64_t fields[4] = {group.hash, uint64_t(sender), uint64_t(receiver), tag};
  uint64_t key = hashBytes(fields, sizeof(fields));
  for (auto &stream : group.streams)
    if (stream.first == key)
      return makeTicket(key, ++stream.second);
  group.streams.emplace_back(key, 1);
  return makeTicket(key, 1);
}

Status tessera::rt::postOperation(tessera_rt_context *ctx, int32_t slot,
                                  Operation &op) {
  RankBlock &block = ctx->block();
  if (ctx->fault.kind != InjectedFault::None && op.kind != OpKind::Barrier &&
      ctx->fault.sequenceId == op.header.sequenceId)
    injectFault(ctx);
  Group &group = *op.group;
  if (op.kind == OpKind::Send)
    op.ticket =
        pointToPointTicket(group, group.index, int(op.peer), uint64_t(op.tag));
  else if (op.kind == OpKind::Recv)
    op.ticket =
        pointToPointTicket(group, int(op.peer), group.index, uint64_t(op.tag));
  else
    op.ticket = makeTicket(group.hash, ++group.ordinal);
  op.stage = Stage::Matching;
  op.peerSlot.assign(size_t(group.size()), -1);
  op.header.op = int32_t(op.kind);
  op.header.groupHash = group.hash;
  snprintf(op.header.axes, sizeof(op.header.axes), "%s", group.name.c_str());

  Entry &entry = block.entries[slot];
  entry.header = op.header;
  entry.sourceOffset = op.sourceOffset;
  entry.destinationOffset = op.destinationOffset;
  entry.postedAt = monotonicSeconds();
  entry.readers = op.readers;
  entry.acknowledged.store(0, std::memory_order_relaxed);
  entry.phase.store(0, std::memory_order_relaxed);
  block.last = op.header;
  block.posted.fetch_add(1, std::memory_order_relaxed);
  block.tickets[slot].store(op.ticket);
  if (op.readers > 0)
    for (int member : group.members)
      if (member != ctx->rank)
        ringDoorbell(ctx->memory.blocks[member]);
  return ctx->memory.control->aborted.load() ? TESSERA_RT_ABORTED
                                             : TESSERA_RT_OK;
}

/// Arguments common to all collectives.
struct Common {
  int32_t slot;
  int64_t sequenceId;
  const int64_t *axes;
  int32_t numAxes;
  int32_t dtype;
  int64_t sourceOffset;
  int64_t destinationOffset;
};

/// Checks the common arguments and returns the operation to fill in, or null
/// after recording a failure.
static Operation *beginOperation(tessera_rt_context *ctx, OpKind kind,
                                 const Common &common) {
  int32_t slots =
      kind == OpKind::Barrier ? numSlots : int32_t(TESSERA_RT_MAX_SLOTS);
  if (common.slot < 0 || common.slot >= slots ||
      ctx->operations[common.slot].stage != Stage::Free) {
    fail(ctx, TESSERA_RT_INVALID,
         format("%s #%lld expects a free slot below %d, but got slot %d",
                opName(kind), (long long)common.sequenceId,
                TESSERA_RT_MAX_SLOTS, common.slot));
    return nullptr;
  }
  if (dtypeSize(common.dtype) == 0) {
    fail(ctx, TESSERA_RT_INVALID,
         format("%s #%lld expects a dtype, but got %d", opName(kind),
                (long long)common.sequenceId, common.dtype));
    return nullptr;
  }
  Group *group = findGroup(ctx, common.axes, common.numAxes);
  if (!group)
    return nullptr;
  Operation &op = ctx->operations[common.slot];
  op = Operation();
  op.kind = kind;
  op.group = group;
  op.header.sequenceId = common.sequenceId;
  op.header.dtype = common.dtype;
  op.sourceOffset = common.sourceOffset;
  op.destinationOffset = common.destinationOffset;
  op.readers = uint32_t(group->size() - 1);
  return &op;
}

/// True if [offset, offset + count elements) is in the arena and aligned.
static bool inArena(tessera_rt_context *ctx, int32_t dtype, int64_t offset,
                    int64_t count) {
  int64_t size = dtypeSize(dtype);
  int64_t limit = ctx->memory.control->arenaBytes;
  return count >= 0 && offset >= 0 && offset % size == 0 &&
         count <= limit / size && offset <= limit - count * size;
}

/// Checks the operands and posts the operation. On failure the slot is freed.
static Status finishOperation(tessera_rt_context *ctx, const Common &common,
                              Operation &op, int64_t sourceCount,
                              int64_t destinationCount) {
  if (!inArena(ctx, common.dtype, common.sourceOffset, sourceCount) ||
      !inArena(ctx, common.dtype, common.destinationOffset, destinationCount)) {
    op.stage = Stage::Free;
    return fail(
        ctx, TESSERA_RT_INVALID,
        format("%s #%lld expects operands within the arena of %lld bytes, but "
               "got %lld elements of %s at offset %lld to %lld at %lld",
               opName(op.kind), (long long)common.sequenceId,
               (long long)ctx->memory.control->arenaBytes,
               (long long)sourceCount, dtypeName(common.dtype),
               (long long)common.sourceOffset, (long long)destinationCount,
               (long long)common.destinationOffset));
  }
  return ctx->target->start(common.slot, op);
}

static Status startPointToPoint(tessera_rt_context *ctx, const Common &common,
                                OpKind kind, int64_t peer, int64_t tag,
                                int64_t count) {
  Operation *op = beginOperation(ctx, kind, common);
  if (!op)
    return TESSERA_RT_INVALID;
  Group &group = *op->group;
  if (peer < 0 || peer >= group.size() || peer == group.index)
    return fail(ctx, TESSERA_RT_INVALID,
                format("%s #%lld expects another member below %d as the peer, "
                       "but got %lld",
                       opName(kind), (long long)common.sequenceId, group.size(),
                       (long long)peer));
  bool sends = kind == OpKind::Send;
  op->readsFrom = sends ? -1 : int(peer);
  op->readers = sends ? 1 : 0;
  op->header.count = count;
  op->peer = peer;
  op->tag = tag;
  return finishOperation(ctx, common, *op, count, count);
}

Status tessera::rt::barrier(tessera_rt_context *ctx, BarrierId id) {
  int64_t all[2] = {1, ctx->ranks};
  Common common{barrierSlot, id, all, 1, TESSERA_RT_I8, 0, 0};
  Operation *op = beginOperation(ctx, OpKind::Barrier, common);
  if (!op)
    return TESSERA_RT_INVALID;
  Status status = postOperation(ctx, common.slot, *op);
  return status == TESSERA_RT_OK ? host::finish(ctx, common.slot) : status;
}

//===----------------------------------------------------------------------===//
// C ABI
//===----------------------------------------------------------------------===//

/// Runs the blocking form of a collective: its start form, then the wait. The
/// arguments are the start form's.
template <typename... Params>
static int32_t
startAndWait(int32_t (*start)(tessera_rt_context *, int32_t, Params...),
             tessera_rt_context *ctx, int32_t slot, Params... params) {
  int32_t status = start(ctx, slot, params...);
  return status == TESSERA_RT_OK ? tessera_rt_wait(ctx, slot) : status;
}

extern "C" int32_t tessera_rt_all_gather_start(
    tessera_rt_context *ctx, int32_t slot, int64_t sequence_id,
    const int64_t *axes, int32_t num_axes, int32_t dtype, int64_t outer,
    int64_t inner, int64_t src_offset, int64_t dst_offset) {
  Common common{slot,  sequence_id, axes,      num_axes,
                dtype, src_offset,  dst_offset};
  Operation *op = beginOperation(ctx, OpKind::AllGather, common);
  if (!op)
    return TESSERA_RT_INVALID;
  op->outer = outer;
  op->inner = inner;
  op->header.count = outer * inner;
  op->header.shapeHash = hashBytes(&outer, sizeof(outer));
  return finishOperation(ctx, common, *op, outer * inner,
                         outer * inner * op->group->size());
}

extern "C" int32_t tessera_rt_all_gather(tessera_rt_context *ctx, int32_t slot,
                                         int64_t sequence_id,
                                         const int64_t *axes, int32_t num_axes,
                                         int32_t dtype, int64_t outer,
                                         int64_t inner, int64_t src_offset,
                                         int64_t dst_offset) {
  return startAndWait(tessera_rt_all_gather_start, ctx, slot, sequence_id, axes,
                      num_axes, dtype, outer, inner, src_offset, dst_offset);
}

extern "C" int32_t tessera_rt_reduce_scatter_start(
    tessera_rt_context *ctx, int32_t slot, int64_t sequence_id,
    const int64_t *axes, int32_t num_axes, int32_t dtype, int32_t reduction,
    int64_t outer, int64_t inner, int64_t src_offset, int64_t dst_offset) {
  Common common{slot,  sequence_id, axes,      num_axes,
                dtype, src_offset,  dst_offset};
  Operation *op = beginOperation(ctx, OpKind::ReduceScatter, common);
  if (!op)
    return TESSERA_RT_INVALID;
  op->outer = outer;
  op->inner = inner;
  op->header.reduction = reduction;
  op->header.count = outer * inner;
  op->header.shapeHash = hashBytes(&outer, sizeof(outer));
  return finishOperation(ctx, common, *op, outer * inner * op->group->size(),
                         outer * inner);
}

extern "C" int32_t tessera_rt_reduce_scatter(
    tessera_rt_context *ctx, int32_t slot, int64_t sequence_id,
    const int64_t *axes, int32_t num_axes, int32_t dtype, int32_t reduction,
    int64_t outer, int64_t inner, int64_t src_offset, int64_t dst_offset) {
  return startAndWait(tessera_rt_reduce_scatter_start, ctx, slot, sequence_id,
                      axes, num_axes, dtype, reduction, outer, inner,
                      src_offset, dst_offset);
}

extern "C" int32_t tessera_rt_all_reduce_start(
    tessera_rt_context *ctx, int32_t slot, int64_t sequence_id,
    const int64_t *axes, int32_t num_axes, int32_t dtype, int32_t reduction,
    int64_t count, int64_t src_offset, int64_t dst_offset) {
  Common common{slot,  sequence_id, axes,      num_axes,
                dtype, src_offset,  dst_offset};
  Operation *op = beginOperation(ctx, OpKind::AllReduce, common);
  if (!op)
    return TESSERA_RT_INVALID;
  op->inner = count;
  op->header.reduction = reduction;
  op->header.count = count;
  return finishOperation(ctx, common, *op, count, count);
}

extern "C" int32_t tessera_rt_all_reduce(tessera_rt_context *ctx, int32_t slot,
                                         int64_t sequence_id,
                                         const int64_t *axes, int32_t num_axes,
                                         int32_t dtype, int32_t reduction,
                                         int64_t count, int64_t src_offset,
                                         int64_t dst_offset) {
  return startAndWait(tessera_rt_all_reduce_start, ctx, slot, sequence_id, axes,
                      num_axes, dtype, reduction, count, src_offset,
                      dst_offset);
}

extern "C" int32_t tessera_rt_all_to_all_start(
    tessera_rt_context *ctx, int32_t slot, int64_t sequence_id,
    const int64_t *axes, int32_t num_axes, int32_t dtype, int32_t rank,
    const int64_t *shape, int32_t split_dim, int32_t concat_dim,
    int64_t src_offset, int64_t dst_offset) {
  Common common{slot,  sequence_id, axes,      num_axes,
                dtype, src_offset,  dst_offset};
  Operation *op = beginOperation(ctx, OpKind::AllToAll, common);
  if (!op)
    return TESSERA_RT_INVALID;
  if (rank < 1 || rank > TESSERA_RT_MAX_DIMS || split_dim < 0 ||
      split_dim >= rank || concat_dim < 0 || concat_dim >= rank ||
      shape[split_dim] % op->group->size() != 0)
    return fail(ctx, TESSERA_RT_INVALID,
                format("all_to_all #%lld expects a split dim that %d members "
                       "divide, but got rank %d, dims %d and %d",
                       (long long)common.sequenceId, op->group->size(), rank,
                       split_dim, concat_dim));
  op->shape.assign(shape, shape + rank);
  op->splitDim = split_dim;
  op->concatDim = concat_dim;
  int64_t count = 1;
  for (int64_t extent : op->shape)
    count *= extent;
  op->header.count = count;
  int64_t dims[2] = {split_dim, concat_dim};
  op->header.shapeHash =
      hashBytes(shape, size_t(rank) * 8, hashBytes(dims, sizeof(dims)));
  return finishOperation(ctx, common, *op, count, count);
}

extern "C" int32_t tessera_rt_all_to_all(
    tessera_rt_context *ctx, int32_t slot, int64_t sequence_id,
    const int64_t *axes, int32_t num_axes, int32_t dtype, int32_t rank,
    const int64_t *shape, int32_t split_dim, int32_t concat_dim,
    int64_t src_offset, int64_t dst_offset) {
  return startAndWait(tessera_rt_all_to_all_start, ctx, slot, sequence_id, axes,
                      num_axes, dtype, rank, shape, split_dim, concat_dim,
                      src_offset, dst_offset);
}

extern "C" int32_t tessera_rt_permute_start(
    tessera_rt_context *ctx, int32_t slot, int64_t sequence_id,
    const int64_t *axes, int32_t num_axes, int32_t dtype, const int64_t *pairs,
    int32_t num_pairs, int64_t count, int64_t src_offset, int64_t dst_offset) {
  Common common{slot,  sequence_id, axes,      num_axes,
                dtype, src_offset,  dst_offset};
  Operation *op = beginOperation(ctx, OpKind::Permute, common);
  if (!op)
    return TESSERA_RT_INVALID;
  op->readsFrom = -1;
  op->readers = 0;
  int self = op->group->index;
  for (int32_t i = 0; i < num_pairs; ++i) {
    int64_t from = pairs[2 * i], to = pairs[2 * i + 1];
    if (from < 0 || to < 0 || from >= op->group->size() ||
        to >= op->group->size() || (to == self && op->readsFrom != -1))
      return fail(ctx, TESSERA_RT_INVALID,
                  format("permute #%lld expects each index below %d at most "
                         "once per target, but got %lld -> %lld",
                         (long long)common.sequenceId, op->group->size(),
                         (long long)from, (long long)to));
    if (to == self)
      op->readsFrom = int(from);
    if (from == self && to != self) {
      op->targets.push_back(int(to));
      ++op->readers;
    }
  }
  op->header.count = count;
  op->header.shapeHash = hashBytes(pairs, size_t(num_pairs) * 16);
  return finishOperation(ctx, common, *op, count, count);
}

extern "C" int32_t tessera_rt_permute(tessera_rt_context *ctx, int32_t slot,
                                      int64_t sequence_id, const int64_t *axes,
                                      int32_t num_axes, int32_t dtype,
                                      const int64_t *pairs, int32_t num_pairs,
                                      int64_t count, int64_t src_offset,
                                      int64_t dst_offset) {
  return startAndWait(tessera_rt_permute_start, ctx, slot, sequence_id, axes,
                      num_axes, dtype, pairs, num_pairs, count, src_offset,
                      dst_offset);
}

extern "C" int32_t tessera_rt_broadcast_start(
    tessera_rt_context *ctx, int32_t slot, int64_t sequence_id,
    const int64_t *axes, int32_t num_axes, int32_t dtype, int64_t root,
    int64_t count, int64_t src_offset, int64_t dst_offset) {
  Common common{slot,  sequence_id, axes,      num_axes,
                dtype, src_offset,  dst_offset};
  Operation *op = beginOperation(ctx, OpKind::Broadcast, common);
  if (!op)
    return TESSERA_RT_INVALID;
  if (root < 0 || root >= op->group->size())
    return fail(ctx, TESSERA_RT_INVALID,
                format("broadcast #%lld expects a root below %d, but got %lld",
                       (long long)common.sequenceId, op->group->size(),
                       (long long)root));
  op->readsFrom = int(root);
  if (op->group->index != root)
    op->readers = 0;
  op->header.count = count;
  op->header.shapeHash = hashBytes(&root, sizeof(root));
  return finishOperation(ctx, common, *op, count, count);
}

extern "C" int32_t tessera_rt_broadcast(tessera_rt_context *ctx, int32_t slot,
                                        int64_t sequence_id,
                                        const int64_t *axes, int32_t num_axes,
                                        int32_t dtype, int64_t root,
                                        int64_t count, int64_t src_offset,
                                        int64_t dst_offset) {
  return startAndWait(tessera_rt_broadcast_start, ctx, slot, sequence_id, axes,
                      num_axes, dtype, root, count, src_offset, dst_offset);
}

extern "C" int32_t tessera_rt_send_start(tessera_rt_context *ctx, int32_t slot,
                                         int64_t sequence_id,
                                         const int64_t *axes, int32_t num_axes,
                                         int32_t dtype, int64_t peer,
                                         int64_t tag, int64_t count,
                                         int64_t src_offset) {
  Common common{slot, sequence_id, axes, num_axes, dtype, src_offset, 0};
  return startPointToPoint(ctx, common, OpKind::Send, peer, tag, count);
}

extern "C" int32_t tessera_rt_send(tessera_rt_context *ctx, int32_t slot,
                                   int64_t sequence_id, const int64_t *axes,
                                   int32_t num_axes, int32_t dtype,
                                   int64_t peer, int64_t tag, int64_t count,
                                   int64_t src_offset) {
  return startAndWait(tessera_rt_send_start, ctx, slot, sequence_id, axes,
                      num_axes, dtype, peer, tag, count, src_offset);
}

extern "C" int32_t tessera_rt_recv_start(tessera_rt_context *ctx, int32_t slot,
                                         int64_t sequence_id,
                                         const int64_t *axes, int32_t num_axes,
                                         int32_t dtype, int64_t peer,
                                         int64_t tag, int64_t count,
                                         int64_t dst_offset) {
  Common common{slot, sequence_id, axes, num_axes, dtype, 0, dst_offset};
  return startPointToPoint(ctx, common, OpKind::Recv, peer, tag, count);
}

extern "C" int32_t tessera_rt_recv(tessera_rt_context *ctx, int32_t slot,
                                   int64_t sequence_id, const int64_t *axes,
                                   int32_t num_axes, int32_t dtype,
                                   int64_t peer, int64_t tag, int64_t count,
                                   int64_t dst_offset) {
  return startAndWait(tessera_rt_recv_start, ctx, slot, sequence_id, axes,
                      num_axes, dtype, peer, tag, count, dst_offset);
}
