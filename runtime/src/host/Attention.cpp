//===- Attention.cpp - The attention library call -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks an attention call and splits it into tasks for the rank's threads. The
// arithmetic is in kernels/Attention.cpp.
//
//===----------------------------------------------------------------------===//

#include "HostTarget.h"

#include "kernels/CpuKernels.h"

#include <algorithm>

using namespace tessera::rt;

/// Checks a descriptor and records an error.
static Status check(tessera_rt_context *ctx, const tessera_rt_attention_desc &d,
                    const int32_t *starts, const float *bias) {
  if (bool(bias) != bool(d.has_bias))
    return fail(ctx, TESSERA_RT_INVALID,
                format("attention expects a bias where has_bias is 1, and none "
                       "where it is 0, but got %s and %lld",
                       bias ? "one" : "none", (long long)d.has_bias));
  if (bool(starts) != bool(d.has_starts))
    return fail(ctx, TESSERA_RT_INVALID,
                format("attention expects starts of documents where has_starts "
                       "is 1, and none where it is 0, but got %s and %lld",
                       starts ? "some" : "none", (long long)d.has_starts));
  if ((d.dtype == TESSERA_RT_F32 || d.dtype == TESSERA_RT_BF16) &&
      (d.result_dtype == d.dtype || d.result_dtype == TESSERA_RT_F32) &&
      std::min({d.batch, d.q_len, d.kv_len, d.groups, d.per_group, d.head_dim,
                d.v_head_dim, d.key_size, d.window}) >= 0 &&
      (d.window == 0 || d.causal))
    return TESSERA_RT_OK;
  return fail(ctx, TESSERA_RT_INVALID,
              format("attention expects f32 or bf16, a result of the same type "
                     "or f32, no negative size and a window only with a causal "
                     "mask, but got %s, a result of %s and window %lld",
                     dtypeName(int32_t(d.dtype)),
                     dtypeName(int32_t(d.result_dtype)), (long long)d.window));
}

void tessera::rt::host::attention(tessera_rt_context *ctx,
                                  const AttentionCall &call, void *out,
                                  float *logsumexp) {
  const tessera_rt_attention_desc &d = call.desc;
  int64_t heads = d.batch * d.groups, rows = d.q_len * d.per_group;
  // There are enough tasks to balance the threads. Each task packs its keys and
  // values again, so a task has at least 128 rows.
  int64_t threads = ctx->pool->size();
  int64_t chunks = threads == 1 ? 1 : (threads * 4 + heads - 1) / heads;
  chunks = std::clamp<int64_t>(chunks, 1, (rows + 127) / 128);
  size_t floats = size_t(cpuKernels().attentionScratch(d));
  for (ScratchBuffer &buffer : ctx->scratch.perThread)
    buffer.getFloats(floats);
  ctx->pool->forEach(heads * chunks, [&](int64_t index, int thread) {
    // Later rows run first, because they cost more with a causal mask.
    int64_t chunk = chunks - 1 - index / heads, head = index % heads;
    AttentionTask task{
        &d,
        call.q,
        call.k,
        call.v,
        out,
        logsumexp,
        call.qOffset,
        call.kOffset,
        call.starts,
        call.bias,
        head / d.groups,
        head % d.groups,
        rows * chunk / chunks,
        rows * (chunk + 1) / chunks,
        ctx->scratch.perThread[size_t(thread)].getFloats(floats)};
    cpuKernels().attention(task);
  });
}

namespace {
/// A backward call, split into tasks for the threads.
struct Backward {
  tessera_rt_context *ctx;
  /// The whole call as a task.
  AttentionBackwardTask whole;
  size_t floats;

  void run(AttentionBackwardTask task, int64_t head, int thread) const {
    task.batch = head / task.desc->groups;
    task.group = head % task.desc->groups;
    task.scratch = ctx->scratch.perThread[size_t(thread)].getFloats(floats);
    cpuKernels().attentionBackward(task);
  }

