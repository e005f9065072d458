//===- RunList.cpp - Tasks of a pipeline, by a list -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler has decided everything: which memory a task has, which slot a
// transfer, and when to wait. What is left is to do it, entry by entry.
//
//===----------------------------------------------------------------------===//

#include "Context.h"

using namespace tessera::rt;

static int32_t runEntry(tessera_rt_context *ctx, const int64_t *entry,
                        const tessera_rt_task_fn *tasks, const int64_t *axes,
                        int32_t numAxes) {
  auto transfer = [&](auto *start) {
    return start(ctx, int32_t(entry[1]), entry[2], axes, numAxes, TESSERA_RT_I8,
                 entry[3], entry[4], entry[5], entry[6]);
  };
  switch (entry[0]) {
  case TESSERA_RT_ENTRY_RUN:
    return tasks[entry[1]](ctx, entry + TESSERA_RT_RUN_FIELDS);
  case TESSERA_RT_ENTRY_SEND:
    return transfer(tessera_rt_send_start);
  case TESSERA_RT_ENTRY_RECV:
    return transfer(tessera_rt_recv_start);
  case TESSERA_RT_ENTRY_WAIT:
    return tessera_rt_wait(ctx, int32_t(entry[1]));
  case TESSERA_RT_ENTRY_BEGIN:
    return tessera_rt_block_begin(ctx, entry[1], entry[2], int32_t(entry[3]));
  default:
    return tessera_rt_block_end(ctx, entry[1], entry[2], int32_t(entry[3]));
  }
}

extern "C" int32_t tessera_rt_run_list(tessera_rt_context *ctx,
                                       const int64_t *entries, int64_t count,
                                       const tessera_rt_task_fn *tasks,
                                       const int64_t *axes, int32_t num_axes) {
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
    at += length;
  }
  return TESSERA_RT_OK;
}
