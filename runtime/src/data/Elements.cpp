//===- Elements.cpp - Elements of whole values ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Elements.h"

#include "ShardRuns.h"

#include <algorithm>
#include <cstring>

using namespace tessera::rt;

/// Calls copy(block, elements, bytes) for each run of the block that meets the
/// range: the run's place in the block, its offset in the range, its bytes.
template <typename Copy>
static void forEachCommonRun(tessera_rt_context *ctx, const Value &value,
                             const ElementRange &range, Copy &&copy) {
  if (!value.isOn(ctx->rank))
    return;
  ShardRuns runs(value, ctx->rank);
  uint8_t *block = ctx->arena() + value.offsetOn(ctx->rank);
  int64_t size = dtypeSize(value.dtype);
  ctx->pool->forEach(runs.size(), [&](int64_t index, int) {
    ShardRuns::Run run = runs[index];
    int64_t begin = std::max(run.global, range.first);
    int64_t end = std::min(run.global + run.length, range.first + range.count);
    if (begin < end)
      copy(block + (run.local + begin - run.global) * size,
           (begin - range.first) * size, size_t((end - begin) * size));
  });
}

void tessera::rt::copyToBlock(tessera_rt_context *ctx, const Value &value,
                              const ElementRange &range,
                              const uint8_t *elements) {
  forEachCommonRun(ctx, value, range,
                   [&](uint8_t *block, int64_t offset, size_t bytes) {
                     memcpy(block, elements + offset, bytes);
                   });
}

void tessera::rt::copyFromBlock(tessera_rt_context *ctx, const Value &value,
                                const ElementRange &range, uint8_t *elements) {
  forEachCommonRun(ctx, value, range,
                   [&](uint8_t *block, int64_t offset, size_t bytes) {
                     memcpy(elements + offset, block, bytes);
                   });
}
