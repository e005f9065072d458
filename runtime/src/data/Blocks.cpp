//===- Blocks.cpp - Watching the blocks of an arena -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Supports programs compiled to watch their memory. A write beyond a block
// changes the bytes after it. A read of memory that was never written, or whose
// block has ended, gives a NaN.
//
//===----------------------------------------------------------------------===//

#include "host/HostTarget.h"

#include <algorithm>
#include <cstring>

using namespace tessera::rt;

void tessera::rt::host::beginBlock(tessera_rt_context *ctx,
                                   const ArenaBlock &block, bool forget) {
  uint8_t *begin = ctx->arena() + block.offset;
  memset(begin + block.bytes, TESSERA_RT_CANARY, TESSERA_RT_CANARY_BYTES);
  if (forget)
    memset(begin, 0xFF, size_t(block.bytes));
}

Status tessera::rt::host::endBlock(tessera_rt_context *ctx,
                                   const ArenaBlock &block, bool forget) {
  uint8_t *begin = ctx->arena() + block.offset, *guard = begin + block.bytes;
  uint8_t *changed =
      std::find_if(guard, guard + TESSERA_RT_CANARY_BYTES,
                   [](uint8_t x) { return x != TESSERA_RT_CANARY; });
  if (changed != guard + TESSERA_RT_CANARY_BYTES)
    return fail(ctx, TESSERA_RT_INVALID,
                format("memory after the block of %lld bytes at offset %lld "
                       "was written, at byte %lld of it",
                       (long long)block.bytes, (long long)block.offset,
                       (long long)(changed - begin)));
  if (forget)
    memset(begin, 0xFF, size_t(block.bytes));
  return TESSERA_RT_OK;
}

extern "C" int32_t tessera_rt_block_begin(tessera_rt_context *ctx,
                                          int64_t offset, int64_t bytes,
                                          int32_t forget) {
  return ctx->target->beginBlock({offset, bytes}, forget);
}

extern "C" int32_t tessera_rt_block_end(tessera_rt_context *ctx, int64_t offset,
                                        int64_t bytes, int32_t forget) {
  return ctx->target->endBlock({offset, bytes}, forget);
}
