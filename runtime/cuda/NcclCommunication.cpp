//===- NcclCommunication.cpp - Collectives by NCCL ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Communication.h. Each set of mesh axes has a communicator and a stream,
// and so has each pair of ranks with messages, for each direction. NCCL gathers
// and scatters whole blocks; blocks of rows are put in order before or after,
// in working memory of the communicator.
//
//===----------------------------------------------------------------------===//

#include "Nccl.h"

#include <algorithm>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

namespace {
class NcclCommunication final : public Communication {
public:
  NcclCommunication(const Workplace &place, bool shared)
      : place(place), library(place.ctx), shared(shared) {}
  ~NcclCommunication() override;

  std::string name() const override {
    return channels.empty() ? "none" : "nccl " + api().library.version;
  }
  Status open(const std::vector<Operation> &operations) override;
  Status start(int32_t slot, Operation &op) override;
  Status finish(int32_t slot, Operation &op) override;
  bool canCapture() const override { return true; }
  std::string poll() override;
  void abort() override;

private:
  const nccl::Api &api() const { return library.get(); }
  Channel *find(const Operation &op);
  void addChannel(const Operation &op);
  Status makeGroups();
  Status makePairs();

  Status enqueue(const Operation &op, Channel &channel);
  Status gather(const Operation &op, Channel &channel);
  Status scatter(const Operation &op, Channel &channel);
  Status keepLastBits(const Operation &op, Channel &channel);
  Status allToAll(const Operation &op, Channel &channel);
  Status permute(const Operation &op, Channel &channel);
  Status copyAlone(const Operation &op);
  /// Copies pieces of [outer][members][inner] to [members][outer][inner], or
  /// back.
  Status reorder(const Operation &op, Channel &channel, const void *from,
                 void *to, bool toMembers);
  Status copyPieces(const Operation &op, Channel &channel, const void *pieces,
                    void *to, bool isUnpacking);

  uint8_t *source(const Operation &op) const {
    return place.arena + op.sourceOffset;
  }
  uint8_t *destination(const Operation &op) const {
    return place.arena + op.destinationOffset;
  }

  Workplace place;
  NcclLibrary library;
  bool shared, isAborted = false;
  /// The first one has all ranks.
  std::vector<std::unique_ptr<Channel>> channels;
  /// Digits of the groups that need a communicator, in their order.
  std::vector<const Operation *> groups, messages;
  Event ready[TESSERA_RT_MAX_SLOTS], done[TESSERA_RT_MAX_SLOTS];
  bool hasEvents = false;
};
} // namespace

//===----------------------------------------------------------------------===//
// Communicators
//===----------------------------------------------------------------------===//

/// The ranks of a message: from, to.
static std::pair<int, int> pairOf(const Operation &op) {
  int self = op.group->members[size_t(op.group->index)];
  int peer = op.group->members[size_t(op.peer)];
  return op.kind == OpKind::Send ? std::pair<int, int>(self, peer)
                                 : std::pair<int, int>(peer, self);
}

static uint64_t channelName(const Operation &op) {
  if (!isPointToPoint(op.kind))
    return op.group->hash;
  std::pair<int, int> pair = pairOf(op);
  int64_t words[3] = {pair.first, pair.second, 2};
  return hashBytes(words, sizeof(words));
}

Channel *NcclCommunication::find(const Operation &op) {
  uint64_t name = channelName(op);
  for (std::unique_ptr<Channel> &channel : channels)
    if (channel->name == name)
      return channel.get();
  return nullptr;
}

/// Bytes of working memory that a collective needs.
static int64_t stagingOf(const Operation &op) {
  int64_t bytes = op.header.count * dtypeSize(op.header.dtype);
  if (op.kind == OpKind::AllGather || op.kind == OpKind::ReduceScatter)
    return op.outer > 1 ? bytes * op.group->size() : 0;
  return op.kind == OpKind::AllToAll ? 2 * bytes : 0;
}

void NcclCommunication::addChannel(const Operation &op) {
  if (op.group->size() == 1)
    return;
  Channel *channel = find(op);
  if (!channel) {
    channels.push_back(std::make_unique<Channel>());
    channel = channels.back().get();
    channel->name = channelName(op);
    channel->ranks = op.group->size();
    channel->index = op.group->index;
    channel->what = op.group->name;
    if (isPointToPoint(op.kind)) {
      std::pair<int, int> pair = pairOf(op);
      channel->ranks = 2;
      channel->index = op.kind == OpKind::Send ? 0 : 1;
      channel->what = format("rank %d to rank %d", pair.first, pair.second);
      messages.push_back(&op);
    } else {
      groups.push_back(&op);
    }
  }
  channel->stagingBytes = std::max(channel->stagingBytes, stagingOf(op));
}

