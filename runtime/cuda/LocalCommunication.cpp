//===- LocalCommunication.cpp - Collectives of simulated ranks ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Communication.h. Ranks are threads that share a device. They synchronize
// as ranks of the host target do, with the same checks and timeouts, but while
// they enqueue: kernels on a stream of each rank move the data later, and
// events order them. Reductions are in ascending rank order. Each step is
// enqueued again, because a recorded one could not synchronize.
//
//===----------------------------------------------------------------------===//

#include "Communication.h"

#include "host/HostTarget.h"

#include <algorithm>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

namespace {
class LocalCommunication final : public Communication, public DataMover {
public:
  explicit LocalCommunication(const CommunicationContext &context)
      : context(context) {}
  ~LocalCommunication() override;

  std::string name() const override { return "one device"; }
  Status open(const std::vector<Operation> &operations) override;
  Status start(int32_t slot, Operation &op) override;
  Status finish(int32_t slot, Operation &op) override;
  bool canCapture() const override { return false; }

  Status move(int32_t slot, Operation &op) override;
  Status release(int32_t slot, Operation &op) override;

private:
  using Sources = std::vector<const void *>;

  std::string moveGather(const Operation &op, const Sources &sources);
  std::string moveReduce(const Operation &op, int32_t slot, Sources sources);
  std::string hold(int32_t slot, int64_t bytes);
  std::string moveAllToAll(const Operation &op, const Sources &sources);
  std::string moveBlock(const Operation &op, const Sources &sources);

  uint8_t *destination(const Operation &op) const {
    return context.arena + op.destinationOffset;
  }
  static bool reads(const Operation &op, int index) {
    return op.readsFrom == -2 || op.readsFrom == index;
  }
  /// True for an in-place reduction: peers still read the memory to overwrite.
  static bool isHeld(const Operation &op) {
    return op.kind == OpKind::AllReduce && op.group->size() > 1 &&
           op.sourceOffset == op.destinationOffset;
  }

  CommunicationContext context;
  Stream stream;
  Event ready[TESSERA_RT_MAX_SLOTS], done[TESSERA_RT_MAX_SLOTS];
  /// Results of in-place reductions, by slot, until they may be written. The
  /// buffers grow in the first step.
  void *held[TESSERA_RT_MAX_SLOTS] = {};
  int64_t heldBytes[TESSERA_RT_MAX_SLOTS] = {};
};
} // namespace

Status LocalCommunication::open(const std::vector<Operation> &) {
  tessera_rt_context *ctx = context.ctx;
  std::string error =
      context.device.createStream(/*highPriority=*/true, stream);
  for (int slot = 0; slot < TESSERA_RT_MAX_SLOTS && error.empty(); ++slot) {
    error = context.device.createEvent(/*timed=*/false, ready[slot]);
    if (error.empty())
      error = context.device.createEvent(/*timed=*/false, done[slot]);
  }
  if (Status status = context.check(error))
    return status;
  ctx->block().deviceArena = context.arena;
  ctx->mover = this;
  // Every rank's arena must be known before any rank reads from it.
  return barrier(ctx, BarrierAgreed);
}

LocalCommunication::~LocalCommunication() {
  context.ctx->mover = nullptr;
  for (int slot = 0; slot < TESSERA_RT_MAX_SLOTS; ++slot) {
    context.device.destroy(ready[slot]);
    context.device.destroy(done[slot]);
  }
  for (void *memory : held)
    if (memory)
      context.device.release(memory);
  context.device.destroy(stream);
}

std::string LocalCommunication::hold(int32_t slot, int64_t bytes) {
  if (bytes <= heldBytes[slot])
    return std::string();
  std::string error = context.device.synchronize(stream);
  if (error.empty() && held[slot])
    error = context.device.release(held[slot]);
  held[slot] = nullptr;
  if (error.empty())
    error = context.device.allocate(bytes, held[slot]);
  heldBytes[slot] = error.empty() ? bytes : 0;
  return error;
}

Status LocalCommunication::start(int32_t slot, Operation &op) {
  tessera_rt_context *ctx = context.ctx;
  std::string error;
  if (isHeld(op))
    error = hold(slot, op.header.count * dtypeSize(op.header.dtype));
  if (error.empty())
    error = context.device.record(ready[slot], context.compute);
  if (Status status = context.check(error))
    return status;
  ctx->block().entries[slot].ready = ready[slot].handle;
  return postOperation(ctx, slot, op);
}

Status LocalCommunication::finish(int32_t slot, Operation &) {
  return host::finish(context.ctx, slot);
}

