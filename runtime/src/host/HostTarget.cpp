//===- HostTarget.cpp - Steps on the host's processors --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See HostTarget.h. The work is in the file of each call.
//
//===----------------------------------------------------------------------===//

#include "HostTarget.h"

#include "StateSource.h"
#include "kernels/CpuKernels.h"
#include "run/MemoryUsage.h"

#include <cstring>

using namespace tessera::rt;

Status HostTarget::launch(tessera_rt_kernel_fn fn, const int64_t *args,
                          int64_t extent, int64_t grain) {
  host::launch(ctx, fn, args, extent, grain);
  return TESSERA_RT_OK;
}

Status HostTarget::copyStrided(int64_t elementSize, int32_t rank,
                               const int64_t *shape, int64_t from,
                               const int64_t *fromStrides, int64_t to,
                               const int64_t *toStrides) {
  rt::copyStrided(ctx, elementSize, rank, shape, ctx->arena() + from,
                  fromStrides, ctx->arena() + to, toStrides);
  return TESSERA_RT_OK;
}

Status HostTarget::fill(int64_t elementSize, int64_t offset, int64_t count,
                        int64_t bits) {
  host::fill(ctx, elementSize, ctx->arena() + offset, count, bits);
  return TESSERA_RT_OK;
}

Status HostTarget::readFlag(int64_t offset, int64_t &flag) {
  flag = ctx->arena()[offset] != 0;
  return TESSERA_RT_OK;
}

Status HostTarget::stateFence() { return awaitStateReader(ctx); }

Status HostTarget::createStateSource(std::unique_ptr<StateSource> &source) {
  source = createHostStateSource(ctx->arena());
  return TESSERA_RT_OK;
}

Status HostTarget::beginBlock(const ArenaBlock &block, bool forget) {
  host::beginBlock(ctx, block, forget);
  return TESSERA_RT_OK;
}

Status HostTarget::endBlock(const ArenaBlock &block, bool forget) {
  return host::endBlock(ctx, block, forget);
}

Status HostTarget::matmul(const tessera_rt_matmul_desc &desc, const void *a,
                          const void *b, void *c, tessera_rt_kernel_fn epilogue,
                          const int64_t *epilogueArgs) {
  host::matmul(ctx, desc, a, b, c, epilogue, epilogueArgs);
  return TESSERA_RT_OK;
}

Status HostTarget::scaledMatmul(const ScaledMatmul &call) {
  host::scaledMatmul(ctx, call);
  return TESSERA_RT_OK;
}

Status HostTarget::attention(const AttentionCall &call, void *out,
                             float *logsumexp) {
  host::attention(ctx, call, out, logsumexp);
  return TESSERA_RT_OK;
}

Status HostTarget::attentionBackward(const AttentionCall &call,
                                     const void *grad, const void *out,
                                     const float *logsumexp, void *dq, void *dk,
                                     void *dv) {
  host::attentionBackward(ctx, call, grad, out, logsumexp, dq, dk, dv);
  return TESSERA_RT_OK;
}

Status HostTarget::embeddingBackward(const tessera_rt_embedding_desc &desc,
                                     const void *grad, const void *ids,
                                     void *result, int64_t offset) {
  host::embeddingBackward(ctx, desc, grad, ids, result, offset);
  return TESSERA_RT_OK;
}

Status HostTarget::start(int32_t slot, Operation &op) {
  return postOperation(ctx, slot, op);
}

Status HostTarget::finish(int32_t slot) { return host::finish(ctx, slot); }

Status HostTarget::clear(const ArenaBlock &block) {
  memset(ctx->arena() + block.offset, 0, size_t(block.bytes));
  return TESSERA_RT_OK;
}

Status HostTarget::move(int64_t to, int64_t from, int64_t bytes) {
  copyBytes(ctx, ctx->arena() + to, ctx->arena() + from, bytes);
  return TESSERA_RT_OK;
}

void HostTarget::measure(MemoryUse &use, const Manifest &manifest,
                         bool withArena) {
  measureMemory(ctx, use, manifest, withArena);
}

std::string HostTarget::limitMemory(const Manifest &manifest, int64_t bytes) {
  return rt::limitMemory(ctx, manifest, bytes);
}

std::string HostTarget::describeJson() const {
  return format("\"isa\": \"%s\"", cpuKernels().name);
}