/// All ranks split the communicator of all in the same order of digits, which
/// they have in common: their steps have the same groups.
Status NcclCommunication::makeGroups() {
  if (groups.empty())
    return TESSERA_RT_OK;
  tessera_rt_context *ctx = place.ctx;
  auto all = std::make_unique<Channel>();
  all->name = hashBytes("all ranks", 9);
  all->what = "all ranks";
  all->ranks = ctx->ranks;
  all->index = ctx->rank;
  if (ctx->rank == 0)
    if (Status status = library.announceIdentity(all->name))
      return status;
  if (Status status = library.connect(*all))
    return status;
  if (Status status = library.settle(*all))
    return status;
  for (const Operation *op : groups) {
    Channel &channel = *find(*op);
    if (Status status =
            library.split(*all, op->group->members.front(), channel))
      return status;
    if (Status status = library.settle(channel))
      return status;
  }
  channels.insert(channels.begin(), std::move(all));
  return TESSERA_RT_OK;
}

Status NcclCommunication::makePairs() {
  // Every identity is there before anybody waits for one.
  for (const Operation *op : messages)
    if (op->kind == OpKind::Send)
      if (Status status = library.announceIdentity(channelName(*op)))
        return status;
  for (const Operation *op : messages)
    if (Status status = library.connect(*find(*op)))
      return status;
  for (const Operation *op : messages)
    if (Status status = library.settle(*find(*op)))
      return status;
  return TESSERA_RT_OK;
}

Status NcclCommunication::open(const std::vector<Operation> &operations) {
  for (const Operation &op : operations)
    addChannel(op);
  // Splitting is for all ranks: whether and how must be the same everywhere.
  uint64_t digits = 1;
  for (const Operation *op : groups)
    digits = hashBytes(op->group->digits.data(),
                       op->group->digits.size() * sizeof(Digit), digits);
  tessera_rt_context *ctx = place.ctx;
  ctx->block().splits.store(digits);
  if (Status status = barrier(ctx, BarrierAgreed))
    return status;
  for (int rank = 0; rank < ctx->ranks; ++rank)
    if (ctx->memory.blocks[rank].splits.load() != digits)
      return fail(ctx, TESSERA_RT_MISMATCH,
                  format("the steps of ranks %d and %d have collectives over "
                         "different axes",
                         ctx->rank, rank));
  if (channels.empty())
    return TESSERA_RT_OK;
  if (Status status = library.open(shared))
    return status;
  if (Status status = makeGroups())
    return status;
  if (Status status = makePairs())
    return status;
  std::string error;
  for (int slot = 0; slot < TESSERA_RT_MAX_SLOTS && error.empty(); ++slot) {
    error = place.device.createEvent(/*timed=*/false, ready[slot]);
    if (error.empty())
      error = place.device.createEvent(/*timed=*/false, done[slot]);
  }
  hasEvents = error.empty();
  for (std::unique_ptr<Channel> &channel : channels) {
    void *memory = nullptr;
    if (error.empty())
      error = place.device.createStream(/*highPriority=*/true, channel->stream);
    if (error.empty() && channel->stagingBytes)
      error = place.device.allocate(channel->stagingBytes, memory);
    channel->staging = static_cast<uint8_t *>(memory);
  }
  return place.check(error);
}

NcclCommunication::~NcclCommunication() {
  for (std::unique_ptr<Channel> &channel : channels) {
    if (channel->comm && !isAborted)
      library.close(*channel);
    if (channel->staging)
      place.device.release(channel->staging);
    if (channel->stream.handle)
      place.device.destroy(channel->stream);
  }
  for (int slot = 0; slot < TESSERA_RT_MAX_SLOTS && hasEvents; ++slot) {
    place.device.destroy(ready[slot]);
    place.device.destroy(done[slot]);
  }
}

std::string NcclCommunication::poll() {
  for (std::unique_ptr<Channel> &channel : channels) {
    std::string error = library.poll(*channel);
    if (!error.empty())
      return error;
  }
  return std::string();
}

