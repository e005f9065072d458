//===- HostCommunication.cpp - Collectives of emulated devices ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Communication.h. When the stream reaches a start, the source is copied to
// the host's arena and posted as on the host target. When it reaches the wait,
// the collective is completed there and the destination copied back. All of
// this is on the compute stream, so the order between ranks is the host
// target's.
// target's.
//
//===----------------------------------------------------------------------===//

#include "Communication.h"

#include "host/HostTarget.h"

#include <cstring>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

namespace {
class HostCommunication final : public Communication {
public:
  explicit HostCommunication(const CommunicationContext &context)
      : context(context) {}

  std::string name() const override { return "shared memory"; }
  Status open(const std::vector<Operation> &) override { return TESSERA_RT_OK; }
  Status start(int32_t slot, Operation &op) override;
  Status finish(int32_t slot, Operation &op) override;
  bool canCapture() const override { return true; }
  bool countsTraffic() const override { return true; }

private:
  CommunicationContext context;
};

/// Bytes of a collective's blocks in the arena.
struct Sizes {
  int64_t source = 0, destination = 0;
};
} // namespace

/// Bytes of an operation's source and destination on this rank.
static Sizes sizesOf(const Operation &op) {
  int64_t bytes = op.header.count * dtypeSize(op.header.dtype);
  int64_t members = op.group->size();
  switch (op.kind) {
  case OpKind::AllGather:
    return {bytes, bytes * members};
  case OpKind::ReduceScatter:
    return {bytes * members, bytes};
  case OpKind::Send:
    return {bytes, 0};
  case OpKind::Recv:
    return {0, bytes};
  default:
    return {bytes, bytes};
  }
}

Status HostCommunication::start(int32_t slot, Operation &op) {
  op.stage = Stage::Matching;
  auto run = [context = context, slot, kept = op] {
    tessera_rt_context *ctx = context.ctx;
    if (ctx->memory.control->aborted.load())
      return;
    memcpy(ctx->arena() + kept.sourceOffset, context.arena + kept.sourceOffset,
           size_t(sizesOf(kept).source));
    ctx->operations[slot] = kept;
    postOperation(ctx, slot, ctx->operations[slot]);
  };
  return context.check(context.device.call(context.compute, run));
}

Status HostCommunication::finish(int32_t slot, Operation &op) {
  auto run = [context = context, slot, kept = op] {
    tessera_rt_context *ctx = context.ctx;
    if (ctx->memory.control->aborted.load() || host::finish(ctx, slot))
      return;
    memcpy(context.arena + kept.destinationOffset,
           ctx->arena() + kept.destinationOffset,
           size_t(sizesOf(kept).destination));
  };
  Status status = context.check(context.device.call(context.compute, run));
  context.ctx->operations[slot].stage = Stage::Free;
  return status;
}

std::unique_ptr<Communication> tessera::rt::cuda::createHostCommunication(
    const CommunicationContext &context) {
  return std::make_unique<HostCommunication>(context);
}

int64_t tessera::rt::cuda::receivedBytes(const Operation &op) {
  int64_t bytes = op.header.count * dtypeSize(op.header.dtype);
  int64_t members = op.group->size();
  switch (op.kind) {
  case OpKind::AllGather:
  case OpKind::ReduceScatter:
    return bytes * (members - 1);
  case OpKind::AllReduce:
    return 2 * bytes * (members - 1) / members;
  case OpKind::AllToAll:
    return bytes / members * (members - 1);
  case OpKind::Permute:
  case OpKind::Broadcast:
    return op.readsFrom >= 0 && op.readsFrom != op.group->index ? bytes : 0;
  case OpKind::Recv:
    return bytes;
  default:
    return 0;
  }
}