  /// Runs every head of the range [begin, end) of a task in chunks of `block`,
  /// the last ones first: with a causal mask these see the most keys.
  void inChunks(const AttentionBackwardTask &part, int64_t heads, int64_t block,
                int64_t AttentionBackwardTask::*begin,
                int64_t AttentionBackwardTask::*end) const {
    int64_t blocks = (part.*end + block - 1) / block;
    int64_t chunks =
        std::min<int64_t>(blocks, (ctx->pool->size() * 2 + heads - 1) / heads);
    ctx->pool->forEach(heads * chunks, [&](int64_t index, int thread) {
      int64_t chunk = chunks - 1 - index / heads;
      AttentionBackwardTask task = part;
      task.*begin = blocks * chunk / chunks * block;
      task.*end = std::min(blocks * (chunk + 1) / chunks * block, part.*end);
      run(task, index % heads, thread);
    });
  }
};
} // namespace

void tessera::rt::host::attentionBackward(tessera_rt_context *ctx,
                                          const AttentionCall &given,
                                          const void *grad, const void *out,
                                          const float *logsumexp, void *dq,
                                          void *dk, void *dv) {
  const tessera_rt_attention_desc &d = given.desc;
  int64_t heads = d.batch * d.groups, rows = d.q_len * d.per_group;
  Backward call{ctx,
                {&d,
                 grad,
                 given.q,
                 given.k,
                 given.v,
                 out,
                 logsumexp,
                 dq,
                 dk,
                 dv,
                 given.qOffset,
                 given.kOffset,
                 given.starts,
                 given.bias,
                 0,
                 0,
                 0,
                 rows,
                 0,
                 d.kv_len,
                 nullptr},
                size_t(cpuKernels().attentionBackwardScratch(d))};
  for (ScratchBuffer &buffer : ctx->scratch.perThread)
    buffer.getFloats(call.floats);
  if (heads >= ctx->pool->size()) {
    ctx->pool->forEach(heads, [&](int64_t head, int thread) {
      call.run(call.whole, head, thread);
    });
    return;
  }
  // If there are few heads, dk and dv are split by keys, then dq by rows. The
  // weights are computed twice, but every sum adds the same terms in the same
  // order.
  AttentionBackwardTask ofKeys = call.whole, ofRows = call.whole;
  ofKeys.dq = nullptr;
  ofRows.dk = ofRows.dv = nullptr;
  AttentionBackwardBlock block = cpuKernels().attentionBackwardBlock;
  call.inChunks(ofKeys, heads, block.keys, &AttentionBackwardTask::keyBegin,
                &AttentionBackwardTask::keyEnd);
  call.inChunks(ofRows, heads, block.rows, &AttentionBackwardTask::queryBegin,
                &AttentionBackwardTask::queryEnd);
}

extern "C" int32_t tessera_rt_attention(tessera_rt_context *ctx,
                                        const tessera_rt_attention_desc *desc,
                                        const int32_t *starts,
                                        const float *bias, const void *q,
                                        const void *k, const void *v, void *out,
                                        float *logsumexp, int64_t q_offset,
                                        int64_t k_offset) {
  const tessera_rt_attention_desc &d = *desc;
  if (Status status = check(ctx, d, starts, bias))
    return status;
  if (std::min({d.batch, d.groups, d.q_len, d.per_group, d.v_head_dim}) == 0)
    return TESSERA_RT_OK;
  return ctx->target->attention({d, q, k, v, q_offset, k_offset, starts, bias},
                                out, logsumexp);
}

extern "C" int32_t tessera_rt_attention_backward(
    tessera_rt_context *ctx, const tessera_rt_attention_desc *desc,
    const int32_t *starts, const float *bias, const void *grad, const void *q,
    const void *k, const void *v, const void *out, const float *logsumexp,
    void *dq, void *dk, void *dv, int64_t q_offset, int64_t k_offset) {
  const tessera_rt_attention_desc &d = *desc;
  if (Status status = check(ctx, d, starts, bias))
    return status;
  if (std::min({d.batch, d.groups, d.q_len, d.per_group, d.kv_len}) == 0)
    return fail(ctx, TESSERA_RT_INVALID,
                "attention backward expects queries and keys");
  return ctx->target->attentionBackward(
      {d, q, k, v, q_offset, k_offset, starts, bias}, grad, out, logsumexp, dq,
      dk, dv);
}
