//===- NcclCommunication.cpp - Collectives by NCCL ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Communication.h. Each set of mesh axes has a communicator and a stream,
// and so has each tag of messages from one rank to another. NCCL gathers,
// scatters and exchanges whole blocks; blocks of rows are reordered before or
// after, in working memory of the communicator.
//
//===----------------------------------------------------------------------===//

#include "Nccl.h"

#include "ranks/Sharing.h"

#include <algorithm>
#include <numeric>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

namespace {
/// A tensor of [outer][members][inner] elements. If outer is 1, the members'
/// chunks are contiguous.
struct Chunks {
  int64_t outer, inner;
};

class NcclCommunication final : public Communication {
public:
  NcclCommunication(const CommunicationContext &context, bool shared)
      : context(context), library(context.ctx), shared(shared) {}
  ~NcclCommunication() override;

  std::string name() const override {
    return comms.empty() ? "none" : "nccl " + api().library.version;
  }
  Status open(const std::vector<Operation> &operations) override;
  Status start(int32_t slot, Operation &op) override;
  Status finish(int32_t slot, Operation &op) override;
  bool canCapture() const override { return true; }
  std::string poll() override;
  void abort() override;

private:
  const nccl::Api &api() const { return library.get(); }
  Communicator *find(const Operation &op);
  bool addCommunicator(const Operation &op);
  Status compareGroups(const std::vector<Operation> &operations, bool &isSame);
  void addParent();
  Status connectAlone(const std::vector<Communicator *> &alone);
  Status connectPair(Communicator &comm);
  Status splitGroups();
  std::string allocate();

  Status enqueue(const Operation &op, Communicator &comm);
  Status allGather(const Operation &op, Communicator &comm);
  Status reduceScatter(const Operation &op, Communicator &comm);
  Status keepLastBits(const Operation &op, Communicator &comm);
  Status allToAll(const Operation &op, Communicator &comm);
  Status permute(const Operation &op, Communicator &comm);
  Status copyAlone(const Operation &op);
  /// Copies chunks to [members][outer][inner], or back.
  Status reorder(const Operation &op, Communicator &comm, Chunks chunks,
                 const void *from, void *to, bool toMembers);

  uint8_t *source(const Operation &op) const {
    return context.arena + op.sourceOffset;
  }
  uint8_t *destination(const Operation &op) const {
    return context.arena + op.destinationOffset;
  }

  CommunicationContext context;
  NcclLibrary library;
  bool shared, isAborted = false;
  /// Communicators in the order of the step's collectives. If groups were
  /// split, the first communicator has all ranks.
  std::vector<std::unique_ptr<Communicator>> comms;
  Event ready[TESSERA_RT_MAX_SLOTS], done[TESSERA_RT_MAX_SLOTS];
  bool hasEvents = false;
};
} // namespace

//===----------------------------------------------------------------------===//
// Communicators
//===----------------------------------------------------------------------===//

/// The ranks of a message: sender, receiver.
static std::pair<int, int> pairOf(const Operation &op) {
  int self = op.group->members[size_t(op.group->index)];
  int peer = op.group->members[size_t(op.peer)];
  return op.kind == OpKind::Send ? std::pair<int, int>(self, peer)
                                 : std::pair<int, int>(peer, self);
}

/// The key of the communicator of an operation.
static uint64_t keyOf(const Operation &op) {
  if (!isPointToPoint(op.kind))
    return op.group->hash;
  std::pair<int, int> pair = pairOf(op);
  int64_t fields[3] = {pair.first, pair.second, op.tag};
  return hashBytes(fields, sizeof(fields));
}

Communicator *NcclCommunication::find(const Operation &op) {
  uint64_t key = keyOf(op);
  for (std::unique_ptr<Communicator> &comm : comms)
    if (comm->key == key)
      return comm.get();
  return nullptr;
}

static int64_t productOf(const std::vector<int64_t> &shape, int32_t begin,
                         size_t end) {
  int64_t product = 1;
  for (auto d = size_t(begin); d < end; ++d)
    product *= shape[d];
  return product;
}

/// Layout of an all_to_all's source: [outer][members][inner].
static Chunks getSplit(const Operation &op) {
  return {productOf(op.shape, 0, size_t(op.splitDim)),
          productOf(op.shape, op.splitDim, op.shape.size()) / op.group->size()};
}