void NcclCommunication::abort() {
  if (isAborted)
    return;
  isAborted = true;
  for (std::unique_ptr<Channel> &channel : channels)
    if (channel->comm)
      api().abort(channel->comm);
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
  case TESSERA_RT_I16: // Moved, never reduced.
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

/// Of a sum of I1, which the library adds as bytes, the last bits.
Status NcclCommunication::keepLastBits(const Operation &op, Channel &channel) {
  if (op.header.dtype != TESSERA_RT_I1 || op.header.reduction != TESSERA_RT_SUM)
    return TESSERA_RT_OK;
  const void *sum = destination(op);
  int64_t count = op.header.count;
  return place.check(place.kernels.reduce(
      channel.stream, {op.header.dtype, op.header.reduction, &sum, 1, 1, count,
                       count, destination(op)}));
}

Status NcclCommunication::reorder(const Operation &op, Channel &channel,
                                  const void *from, void *to, bool toMembers) {
  int64_t members = op.group->size();
  int64_t shape[3] = {members, op.outer, op.inner};
  int64_t blocked[3] = {op.outer * op.inner, op.inner, 1};
  int64_t rows[3] = {op.inner, members * op.inner, 1};
  return place.check(place.kernels.copyStrided(
      channel.stream,
      {dtypeSize(op.header.dtype), 3, shape, from, toMembers ? rows : blocked,
       to, toMembers ? blocked : rows}));
}

Status NcclCommunication::gather(const Operation &op, Channel &channel) {
  void *to = op.outer > 1 ? channel.staging : destination(op);
  if (Status status =
          library.check(channel, "all_gather",
                        api().allGather(source(op), to, size_t(op.header.count),
                                        typeOf(op.header.dtype), channel.comm,
                                        channel.stream.handle)))
    return status;
  return op.outer > 1 ? reorder(op, channel, to, destination(op), false)
                      : TESSERA_RT_OK;
}

Status NcclCommunication::scatter(const Operation &op, Channel &channel) {
  const void *from = source(op);
  if (op.outer > 1) {
    if (Status status = reorder(op, channel, from, channel.staging, true))
      return status;
    from = channel.staging;
  }
  if (Status status = library.check(
          channel, "reduce_scatter",
          api().reduceScatter(from, destination(op), size_t(op.header.count),
                              typeOf(op.header.dtype), reductionOf(op.header),
                              channel.comm, channel.stream.handle)))
    return status;
  return keepLastBits(op, channel);
}

Status NcclCommunication::copyPieces(const Operation &op, Channel &channel,
                                     const void *from, void *to,
                                     bool isUnpacking) {
  int64_t members = op.group->size(), size = dtypeSize(op.header.dtype);
  size_t rank = op.shape.size(), split = size_t(op.splitDim),
         concat = size_t(op.concatDim);
  std::vector<int64_t> piece = op.shape;
  piece[split] /= members;
  // The tensor that pieces are cut out of, or put into.
  std::vector<int64_t> whole = isUnpacking ? piece : op.shape;
  if (isUnpacking)
    whole[concat] *= members;
  std::vector<int64_t> wholeStrides(rank), pieceStrides(rank);
  int64_t wholeStride = 1, pieceStride = 1;
  for (size_t d = rank; d-- > 0;) {
    wholeStrides[d] = wholeStride;
    pieceStrides[d] = pieceStride;
    wholeStride *= whole[d];
    pieceStride *= piece[d];
  }
  size_t cut = isUnpacking ? concat : split;
  for (int64_t j = 0; j < members; ++j) {
    int64_t inWhole = j * piece[cut] * wholeStrides[cut] * size;
    int64_t inPieces = j * pieceStride * size;
    const uint8_t *source =
        static_cast<const uint8_t *>(from) + (isUnpacking ? inPieces : inWhole);
    uint8_t *destination =
        static_cast<uint8_t *>(to) + (isUnpacking ? inWhole : inPieces);
    if (Status status = place.check(place.kernels.copyStrided(
            channel.stream,
            {size, int32_t(rank), piece.data(), source,
             isUnpacking ? pieceStrides.data() : wholeStrides.data(),
             destination,
             isUnpacking ? wholeStrides.data() : pieceStrides.data()})))
      return status;
  }
  return TESSERA_RT_OK;
}

Status NcclCommunication::allToAll(const Operation &op, Channel &channel) {
  int members = op.group->size();
  int64_t bytes = op.header.count * dtypeSize(op.header.dtype);
  uint8_t *sent = channel.staging, *received = channel.staging + bytes;
  if (Status status = copyPieces(op, channel, source(op), sent, false))
    return status;
  int result = api().groupStart();
  for (int j = 0; j < members && result == nccl::Success; ++j) {
    size_t count = size_t(op.header.count / members);
    int64_t at = bytes / members * j;
    result = api().send(sent + at, count, typeOf(op.header.dtype), j,
                        channel.comm, channel.stream.handle);
    if (result == nccl::Success || result == nccl::InProgress)
      result = api().receive(received + at, count, typeOf(op.header.dtype), j,
                             channel.comm, channel.stream.handle);
    result = result == nccl::InProgress ? nccl::Success : result;
  }
  int ended = api().groupEnd();
  if (Status status = library.check(channel, "all_to_all",
                                    result != nccl::Success ? result : ended))
    return status;
  return copyPieces(op, channel, received, destination(op), true);
}

Status NcclCommunication::permute(const Operation &op, Channel &channel) {
  size_t count = size_t(op.header.count);
  int type = typeOf(op.header.dtype), self = op.group->index;
  int64_t bytes = op.header.count * dtypeSize(op.header.dtype);
  if (op.readsFrom < 0 || op.readsFrom == self)
    if (Status status =
            place.check(op.readsFrom < 0
                            ? place.device.fillBytes(channel.stream,
                                                     destination(op), 0, bytes)
                            : place.device.copy(channel.stream, destination(op),
                                                source(op), bytes)))
      return status;
  int result = api().groupStart();
  auto goesOn = [&] {
    result = result == nccl::InProgress ? nccl::Success : result;
    return result == nccl::Success;
  };
  if (goesOn() && op.readsFrom >= 0 && op.readsFrom != self)
    result = api().receive(destination(op), count, type, op.readsFrom,
                           channel.comm, channel.stream.handle);
  for (int target : op.targets)
    if (goesOn())
      result = api().send(source(op), count, type, target, channel.comm,
                          channel.stream.handle);
  bool isSound = goesOn();
  int ended = api().groupEnd();
  return library.check(channel, "permute", isSound ? ended : result);
}

Status NcclCommunication::enqueue(const Operation &op, Channel &channel) {
  size_t count = size_t(op.header.count);
  int type = typeOf(op.header.dtype);
  void *stream = channel.stream.handle;
  switch (op.kind) {
  case OpKind::AllGather:
    return gather(op, channel);
  case OpKind::ReduceScatter:
    return scatter(op, channel);
  case OpKind::AllReduce:
    if (Status status = library.check(
            channel, "all_reduce",
            api().allReduce(source(op), destination(op), count, type,
                            reductionOf(op.header), channel.comm, stream)))
      return status;
    return keepLastBits(op, channel);
  case OpKind::AllToAll:
    return allToAll(op, channel);
  case OpKind::Permute:
    return permute(op, channel);
  case OpKind::Broadcast:
    return library.check(channel, "broadcast",
                         api().broadcast(source(op), destination(op), count,
                                         type, op.readsFrom, channel.comm,
                                         stream));
  case OpKind::Send:
    return library.check(
        channel, "send",
        api().send(source(op), count, type, 1, channel.comm, stream));
  case OpKind::Recv:
    return library.check(
        channel, "recv",
        api().receive(destination(op), count, type, 0, channel.comm, stream));
  case OpKind::Barrier:
    break;
  }
  return TESSERA_RT_OK;
}

/// A collective of a group of one: its destination is its source.
Status NcclCommunication::copyAlone(const Operation &op) {
  int64_t bytes = op.header.count * dtypeSize(op.header.dtype);
  bool isZero = op.kind == OpKind::Permute && op.readsFrom < 0;
  if (bytes == 0 || (!isZero && op.sourceOffset == op.destinationOffset))
    return TESSERA_RT_OK;
  return place.check(
      isZero ? place.device.fillBytes(place.compute, destination(op), 0, bytes)
             : place.device.copy(place.compute, destination(op), source(op),
                                 bytes));
}

Status NcclCommunication::start(int32_t slot, Operation &op) {
  if (op.group->size() == 1)
    return copyAlone(op);
  Channel *channel = find(op);
  if (!channel)
    return fail(place.ctx, TESSERA_RT_INVALID,
                "a collective that was not seen before the first step: " +
                    op.header.describe());
  std::string error = place.device.record(ready[slot], place.compute);
  if (error.empty())
    error = place.device.wait(channel->stream, ready[slot]);
  if (Status status = place.check(error))
    return status;
  if (Status status = enqueue(op, *channel))
    return status;
  return place.check(place.device.record(done[slot], channel->stream));
}

Status NcclCommunication::finish(int32_t slot, Operation &op) {
  if (op.group->size() == 1)
    return TESSERA_RT_OK;
  return place.check(place.device.wait(place.compute, done[slot]));
}

std::unique_ptr<Communication>
tessera::rt::cuda::createNccl(const Workplace &place, bool shared) {
  return std::make_unique<NcclCommunication>(place, shared);
}
