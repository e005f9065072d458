//===- Attention.cpp - The attention library call -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks an attention call and cuts it into tasks for the rank's threads. The
// arithmetic is in kernels/Attention.cpp.
//
//===----------------------------------------------------------------------===//

#include "Context.h"

#include "kernels/HotKernels.h"

#include <algorithm>

using namespace tessera::rt;

extern "C" int32_t tessera_rt_attention(tessera_rt_context *ctx,
                                        const tessera_rt_attention_desc *desc,
                                        const void *q, const void *k,
                                        const void *v, void *out,
                                        int64_t q_offset, int64_t k_offset) {
  const tessera_rt_attention_desc &d = *desc;
  if ((d.dtype != TESSERA_RT_F32 && d.dtype != TESSERA_RT_BF16) ||
      std::min({d.batch, d.q_len, d.kv_len, d.groups, d.per_group, d.head_dim,
                d.v_head_dim}) < 0)
    return fail(
        ctx, TESSERA_RT_INVALID,
        format("attention expects f32 or bf16 and no negative size, but "
               "got %s",
               dtypeName(int32_t(d.dtype))));
  int64_t heads = d.batch * d.groups, rows = d.q_len * d.per_group;
  if (heads == 0 || rows == 0 || d.v_head_dim == 0)
    return TESSERA_RT_OK;
  // Enough tasks for the threads to even out; but each packs its keys and
  // values anew, so no fewer than 128 rows.
  int64_t threads = ctx->pool->size();
  int64_t pieces = threads == 1 ? 1 : (threads * 4 + heads - 1) / heads;
  pieces = std::clamp<int64_t>(pieces, 1, (rows + 127) / 128);
  size_t floats = size_t(hotKernels().attentionScratch(d));
  for (ScratchBuffer &buffer : ctx->scratch.perThread)
    buffer.getFloats(floats);
  ctx->pool->forEach(heads * pieces, [&](int64_t index, int thread) {
    // With a causal mask later rows cost more: begin with them.
    int64_t piece = pieces - 1 - index / heads, head = index % heads;
    AttentionTask task{
        desc,
        q,
        k,
        v,
        out,
        q_offset,
        k_offset,
        head / d.groups,
        head % d.groups,
        rows * piece / pieces,
        rows * (piece + 1) / pieces,
        ctx->scratch.perThread[size_t(thread)].getFloats(floats)};
    hotKernels().attention(task);
  });
  return TESSERA_RT_OK;
}