/// Layout of the destination, into which the chunks are joined.
static Chunks getJoined(const Operation &op) {
  std::vector<int64_t> chunk = op.shape;
  chunk[size_t(op.splitDim)] /= op.group->size();
  return {productOf(chunk, 0, size_t(op.concatDim)),
          productOf(chunk, op.concatDim, chunk.size())};
}

/// Bytes of working memory that a collective needs.
static int64_t stagingOf(const Operation &op) {
  int64_t bytes = op.header.count * dtypeSize(op.header.dtype);
  if (op.kind == OpKind::AllGather || op.kind == OpKind::ReduceScatter)
    return op.outer > 1 ? bytes * op.group->size() : 0;
  if (op.kind != OpKind::AllToAll)
    return 0;
  return (getSplit(op).outer > 1 ? bytes : 0) +
         (getJoined(op).outer > 1 ? bytes : 0);
}

/// Describes a communicator that is not connected yet.
static std::unique_ptr<Communicator> describe(const Operation &op) {
  auto comm = std::make_unique<Communicator>();
  comm->key = keyOf(op);
  comm->isPair = isPointToPoint(op.kind);
  if (comm->isPair) {
    std::pair<int, int> pair = pairOf(op);
    comm->name = format("rank %d to rank %d", pair.first, pair.second);
    comm->members = {pair.first, pair.second};
    comm->index = op.kind == OpKind::Send ? 0 : 1;
    comm->identity = comm->key;
  } else {
    comm->name = op.group->name;
    comm->members = op.group->members;
    comm->index = op.group->index;
    int first = comm->members.front();
    comm->identity = hashBytes(&first, sizeof(first), comm->key);
  }
  return comm;
}

/// Adds the communicator of a collective. Returns true if it is a new one.
bool NcclCommunication::addCommunicator(const Operation &op) {
  if (op.group->size() == 1)
    return false;
  Communicator *comm = find(op);
  bool isNew = !comm;
  if (isNew) {
    comms.push_back(describe(op));
    comm = comms.back().get();
  }
  comm->stagingBytes = std::max(comm->stagingBytes, stagingOf(op));
  return isNew;
}

/// Adds the communicators of a step, and finds out whether all ranks have
/// groups over the same axes in the same order.
Status
NcclCommunication::compareGroups(const std::vector<Operation> &operations,
                                 bool &isSame) {
  uint64_t hash = 1;
  for (const Operation &op : operations)
    if (addCommunicator(op) && !isPointToPoint(op.kind))
      hash = hashBytes(op.group->axes.data(),
                       op.group->axes.size() * sizeof(StridedAxis), hash);
  tessera_rt_context *ctx = context.ctx;
  ctx->block().splits = hash;
  if (Status status = shareMemory(ctx, &ctx->block().splits, sizeof(hash)))
    return status;
  if (Status status = awaitShared(ctx))
    return status;
  isSame = true;
  for (int rank = 0; rank < ctx->ranks; ++rank)
    isSame &= ctx->memory.blocks[rank].splits == hash;
  return TESSERA_RT_OK;
}

/// Adds the communicator of all ranks, of which groups are split.
void NcclCommunication::addParent() {
  auto all = std::make_unique<Communicator>();
  all->key = all->identity = hashBytes("all ranks", 9);
  all->name = "all ranks";
  all->members.resize(size_t(context.ctx->ranks));
  std::iota(all->members.begin(), all->members.end(), 0);
  all->index = context.ctx->rank;
  comms.insert(comms.begin(), std::move(all));
}

/// Sends the first message of a pair, one byte of the arena, which has no
/// contents yet. In this message NCCL connects the two ranks, and it blocks
/// every call of either until both have begun. In a step each rank may wait for
/// the other's message first, which would be a deadlock.
Status NcclCommunication::connectPair(Communicator &comm) {
  if (Status status = context.check(context.device.createStream(
          /*highPriority=*/true, comm.stream)))
    return status;
  int result = comm.index == 0 ? api().send(context.arena, 1, nccl::Uint8, 1,
                                            comm.comm, comm.stream.handle)
                               : api().receive(context.arena, 1, nccl::Uint8, 0,
                                               comm.comm, comm.stream.handle);
  return library.check(comm, "connecting", result);
}

