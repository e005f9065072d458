//===- RunList.cpp - Tasks of a pipeline from a list ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler has decided everything: the memory of each task, the slot of
// each transfer, and the waits. The runtime executes the list entry by entry.
//
//===----------------------------------------------------------------------===//

#include "ranks/Context.h"

using namespace tessera::rt;

static int32_t runEntry(tessera_rt_context *ctx, const int64_t *entry,
                        const tessera_rt_task_fn *tasks, const int64_t *axes,
                        int32_t numAxes) {
  auto transfer = [&](OpKind kind) {
    CollectiveCall call{int32_t(entry[1]), entry[2], axes,    numAxes,
                        TESSERA_RT_I8,     entry[6], entry[6]};
    return startTransfer(ctx, call, kind, entry[3], entry[4], entry[5]);
  };
  switch (entry[0]) {
  case TESSERA_RT_ENTRY_RUN:
    return ctx->target->runTask(tasks[entry[1]], entry[2],
                                /*beside=*/-1, entry + TESSERA_RT_RUN_FIELDS);
  case TESSERA_RT_ENTRY_PAIR:
    return ctx->target->runTask(tasks[entry[1]], TESSERA_RT_TASK_F,
                                TESSERA_RT_TASK_BW,
                                entry + TESSERA_RT_PAIR_FIELDS);
  case TESSERA_RT_ENTRY_SEND:
    return transfer(OpKind::Send);
  case TESSERA_RT_ENTRY_RECV:
    return transfer(OpKind::Recv);
  case TESSERA_RT_ENTRY_WAIT:
    return tessera_rt_wait(ctx, int32_t(entry[1]));
  case TESSERA_RT_ENTRY_BEGIN:
    return tessera_rt_block_begin(ctx, entry[1], entry[2], int32_t(entry[3]));
  default:
    return tessera_rt_block_end(ctx, entry[1], entry[2], int32_t(entry[3]));
  }
}

/// Records the times of an entry, as far as there is room; the manifest gives
/// the number of entries.
static void stamp(tessera_rt_context *ctx, const int64_t *entry, double begin,
                  double end) {
  RankBlock &block = ctx->block();
  if (block.numbers.numStamps == ctx->memory.tables.stamps)
    return;
  Stamp s;
  s.begin = begin;
  s.end = end;
  s.kind = int32_t(entry[0]);
  switch (entry[0]) {
  case TESSERA_RT_ENTRY_RUN:
    s.function = int32_t(entry[1]);
    s.task = int32_t(entry[2]);
    s.chunk = int32_t(entry[3]);
    s.microBatch = int32_t(entry[4]);
    break;
  case TESSERA_RT_ENTRY_PAIR:
    s.kind = TESSERA_RT_ENTRY_RUN;
    s.function = int32_t(entry[1]);
    s.task = TESSERA_RT_TASK_F;
    s.chunk = int32_t(entry[2]);
    s.microBatch = int32_t(entry[3]);
    s.backwardChunk = int32_t(entry[4]);
    s.backwardMicroBatch = int32_t(entry[5]);
    break;
  case TESSERA_RT_ENTRY_SEND:
  case TESSERA_RT_ENTRY_RECV:
    s.peer = int32_t(entry[3]);
    s.tag = int32_t(entry[4]);
    [[fallthrough]];
  case TESSERA_RT_ENTRY_WAIT:
    s.slot = int32_t(entry[1]);
    break;
  default:
    return;
  }
  ctx->memory.stamps(ctx->rank)[block.numbers.numStamps++] = s;
}

extern "C" int32_t tessera_rt_run_list(tessera_rt_context *ctx,
                                       const int64_t *entries, int64_t count,
                                       const tessera_rt_task_fn *tasks,
                                       const int64_t *axes, int32_t num_axes) {
  bool isStamped =
      ctx->memory.tables.stamps > 0 && ctx->target->isSynchronous();
  RankBlock &block = ctx->block();
  block.numbers.numStamps = 0;
  // Between its tasks a rank is at the list.
  int64_t call = block.call.load();
  double begin = isStamped ? monotonicSeconds() : 0;
  for (int64_t at = 0; at < count;) {
    int64_t length = tessera_rt_entry_length(entries + at, count - at);
    if (length == 0)
      return fail(ctx, TESSERA_RT_INVALID,
                  format("expects an entry of a list at %lld of %lld, but got "
                         "kind %lld",
                         (long long)at, (long long)count,
                         (long long)entries[at]));
    if (int32_t status = runEntry(ctx, entries + at, tasks, axes, num_axes))
      return status;
    block.call.store(call, std::memory_order_relaxed);
    if (isStamped) {
      double end = monotonicSeconds();
      stamp(ctx, entries + at, begin, end);
      begin = end;
    }
    at += length;
  }
  return TESSERA_RT_OK;
}
