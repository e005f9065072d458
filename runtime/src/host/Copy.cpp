//===- Copy.cpp - Strided copies and fills --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tessera_rt_copy and tessera_rt_fill. Dimensions are merged if both sides
// allow it, so that most copies become a few long memcpy; transposes use a
// blocked loop.
//
//===----------------------------------------------------------------------===//

#include "HostTarget.h"

#include <algorithm>
#include <cstring>

using namespace tessera::rt;

namespace {
struct Loop {
  int64_t extent, from, to;
};
/// A normalized copy: no loops of extent 1, mergeable loops merged, and the
/// loop with the smallest destination stride innermost.
struct CopyPlan {
  Loop loops[TESSERA_RT_MAX_DIMS];
  int32_t rank = 0;
  bool empty = false;
};
} // namespace

static CopyPlan planCopy(int32_t rank, const int64_t *shape,
                         const int64_t *from, const int64_t *to) {
  CopyPlan plan;
  for (int32_t d = 0; d < rank; ++d) {
    if (shape[d] <= 0)
      plan.empty = true;
    if (shape[d] > 1)
      plan.loops[plan.rank++] = {shape[d], from[d], to[d]};
  }
  // The destination strides give the order of the loops, so writes are in
  // order.
  for (int32_t d = 1; d < plan.rank; ++d)
    for (int32_t e = d; e > 0 && plan.loops[e - 1].to < plan.loops[e].to; --e)
      std::swap(plan.loops[e - 1], plan.loops[e]);
  int32_t kept = 0;
  for (int32_t d = 0; d < plan.rank; ++d) {
    Loop loop = plan.loops[d];
    if (kept > 0) {
      Loop &previous = plan.loops[kept - 1];
      if (previous.from == loop.extent * loop.from &&
          previous.to == loop.extent * loop.to) {
        previous = {previous.extent * loop.extent, loop.from, loop.to};
        continue;
      }
    }
    plan.loops[kept++] = loop;
  }
  plan.rank = kept;
  return plan;
}