/// Creates communicators by identities. They are created one by one, and all
/// ranks go in the order of identities, so the first remaining one always has
/// all its ranks ready.
Status
NcclCommunication::connectAlone(const std::vector<Communicator *> &alone) {
  for (Communicator *comm : alone)
    if (comm->index == 0)
      if (Status status = library.announceIdentity(*comm))
        return status;
  if (Status status = awaitShared(context.ctx))
    return status;
  for (Communicator *comm : alone) {
    if (Status status = library.connect(*comm))
      return status;
    if (Status status = library.waitReady(*comm))
      return status;
    if (comm->isPair)
      if (Status status = connectPair(*comm))
        return status;
  }
  return TESSERA_RT_OK;
}

/// Splits the communicator of all ranks, all ranks in the same order of axes.
Status NcclCommunication::splitGroups() {
  for (std::unique_ptr<Communicator> &comm : comms) {
    if (comm->comm)
      continue;
    if (Status status = library.split(*comms.front(), *comm))
      return status;
    if (Status status = library.waitReady(*comm))
      return status;
  }
  return TESSERA_RT_OK;
}

std::string NcclCommunication::allocate() {
  std::string error;
  for (int slot = 0; slot < TESSERA_RT_MAX_SLOTS && error.empty(); ++slot) {
    error = context.device.createEvent(/*timed=*/false, ready[slot]);
    if (error.empty())
      error = context.device.createEvent(/*timed=*/false, done[slot]);
  }
  hasEvents = error.empty();
  for (std::unique_ptr<Communicator> &comm : comms) {
    void *memory = nullptr;
    if (error.empty() && !comm->isPair)
      error = context.device.createStream(/*highPriority=*/true, comm->stream);
    if (error.empty() && comm->stagingBytes)
      error = context.device.allocate(comm->stagingBytes, memory);
    comm->staging = static_cast<uint8_t *>(memory);
  }
  return error;
}

Status NcclCommunication::open(const std::vector<Operation> &operations) {
  bool isSame = true;
  if (Status status = compareGroups(operations, isSame))
    return status;
  if (!comms.empty())
    if (Status status = library.open(shared))
      return status;
  auto isPair = [](const auto &comm) { return comm->isPair; };
  bool splits = isSame && !std::all_of(comms.begin(), comms.end(), isPair);
  if (splits)
    addParent();
  std::vector<Communicator *> alone;
  for (std::unique_ptr<Communicator> &comm : comms)
    if (!splits || comm->isPair || comm == comms.front())
      alone.push_back(comm.get());
  std::sort(alone.begin(), alone.end(),
            [](auto *a, auto *b) { return a->identity < b->identity; });
  if (Status status = connectAlone(alone))
    return status;
  if (splits)
    if (Status status = splitGroups())
      return status;
  return comms.empty() ? TESSERA_RT_OK : context.check(allocate());
}

NcclCommunication::~NcclCommunication() {
  for (std::unique_ptr<Communicator> &comm : comms) {
    if (comm->comm && !isAborted)
      library.close(*comm);
    if (comm->staging)
      context.device.release(comm->staging);
    if (comm->stream.handle)
      context.device.destroy(comm->stream);
  }
  for (int slot = 0; slot < TESSERA_RT_MAX_SLOTS && hasEvents; ++slot) {
    context.device.destroy(ready[slot]);
    context.device.destroy(done[slot]);
  }
}

std::string NcclCommunication::poll() {
  for (std::unique_ptr<Communicator> &comm : comms) {
    std::string error = library.poll(*comm);
    if (!error.empty())
      return error;
  }
  return std::string();
}