Status LocalCommunication::move(int32_t slot, Operation &op) {
  tessera_rt_context *ctx = context.ctx;
  const Group &group = *op.group;
  std::string error = context.device.wait(stream, ready[slot]);
  Sources sources(size_t(group.size()), nullptr);
  for (int index = 0; index < group.size(); ++index) {
    int member = group.members[size_t(index)];
    if (!reads(op, index))
      continue;
    RankBlock &theirs = ctx->memory.blocks[member];
    if (member == ctx->rank) {
      sources[size_t(index)] = context.arena + op.sourceOffset;
      continue;
    }
    const Entry &entry = theirs.entries[op.peerSlot[size_t(index)]];
    sources[size_t(index)] = theirs.deviceArena + entry.sourceOffset;
    if (error.empty())
      error = context.device.wait(stream, Event{entry.ready});
  }
  if (error.empty())
    switch (op.kind) {
    case OpKind::AllGather:
      error = moveGather(op, sources);
      break;
    case OpKind::AllReduce:
    case OpKind::ReduceScatter:
      error = moveReduce(op, slot, sources);
      break;
    case OpKind::AllToAll:
      error = moveAllToAll(op, sources);
      break;
    case OpKind::Permute:
    case OpKind::Broadcast:
    case OpKind::Recv:
      error = moveBlock(op, sources);
      break;
    case OpKind::Send:
    case OpKind::Dispatch:
    case OpKind::Combine:
    case OpKind::Barrier:
      break;
    }
  if (error.empty())
    error = context.device.record(done[slot], stream);
  // The peers wait for this event before they change the source.
  for (int index = 0; index < group.size(); ++index) {
    int theirSlot = op.peerSlot[size_t(index)];
    if (theirSlot >= 0)
      ctx->memory.blocks[group.members[size_t(index)]]
          .entries[theirSlot]
          .readersDone[group.index] = done[slot].handle;
  }
  return context.check(error);
}

Status LocalCommunication::release(int32_t slot, Operation &op) {
  tessera_rt_context *ctx = context.ctx;
  Entry &entry = ctx->block().entries[slot];
  std::string error;
  for (void *&reader : entry.readersDone) {
    if (reader && error.empty())
      error = context.device.wait(stream, Event{reader});
    reader = nullptr;
  }
  if (isHeld(op) && error.empty())
    error = context.device.copy(stream, destination(op), held[slot],
                                op.header.count * dtypeSize(op.header.dtype));
  if (error.empty())
    error = context.device.record(done[slot], stream);
  if (error.empty())
    error = context.device.wait(context.compute, done[slot]);
  return context.check(error);
}

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

std::string LocalCommunication::moveGather(const Operation &op,
                                           const Sources &sources) {
  int64_t size = dtypeSize(op.header.dtype), members = op.group->size();
  int64_t shape[2] = {op.outer, op.inner}, from[2] = {op.inner, 1},
          to[2] = {op.inner * members, 1};
  std::string error;
  for (int64_t j = 0; j < members && error.empty(); ++j) {
    uint8_t *target = destination(op) + j * op.inner * size;
    if (target != sources[size_t(j)])
      error = context.kernels.copyStrided(
          stream, {size, 2, shape, sources[size_t(j)], from, target, to});
  }
  return error;
}

std::string LocalCommunication::moveReduce(const Operation &op, int32_t slot,
                                           Sources sources) {
  int64_t size = dtypeSize(op.header.dtype), members = op.group->size();
  bool isScatter = op.kind == OpKind::ReduceScatter;
  if (isScatter)
    for (const void *&source : sources)
      source = static_cast<const uint8_t *>(source) +
               op.group->index * op.inner * size;
  void *target = isHeld(op) ? held[slot] : destination(op);
  return context.kernels.reduce(
      stream, {op.header.dtype, op.header.reduction, sources.data(),
               int32_t(members), isScatter ? op.outer : 1, op.inner,
               isScatter ? op.inner * members : op.inner, target});
}

std::string LocalCommunication::moveAllToAll(const Operation &op,
                                             const Sources &sources) {
  int64_t members = op.group->size(), size = dtypeSize(op.header.dtype);
  size_t rank = op.shape.size(), split = size_t(op.splitDim),
         concat = size_t(op.concatDim);
  std::vector<int64_t> chunk = op.shape, from(rank), to(rank);
  chunk[split] /= members;
  std::vector<int64_t> result = chunk;
  result[concat] *= members;
  int64_t fromStride = 1, toStride = 1;
  for (size_t d = rank; d-- > 0;) {
    from[d] = fromStride;
    to[d] = toStride;
    fromStride *= op.shape[d];
    toStride *= result[d];
  }
  std::string error;
  for (int64_t j = 0; j < members && error.empty(); ++j)
    error = context.kernels.copyStrided(
        stream,
        {size, int32_t(rank), chunk.data(),
         static_cast<const uint8_t *>(sources[size_t(j)]) +
             op.group->index * chunk[split] * from[split] * size,
         from.data(), destination(op) + j * chunk[concat] * to[concat] * size,
         to.data()});
  return error;
}

std::string LocalCommunication::moveBlock(const Operation &op,
                                          const Sources &sources) {
  int64_t bytes = op.header.count * dtypeSize(op.header.dtype);
  if (bytes == 0)
    return std::string();
  if (op.readsFrom < 0)
    return context.device.fillBytes(stream, destination(op), 0, bytes);
  const void *source = sources[size_t(op.readsFrom)];
  return source == destination(op)
             ? std::string()
             : context.device.copy(stream, destination(op), source, bytes);
}

std::unique_ptr<Communication> tessera::rt::cuda::createLocalCommunication(
    const CommunicationContext &context) {
  return std::make_unique<LocalCommunication>(context);
}