/// Copies one line of `count` elements.
template <typename T>
static void copyLine(const T *source, int64_t from, T *destination, int64_t to,
                     int64_t count) {
  if (from == 1 && to == 1) {
    memcpy(destination, source, size_t(count) * sizeof(T));
    return;
  }
  if (from == 0 && to == 1) {
    std::fill(destination, destination + count, *source);
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    destination[i * to] = source[i * from];
}

/// Runs the two innermost loops. A transpose is split into squares that fit the
/// cache.
template <typename T>
static void copyPlane(const T *source, T *destination, const Loop &outer,
                      const Loop &inner) {
  constexpr int64_t block = 32;
  if (inner.from == 1 || inner.from == 0 || inner.to != 1) {
    for (int64_t i = 0; i < outer.extent; ++i)
      copyLine(source + i * outer.from, inner.from, destination + i * outer.to,
               inner.to, inner.extent);
    return;
  }
  for (int64_t j = 0; j < inner.extent; j += block)
    for (int64_t i = 0; i < outer.extent; ++i)
      copyLine(source + i * outer.from + j * inner.from, inner.from,
               destination + i * outer.to + j * inner.to, inner.to,
               std::min(block, inner.extent - j));
}

template <typename T>
static void copyLoops(const T *source, T *destination, const Loop *loops,
                      int32_t rank) {
  if (rank == 0) {
    *destination = *source;
    return;
  }
  if (rank == 1) {
    copyLine(source, loops[0].from, destination, loops[0].to, loops[0].extent);
    return;
  }
  if (rank == 2) {
    copyPlane(source, destination, loops[0], loops[1]);
    return;
  }
  for (int64_t i = 0; i < loops[0].extent; ++i)
    copyLoops(source + i * loops[0].from, destination + i * loops[0].to,
              loops + 1, rank - 1);
}

template <typename T>
static void copyTyped(tessera_rt_context *ctx, const CopyPlan &plan,
                      const void *sourceBytes, void *destinationBytes) {
  const T *source = static_cast<const T *>(sourceBytes);
  T *destination = static_cast<T *>(destinationBytes);
  int64_t total = int64_t(sizeof(T));
  int32_t widest = 0;
  for (int32_t d = 0; d < plan.rank; ++d) {
    total *= plan.loops[d].extent;
    if (plan.loops[d].extent > plan.loops[widest].extent && d < 2)
      widest = d;
  }
  int64_t tasks =
      std::min<int64_t>(total / (128 << 10), int64_t(ctx->pool->size()) * 4);
  if (plan.rank == 0 || tasks <= 1 || ctx->pool->size() == 1) {
    copyLoops(source, destination, plan.loops, plan.rank);
    return;
  }
  // Split the longer of the two outermost loops.
  int64_t extent = plan.loops[widest].extent;
  ctx->pool->forEach(tasks, [&](int64_t task, int) {
    int64_t begin = extent * task / tasks, end = extent * (task + 1) / tasks;
    if (begin == end)
      return;
    CopyPlan chunk = plan;
    chunk.loops[widest].extent = end - begin;
    copyLoops(source + begin * plan.loops[widest].from,
              destination + begin * plan.loops[widest].to, chunk.loops,
              chunk.rank);
  });
}

void tessera::rt::copyStrided(tessera_rt_context *ctx, int64_t elementSize,
                              int32_t rank, const int64_t *shape,
                              const uint8_t *source,
                              const int64_t *sourceStrides,
                              uint8_t *destination,
                              const int64_t *destinationStrides) {
  CopyPlan plan = planCopy(rank, shape, sourceStrides, destinationStrides);
  if (plan.empty)
    return;
  switch (elementSize) {
  case 1:
    return copyTyped<uint8_t>(ctx, plan, source, destination);
  case 2:
    return copyTyped<uint16_t>(ctx, plan, source, destination);
  case 4:
    return copyTyped<uint32_t>(ctx, plan, source, destination);
  default:
    return copyTyped<uint64_t>(ctx, plan, source, destination);
  }
}

static bool isElementSize(int64_t size) {
  return size == 1 || size == 2 || size == 4 || size == 8;
}

extern "C" int32_t
tessera_rt_copy(tessera_rt_context *ctx, int64_t element_size, int32_t rank,
                const int64_t *shape, int64_t src_offset,
                const int64_t *src_strides, const int64_t *src_starts,
                int64_t dst_offset, const int64_t *dst_strides,
                const int64_t *dst_starts) {
  if (!isElementSize(element_size) || rank < 0 || rank > TESSERA_RT_MAX_DIMS)
    return fail(
        ctx, TESSERA_RT_INVALID,
        format("copy expects elements of 1, 2, 4 or 8 bytes and at most "
               "%d dimensions, but got %lld and %d",
               TESSERA_RT_MAX_DIMS, (long long)element_size, rank));
  int64_t from = src_offset / element_size, to = dst_offset / element_size;
  // First and last elements touched; strides may be negative.
  int64_t fromLow = 0, fromHigh = 0, toLow = 0, toHigh = 0;
  for (int32_t d = 0; d < rank; ++d) {
    if (shape[d] <= 0)
      return TESSERA_RT_OK;
    from += src_starts ? src_starts[d] * src_strides[d] : 0;
    to += dst_starts ? dst_starts[d] * dst_strides[d] : 0;
    int64_t fromSpan = (shape[d] - 1) * src_strides[d];
    int64_t toSpan = (shape[d] - 1) * dst_strides[d];
    (fromSpan < 0 ? fromLow : fromHigh) += fromSpan;
    (toSpan < 0 ? toLow : toHigh) += toSpan;
  }
  int64_t limit = ctx->memory.control->arenaBytes / element_size;
  if (src_offset % element_size || dst_offset % element_size ||
      from + fromLow < 0 || to + toLow < 0 || from + fromHigh >= limit ||
      to + toHigh >= limit)
    return fail(ctx, TESSERA_RT_INVALID,
                format("copy expects aligned blocks within the arena of %lld "
                       "bytes, but got offsets %lld and %lld",
                       (long long)ctx->memory.control->arenaBytes,
                       (long long)src_offset, (long long)dst_offset));
  return ctx->target->copyStrided(element_size, rank, shape,
                                  from * element_size, src_strides,
                                  to * element_size, dst_strides);
}

template <typename T>
static void fillTyped(tessera_rt_context *ctx, void *destination, int64_t count,
                      int64_t bits) {
  T value = T(uint64_t(bits));
  T *begin = static_cast<T *>(destination);
  int64_t tasks = std::clamp<int64_t>(count * int64_t(sizeof(T)) / (256 << 10),
                                      1, int64_t(ctx->pool->size()) * 4);
  ctx->pool->forEach(tasks, [&](int64_t task, int) {
    std::fill(begin + count * task / tasks, begin + count * (task + 1) / tasks,
              value);
  });
}

void tessera::rt::host::fill(tessera_rt_context *ctx, int64_t elementSize,
                             void *destination, int64_t count, int64_t bits) {
  if (elementSize == 1)
    fillTyped<uint8_t>(ctx, destination, count, bits);
  else if (elementSize == 2)
    fillTyped<uint16_t>(ctx, destination, count, bits);
  else if (elementSize == 4)
    fillTyped<uint32_t>(ctx, destination, count, bits);
  else
    fillTyped<uint64_t>(ctx, destination, count, bits);
}

extern "C" int32_t tessera_rt_read_flag(tessera_rt_context *ctx, int64_t offset,
                                        int64_t *flag) {
  int64_t limit = ctx->memory.control->arenaBytes;
  if (offset < 0 || offset >= limit)
    return fail(ctx, TESSERA_RT_INVALID,
                format("read_flag expects an offset within the arena of %lld "
                       "bytes, but got %lld",
                       (long long)limit, (long long)offset));
  return ctx->target->readFlag(offset, *flag);
}

extern "C" int32_t tessera_rt_fill(tessera_rt_context *ctx,
                                   int64_t element_size, int64_t dst_offset,
                                   int64_t count, int64_t bits) {
  int64_t limit = ctx->memory.control->arenaBytes;
  if (!isElementSize(element_size) || count < 0 || dst_offset < 0 ||
      dst_offset % element_size || dst_offset > limit ||
      count > (limit - dst_offset) / element_size)
    return fail(ctx, TESSERA_RT_INVALID,
                format("fill expects an aligned block within the arena of %lld "
                       "bytes, but got %lld elements of %lld bytes at %lld",
                       (long long)limit, (long long)count,
                       (long long)element_size, (long long)dst_offset));
  return ctx->target->fill(element_size, dst_offset, count, bits);
}