void NcclCommunication::abort() {
  if (isAborted)
    return;
  isAborted = true;
  for (std::unique_ptr<Communicator> &comm : comms)
    if (comm->comm)
      api().abort(comm->comm);
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

static int typeOf(int32_t dtype) {
  switch (dtype) {
  case TESSERA_RT_F32:
    return nccl::Float32;
  case TESSERA_RT_BF16:
    return nccl::Bfloat16;
  case TESSERA_RT_F16:
  case TESSERA_RT_I16: // This type is moved, never reduced.
    return nccl::Float16;
  case TESSERA_RT_F64:
    return nccl::Float64;
  case TESSERA_RT_I8:
    return nccl::Int8;
  case TESSERA_RT_I32:
    return nccl::Int32;
  case TESSERA_RT_I64:
    return nccl::Int64;
  default:
    return nccl::Uint8;
  }
}

static int reductionOf(const Header &header) {
  if (header.reduction == TESSERA_RT_MIN)
    return nccl::Min;
  return header.reduction == TESSERA_RT_MAX ? nccl::Max : nccl::Sum;
}

/// Keeps the last bits of a sum of I1, which the library adds as bytes.
Status NcclCommunication::keepLastBits(const Operation &op,
                                       Communicator &comm) {
  if (op.header.dtype != TESSERA_RT_I1 || op.header.reduction != TESSERA_RT_SUM)
    return TESSERA_RT_OK;
  const void *sum = destination(op);
  int64_t count = op.header.count;
  return context.check(context.kernels.reduce(
      comm.stream, {op.header.dtype, op.header.reduction, &sum, 1, 1, count,
                    count, destination(op)}));
}

Status NcclCommunication::reorder(const Operation &op, Communicator &comm,
                                  Chunks chunks, const void *from, void *to,
                                  bool toMembers) {
  int64_t members = op.group->size();
  int64_t shape[3] = {members, chunks.outer, chunks.inner};
  int64_t blocked[3] = {chunks.outer * chunks.inner, chunks.inner, 1};
  int64_t rows[3] = {chunks.inner, members * chunks.inner, 1};
  return context.check(context.kernels.copyStrided(
      comm.stream,
      {dtypeSize(op.header.dtype), 3, shape, from, toMembers ? rows : blocked,
       to, toMembers ? blocked : rows}));
}

Status NcclCommunication::allGather(const Operation &op, Communicator &comm) {
  void *to = op.outer > 1 ? comm.staging : destination(op);
  if (Status status =
          library.check(comm, "all_gather",
                        api().allGather(source(op), to, size_t(op.header.count),
                                        typeOf(op.header.dtype), comm.comm,
                                        comm.stream.handle)))
    return status;
  return op.outer > 1 ? reorder(op, comm, {op.outer, op.inner}, to,
                                destination(op), false)
                      : TESSERA_RT_OK;
}

Status NcclCommunication::reduceScatter(const Operation &op,
                                        Communicator &comm) {
  const void *from = source(op);
  if (op.outer > 1) {
    if (Status status =
            reorder(op, comm, {op.outer, op.inner}, from, comm.staging, true))
      return status;
    from = comm.staging;
  }
  if (Status status = library.check(
          comm, "reduce_scatter",
          api().reduceScatter(from, destination(op), size_t(op.header.count),
                              typeOf(op.header.dtype), reductionOf(op.header),
                              comm.comm, comm.stream.handle)))
    return status;
  return keepLastBits(op, comm);
}

/// Contiguous chunks are sent from and received at their final positions.
Status NcclCommunication::allToAll(const Operation &op, Communicator &comm) {
  int members = op.group->size();
  int64_t bytes = op.header.count * dtypeSize(op.header.dtype);
  Chunks split = getSplit(op), joined = getJoined(op);
  const uint8_t *sent = source(op);
  uint8_t *received = destination(op), *staging = comm.staging;
  if (split.outer > 1) {
    if (Status status = reorder(op, comm, split, sent, staging, true))
      return status;
    sent = staging;
    staging += bytes;
  }
  if (joined.outer > 1)
    received = staging;
  int result = api().groupStart();
  for (int j = 0; j < members && result == nccl::Success; ++j) {
    size_t count = size_t(op.header.count / members);
    int64_t at = bytes / members * j;
    result = api().send(sent + at, count, typeOf(op.header.dtype), j, comm.comm,
                        comm.stream.handle);
    if (result == nccl::Success || result == nccl::InProgress)
      result = api().receive(received + at, count, typeOf(op.header.dtype), j,
                             comm.comm, comm.stream.handle);
    result = result == nccl::InProgress ? nccl::Success : result;
  }
  int ended = api().groupEnd();
  if (Status status = library.check(comm, "all_to_all",
                                    result != nccl::Success ? result : ended))
    return status;
  return joined.outer > 1
             ? reorder(op, comm, joined, received, destination(op), false)
             : TESSERA_RT_OK;
}

Status NcclCommunication::permute(const Operation &op, Communicator &comm) {
  size_t count = size_t(op.header.count);
  int type = typeOf(op.header.dtype), self = op.group->index;
  int64_t bytes = op.header.count * dtypeSize(op.header.dtype);
  if (op.readsFrom < 0 || op.readsFrom == self)
    if (Status status = context.check(
            op.readsFrom < 0 ? context.device.fillBytes(
                                   comm.stream, destination(op), 0, bytes)
                             : context.device.copy(comm.stream, destination(op),
                                                   source(op), bytes)))
      return status;
  int result = api().groupStart();
  auto goesOn = [&] {
    result = result == nccl::InProgress ? nccl::Success : result;
    return result == nccl::Success;
  };
  if (goesOn() && op.readsFrom >= 0 && op.readsFrom != self)
    result = api().receive(destination(op), count, type, op.readsFrom,
                           comm.comm, comm.stream.handle);
  for (int target : op.targets)
    if (goesOn())
      result = api().send(source(op), count, type, target, comm.comm,
                          comm.stream.handle);
  bool isValid = goesOn();
  int ended = api().groupEnd();
  return library.check(comm, "permute", isValid ? ended : result);
}

Status NcclCommunication::enqueue(const Operation &op, Communicator &comm) {
  size_t count = size_t(op.header.count);
  int type = typeOf(op.header.dtype);
  void *stream = comm.stream.handle;
  switch (op.kind) {
  case OpKind::AllGather:
    return allGather(op, comm);
  case OpKind::ReduceScatter:
    return reduceScatter(op, comm);
  case OpKind::AllReduce:
    if (Status status = library.check(
            comm, "all_reduce",
            api().allReduce(source(op), destination(op), count, type,
                            reductionOf(op.header), comm.comm, stream)))
      return status;
    return keepLastBits(op, comm);
  case OpKind::AllToAll:
    return allToAll(op, comm);
  case OpKind::Permute:
    return permute(op, comm);
  case OpKind::Broadcast:
    return library.check(comm, "broadcast",
                         api().broadcast(source(op), destination(op), count,
                                         type, op.readsFrom, comm.comm,
                                         stream));
  case OpKind::Send:
    return library.check(
        comm, "send",
        api().send(source(op), count, type, 1, comm.comm, stream));
  case OpKind::Recv:
    return library.check(
        comm, "recv",
        api().receive(destination(op), count, type, 0, comm.comm, stream));
  case OpKind::Dispatch:
  case OpKind::Combine:
  case OpKind::Barrier:
    break;
  }
  return TESSERA_RT_OK;
}

/// Runs a collective of a group of one: its destination is a copy of its
/// source.
Status NcclCommunication::copyAlone(const Operation &op) {
  int64_t bytes = op.header.count * dtypeSize(op.header.dtype);
  bool isZero = op.kind == OpKind::Permute && op.readsFrom < 0;
  if (bytes == 0 || (!isZero && op.sourceOffset == op.destinationOffset))
    return TESSERA_RT_OK;
  return context.check(
      isZero
          ? context.device.fillBytes(context.compute, destination(op), 0, bytes)
          : context.device.copy(context.compute, destination(op), source(op),
                                bytes));
}

Status NcclCommunication::start(int32_t slot, Operation &op) {
  if (op.group->size() == 1)
    return copyAlone(op);
  Communicator *comm = find(op);
  if (!comm)
    return fail(context.ctx, TESSERA_RT_INVALID,
                "a collective that was not seen before the first step: " +
                    op.header.describe());
  std::string error = context.device.record(ready[slot], context.compute);
  if (error.empty())
    error = context.device.wait(comm->stream, ready[slot]);
  if (Status status = context.check(error))
    return status;
  if (Status status = enqueue(op, *comm))
    return status;
  return context.check(context.device.record(done[slot], comm->stream));
}

Status NcclCommunication::finish(int32_t slot, Operation &op) {
  if (op.group->size() == 1)
    return TESSERA_RT_OK;
  return context.check(context.device.wait(context.compute, done[slot]));
}

std::unique_ptr<Communication>
tessera::rt::cuda::createNccl(const CommunicationContext &context,
                              bool shared) {
  return std::make_unique<NcclCommunication>(context, shared);
}
