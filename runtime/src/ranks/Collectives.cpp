//===- Collectives.cpp - Posting collectives ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C entry point of all collectives: it checks the descriptor, fills in the
// operation, and publishes it for the peers. Waiting is in Waiting.cpp, data
// movement in CollectiveAlgorithms.cpp.
//
//===----------------------------------------------------------------------===//

#include "host/HostTarget.h"
#include "nodes/Meeting.h"
#include "nodes/Mirror.h"
#include "nodes/NodeSums.h"

#include <cstring>
#include <signal.h>
#include <unistd.h>

using namespace tessera::rt;

Status tessera::rt::fail(tessera_rt_context *ctx, Status status,
                         const std::string &text) {
  std::string line = nameRank(ctx->memory, ctx->rank) + ": " + text;
  bool first = recordFailure(ctx->memory, ctx->rank, status, line);
  // The detecting rank prints it if neither a launcher nor an agent does.
  if (first && !ctx->launched && !ctx->memory.place.isAcrossNodes())
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
  bool isShared = op.isRead && op.kind != OpKind::Barrier;
  if (isShared && ctx->mirror)
    if (Status status = ctx->mirror->post(slot, op))
      return status;
  if (op.readers > 0)
    for (int member : group.members)
      if (member != ctx->rank && ctx->memory.place.isHere(member))
        ringDoorbell(ctx->memory.blocks[member]);
  return ctx->memory.control->aborted.load() ? TESSERA_RT_ABORTED
                                             : TESSERA_RT_OK;
}

