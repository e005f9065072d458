//===- Rank.cpp - Entry points about one rank -----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The small entry points: the rank's number, the address of its arena, the
// fence before state changes, and launching generated kernels.
//
//===----------------------------------------------------------------------===//

#include "host/HostTarget.h"
#include "nodes/Mirror.h"

#include <algorithm>

using namespace tessera::rt;

tessera_rt_context::tessera_rt_context() = default;
tessera_rt_context::~tessera_rt_context() = default;

extern "C" int64_t tessera_rt_rank(const tessera_rt_context *ctx) {
  return ctx->rank;
}

extern "C" uint8_t *tessera_rt_arena(tessera_rt_context *ctx) {
  return ctx->target->arena();
}

extern "C" int64_t *tessera_rt_current_call(tessera_rt_context *ctx) {
  // Generated code stores a number in one piece, as a relaxed store would.
  static_assert(sizeof(RankBlock::call) == sizeof(int64_t));
  return reinterpret_cast<int64_t *>(&ctx->block().call);
}

extern "C" int64_t tessera_rt_axis_offset(tessera_rt_context *ctx,
                                          const int64_t *axes, int32_t num_axes,
                                          int64_t local_size) {
  int64_t index = 0;
  for (int32_t i = 0; i < num_axes; ++i)
    index = index * axes[2 * i + 1] + ctx->rank / axes[2 * i] % axes[2 * i + 1];
  return index * local_size;
}

extern "C" int32_t tessera_rt_state_fence(tessera_rt_context *ctx) {
  return ctx->target->stateFence();
}

extern "C" int32_t tessera_rt_launch(tessera_rt_context *ctx,
                                     tessera_rt_kernel_fn fn,
                                     const int64_t *args, int32_t num_args,
                                     int64_t extent, int64_t grain) {
  (void)num_args;
  if (extent < 0)
    return fail(ctx, TESSERA_RT_INVALID,
                format("launch expects an extent of at least 0, but got %lld",
                       (long long)extent));
  if (extent == 0)
    return TESSERA_RT_OK;
  return ctx->target->launch(fn, args, extent, grain);
}

void tessera::rt::host::launch(tessera_rt_context *ctx, tessera_rt_kernel_fn fn,
                               const int64_t *args, int64_t extent,
                               int64_t grain) {
  grain = std::max<int64_t>(grain, 1);
  int64_t grains = (extent + grain - 1) / grain;
  // Several chunks per thread, so that a delayed thread loses little time.
  int threads = ctx->pool->size();
  int64_t chunks = threads == 1 ? 1 : std::min<int64_t>(grains, threads * 4);
  if (chunks == 1) {
    fn(args, 0, extent);
    return;
  }
  ctx->pool->forEach(chunks, [&](int64_t chunk, int) {
    int64_t begin = grains * chunk / chunks * grain;
    int64_t end = std::min(grains * (chunk + 1) / chunks * grain, extent);
    if (begin < end)
      fn(args, begin, end);
  });
}
