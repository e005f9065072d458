//===- StepRunner.cpp - One run of a program's step -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepRunner.h"

#include <algorithm>

using namespace tessera::rt;

Status StepRunner::returnResults() {
  bool isFenced = false;
  for (const Value &value : manifest.arguments) {
    if (value.donate < 0 || !value.isOn(ctx->rank))
      continue;
    const Value &result = manifest.results[size_t(value.donate)];
    int64_t to = value.offsetOn(ctx->rank), from = result.offsetOn(ctx->rank);
    if (from == to)
      continue;
    // The program has no fence for state that is moved after it.
    if (!isFenced)
      if (Status status = ctx->target->stateFence())
        return status;
    isFenced = true;
    if (Status status = ctx->target->move(to, from, value.bytes))
      return status;
  }
  return TESSERA_RT_OK;
}

/// Forgets the loads that this rank counted. No other rank reads them now.
static void clearLoads(tessera_rt_context *ctx) {
  const SharedMemory &memory = ctx->memory;
  for (int64_t layer = 0; layer < memory.tables.layers; ++layer) {
    LayerLoads &loads = *memory.loads(ctx->rank, layer);
    loads = LayerLoads();
    std::fill_n(loads.uses(), memory.tables.experts, 0);
  }
}

Status StepRunner::run(int64_t step, const std::vector<ArenaBlock> &results) {
  RankBlock &block = ctx->block();
  // Rank 0 must have read the numbers of other nodes' ranks before they change.
  bool isShared = !ctx->memory.place.isAcrossNodes() ||
                  ctx->memory.tables.layers > 0 || manifest.pipeline.stages > 0;
  if (Status status = isShared ? barrier(ctx, BarrierArguments)
                               : barrierOfNode(ctx, BarrierArguments))
    return status;
  clearLoads(ctx);
  RankNumbers &numbers = block.numbers;
  numbers.stepBegan = monotonicSeconds();
  double cpu = processCpuSeconds(), waited = ctx->waitSeconds;
  if (Status status = ctx->target->step()) {
    // The runtime has recorded the reason, unless the program failed by itself.
    if (!ctx->memory.control->aborted.load())
      fail(ctx, status,
           format("step %lld failed with status %d", (long long)step, status));
    return status;
  }
  block.call.store(0);
  if (Status status = returnResults())
    return status;
  if (Status status = ctx->target->fetch(results))
    return status;
  numbers.busySeconds =
      monotonicSeconds() - numbers.stepBegan - (ctx->waitSeconds - waited);
  numbers.stepCpuSeconds = processCpuSeconds() - cpu;
  return TESSERA_RT_OK;
}