/// Checks the common arguments and returns the operation to fill in, or null
/// after recording a failure.
static Operation *beginOperation(tessera_rt_context *ctx, OpKind kind,
                                 const CollectiveCall &call) {
  int32_t slots =
      kind == OpKind::Barrier ? numSlots : int32_t(TESSERA_RT_MAX_SLOTS);
  if (call.slot < 0 || call.slot >= slots ||
      ctx->operations[call.slot].stage != Stage::Free) {
    fail(ctx, TESSERA_RT_INVALID,
         format("%s #%lld expects a free slot below %d, but got slot %d",
                opName(kind), (long long)call.sequenceId, TESSERA_RT_MAX_SLOTS,
                call.slot));
    return nullptr;
  }
  if (dtypeSize(call.dtype) == 0) {
    fail(ctx, TESSERA_RT_INVALID,
         format("%s #%lld expects a dtype, but got %d", opName(kind),
                (long long)call.sequenceId, call.dtype));
    return nullptr;
  }
  Group *group = findGroup(ctx, call.axes, call.numAxes);
  if (!group)
    return nullptr;
  Operation &op = ctx->operations[call.slot];
  op = Operation();
  op.kind = kind;
  op.group = group;
  op.header.sequenceId = call.sequenceId;
  op.header.dtype = call.dtype;
  op.sourceOffset = call.sourceOffset;
  op.destinationOffset = call.destinationOffset;
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
static Status finishOperation(tessera_rt_context *ctx,
                              const CollectiveCall &call, Operation &op,
                              int64_t sourceCount, int64_t destinationCount) {
  if (!inArena(ctx, call.dtype, call.sourceOffset, sourceCount) ||
      !inArena(ctx, call.dtype, call.destinationOffset, destinationCount)) {
    op.stage = Stage::Free;
    return fail(
        ctx, TESSERA_RT_INVALID,
        format("%s #%lld expects operands within the arena of %lld bytes, but "
               "got %lld elements of %s at offset %lld to %lld at %lld",
               opName(op.kind), (long long)call.sequenceId,
               (long long)ctx->memory.control->arenaBytes,
               (long long)sourceCount, dtypeName(call.dtype),
               (long long)call.sourceOffset, (long long)destinationCount,
               (long long)call.destinationOffset));
  }
  op.sourceBytes = sourceCount * dtypeSize(call.dtype);
  op.isRead = op.readers > 0;
  if (ctx->mirror) {
    op.readers = ctx->mirror->countReaders(op);
    op.nodeSum = findNodeSum(ctx->memory.place, op);
  }
  return ctx->target->start(call.slot, op);
}

Status tessera::rt::startTransfer(tessera_rt_context *ctx,
                                  const CollectiveCall &call, OpKind kind,
                                  int64_t peer, int64_t tag, int64_t count) {
  bool sends = kind == OpKind::Send;
  CollectiveCall oneSided = call;
  (sends ? oneSided.destinationOffset : oneSided.sourceOffset) = 0;
  Operation *op = beginOperation(ctx, kind, oneSided);
  if (!op)
    return TESSERA_RT_INVALID;
  Group &group = *op->group;
  if (peer < 0 || peer >= group.size() || peer == group.index)
    return fail(ctx, TESSERA_RT_INVALID,
                format("%s #%lld expects another member below %d as the peer, "
                       "but got %lld",
                       opName(kind), (long long)call.sequenceId, group.size(),
                       (long long)peer));
  op->readsFrom = sends ? -1 : int(peer);
  op->readers = sends ? 1 : 0;
  op->header.count = count;
  op->peer = peer;
  op->tag = tag;
  return finishOperation(ctx, oneSided, *op, count, count);
}

Status tessera::rt::barrierOfNode(tessera_rt_context *ctx, BarrierId id) {
  int64_t all[2] = {1, ctx->memory.place.perNode};
  CollectiveCall call{barrierSlot, id, all, 1, TESSERA_RT_I8, 0, 0};
  Operation *op = beginOperation(ctx, OpKind::Barrier, call);
  if (!op)
    return TESSERA_RT_INVALID;
  Status status = postOperation(ctx, call.slot, *op);
  return status == TESSERA_RT_OK ? host::finish(ctx, call.slot) : status;
}

Status tessera::rt::barrier(tessera_rt_context *ctx, BarrierId id,
                            const StepExchange *exchange) {
  Status status = barrierOfNode(ctx, id);
  const Placement &place = ctx->memory.place;
  if (status != TESSERA_RT_OK || !place.isAcrossNodes())
    return status;
  if (ctx->rank == place.firstRank())
    if (Status met = meetNodes(ctx, id, exchange))
      return met;
  return barrierOfNode(ctx, id);
}

//===----------------------------------------------------------------------===//
// Fields of each kind
//===----------------------------------------------------------------------===//

/// Fills in a gather or a scatter.
static Status describeBlocks(Operation &op, const tessera_rt_collective &desc) {
  op.outer = desc.outer;
  op.inner = desc.count;
  op.header.count = desc.outer * desc.count;
  op.header.shapeHash = hashBytes(&desc.outer, sizeof(desc.outer));
  if (op.kind == OpKind::ReduceScatter)
    op.header.reduction = int32_t(desc.reduction);
  return TESSERA_RT_OK;
}

static Status describeAllReduce(Operation &op,
                                const tessera_rt_collective &desc) {
  op.inner = desc.count;
  op.header.reduction = int32_t(desc.reduction);
  op.header.count = desc.count;
  return TESSERA_RT_OK;
}

static Status describeAllToAll(tessera_rt_context *ctx, Operation &op,
                               const tessera_rt_collective &desc) {
  int64_t rank = desc.num_dims, split = desc.split_dim;
  int64_t concat = desc.concat_dim;
  const int64_t *shape = tessera_rt_collective_shape(&desc);
  if (rank < 1 || rank > TESSERA_RT_MAX_DIMS || split < 0 || split >= rank ||
      concat < 0 || concat >= rank || shape[split] % op.group->size() != 0)
    return fail(ctx, TESSERA_RT_INVALID,
                format("all_to_all #%lld expects a split dim that %d members "
                       "divide, but got rank %lld, dims %lld and %lld",
                       (long long)op.header.sequenceId, op.group->size(),
                       (long long)rank, (long long)split, (long long)concat));
  op.shape.assign(shape, shape + rank);
  op.splitDim = int32_t(split);
  op.concatDim = int32_t(concat);
  op.header.count = 1;
  for (int64_t extent : op.shape)
    op.header.count *= extent;
  int64_t dims[2] = {split, concat};
  op.header.shapeHash =
      hashBytes(shape, size_t(rank) * 8, hashBytes(dims, sizeof(dims)));
  return TESSERA_RT_OK;
}

static Status describePermute(tessera_rt_context *ctx, Operation &op,
                              const tessera_rt_collective &desc) {
  const int64_t *pairs = tessera_rt_collective_pairs(&desc);
  op.readsFrom = -1;
  op.readers = 0;
  int self = op.group->index;
  for (int64_t i = 0; i < desc.num_pairs; ++i) {
    int64_t from = pairs[2 * i], to = pairs[2 * i + 1];
    if (from < 0 || to < 0 || from >= op.group->size() ||
        to >= op.group->size() || (to == self && op.readsFrom != -1))
      return fail(ctx, TESSERA_RT_INVALID,
                  format("permute #%lld expects each index below %d at most "
                         "once per target, but got %lld -> %lld",
                         (long long)op.header.sequenceId, op.group->size(),
                         (long long)from, (long long)to));
    if (to == self)
      op.readsFrom = int(from);
    if (from == self && to != self) {
      op.targets.push_back(int(to));
      ++op.readers;
    }
  }
  op.header.count = desc.count;
  op.header.shapeHash = hashBytes(pairs, size_t(desc.num_pairs) * 16);
  return TESSERA_RT_OK;
}

static Status describeBroadcast(tessera_rt_context *ctx, Operation &op,
                                const tessera_rt_collective &desc) {
  int64_t root = desc.member;
  if (root < 0 || root >= op.group->size())
    return fail(ctx, TESSERA_RT_INVALID,
                format("broadcast #%lld expects a root below %d, but got %lld",
                       (long long)op.header.sequenceId, op.group->size(),
                       (long long)root));
  op.readsFrom = int(root);
  if (op.group->index != root)
    op.readers = 0;
  op.header.count = desc.count;
  op.header.shapeHash = hashBytes(&root, sizeof(root));
  return TESSERA_RT_OK;
}

/// Fills in a dispatch or a combine.
static Status describeTokens(tessera_rt_context *ctx, Operation &op,
                             const tessera_rt_collective &desc,
                             const tessera_rt_tokens &tokens,
                             int64_t idsOffset) {
  describeBlocks(op, desc);
  bool combines = op.kind == OpKind::Combine;
  int64_t members = op.group->size();
  bool hasSizes = tokens.width >= 1 && desc.count % tokens.width == 0 &&
                  tokens.choices >= 0 && tokens.experts >= 1;
  bool hasIds =
      tokens.id_dtype == TESSERA_RT_I32 || tokens.id_dtype == TESSERA_RT_I64;
  int64_t rows = hasSizes ? desc.outer * (desc.count / tokens.width) : 0;
  int64_t ids = rows * (combines ? 1 : members) * tokens.choices;
  if (!hasSizes || !hasIds ||
      !inArena(ctx, int32_t(tokens.id_dtype), idsOffset, ids))
    return fail(
        ctx, TESSERA_RT_INVALID,
        format("%s #%lld expects rows that divide a block, ids of i32 or "
               "i64 in the arena and 1 expert at least, but got rows of "
               "%lld in %lld, %lld ids of %s at %lld and %lld experts",
               opName(op.kind), (long long)op.header.sequenceId,
               (long long)tokens.width, (long long)desc.count, (long long)ids,
               dtypeName(int32_t(tokens.id_dtype)), (long long)idsOffset,
               (long long)tokens.experts));
  auto *pairs = reinterpret_cast<const int64_t *>(&tokens + 1);
  std::vector<StridedAxis> axes;
  for (int64_t i = 0; i < tokens.num_axes; ++i)
    axes.push_back({pairs[2 * i], pairs[2 * i + 1]});
  op.tokens = {idsOffset,      int32_t(tokens.id_dtype), tokens.width,
               tokens.choices, tokens.experts,           {}};
  for (int rank : op.group->members)
    op.tokens.blocks.push_back(getBlockIndex(axes.data(), axes.size(), rank));
  op.header.shapeHash = hashBytes(&tokens, sizeof(tokens), op.header.shapeHash);
  op.header.shapeHash =
      hashBytes(pairs, axes.size() * sizeof(StridedAxis), op.header.shapeHash);
  return TESSERA_RT_OK;
}

/// Fills in the fields of a collective's kind.
static Status describe(tessera_rt_context *ctx, Operation &op,
                       const tessera_rt_collective &desc) {
  switch (op.kind) {
  case OpKind::AllGather:
  case OpKind::ReduceScatter:
    return describeBlocks(op, desc);
  case OpKind::AllReduce:
    return describeAllReduce(op, desc);
  case OpKind::AllToAll:
    return describeAllToAll(ctx, op, desc);
  case OpKind::Permute:
    return describePermute(ctx, op, desc);
  default:
    return describeBroadcast(ctx, op, desc);
  }
}

//===----------------------------------------------------------------------===//
// C ABI
//===----------------------------------------------------------------------===//

/// Returns what all kinds share.
static CollectiveCall readCall(int32_t slot, int64_t sequence,
                               const tessera_rt_collective &desc,
                               int64_t source, int64_t destination) {
  return {slot,
          sequence,
          tessera_rt_collective_axes(&desc),
          int32_t(desc.num_axes),
          int32_t(desc.dtype),
          source,
          destination};
}

extern "C" int32_t tessera_rt_start(tessera_rt_context *ctx, int32_t slot,
                                    int64_t sequence_id,
                                    const tessera_rt_collective *desc,
                                    int64_t src_offset, int64_t dst_offset) {
  if (desc->kind < TESSERA_RT_ALL_GATHER || desc->kind > TESSERA_RT_RECV)
    return fail(ctx, TESSERA_RT_INVALID,
                format("collective #%lld expects a kind from 0 to %d, but got "
                       "%lld",
                       (long long)sequence_id, TESSERA_RT_RECV,
                       (long long)desc->kind));
  CollectiveCall call =
      readCall(slot, sequence_id, *desc, src_offset, dst_offset);
  OpKind kind = OpKind(desc->kind);
  if (isPointToPoint(kind))
    return startTransfer(ctx, call, kind, desc->member, desc->tag, desc->count);
  Operation *op = beginOperation(ctx, kind, call);
  if (!op)
    return TESSERA_RT_INVALID;
  if (Status status = describe(ctx, *op, *desc))
    return status;
  int64_t count = op->header.count, whole = count * op->group->size();
  return finishOperation(ctx, call, *op,
                         kind == OpKind::ReduceScatter ? whole : count,
                         kind == OpKind::AllGather ? whole : count);
}

extern "C" int32_t
tessera_rt_start_tokens(tessera_rt_context *ctx, int32_t slot,
                        int64_t sequence_id, const tessera_rt_collective *desc,
                        const tessera_rt_tokens *tokens, int64_t src_offset,
                        int64_t dst_offset, int64_t ids_offset) {
  OpKind kind = OpKind(desc->kind);
  if ((kind != OpKind::Dispatch && kind != OpKind::Combine) || ctx->mover)
    return fail(ctx, TESSERA_RT_INVALID,
                format("collective of tokens #%lld expects a dispatch or a "
                       "combine on the host target, but got kind %lld on %s",
                       (long long)sequence_id, (long long)desc->kind,
                       targetKind.name));
  CollectiveCall call =
      readCall(slot, sequence_id, *desc, src_offset, dst_offset);
  Operation *op = beginOperation(ctx, kind, call);
  if (!op)
    return TESSERA_RT_INVALID;
  if (Status status = describeTokens(ctx, *op, *desc, *tokens, ids_offset))
    return status;
  int64_t count = op->header.count, whole = count * op->group->size();
  bool combines = kind == OpKind::Combine;
  return finishOperation(ctx, call, *op, combines ? whole : count,
                         combines ? count : whole);
}
