/*===-- Mesh4.c - A hand-written program for four ranks -----------*- C -*-===*\
|*                                                                            *|
|* Part of the Tessera Project, under the Apache License v2.0 with LLVM       *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
/*
 * A hand-written version of generated code, on the mesh dp=2, tp=2:
 *   w      f32[5,6], dim 0 padded to 6 and sharded over dp, dim 1 over tp
 *   tokens i32[4,8], dim 0 sharded over dp
 *   #1 all_gather over tp:  local [3,3] -> [3,6] (concatenated along dim 1)
 *   #2 all_gather over dp:  [3,6] -> [6,6], the whole of w
 *   #3 all_reduce over dp,tp of the local sums of tokens
 * It says which of these, and of the rest, it is at.
 * Results: whole f32[5,6] replicated, blocks f32[5,6] sharded like w, and
 * sum i32[1].
 */
#include "tessera_rt.h"

#define W_OFFSET 0
#define TOKENS_OFFSET 64
#define ROWS_OFFSET 256
#define WHOLE_OFFSET 512
#define SUM_OFFSET 704
#define TOTAL_OFFSET 768
#define BLOCK_OFFSET 832

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

/* clang-format off */
const char tessera_program_manifest[] =
    "{\"version\": " TEXT(TESSERA_RT_ABI_VERSION) ", \"program\": \"mesh4\", \"hash\": \"00\", \"ranks\": 4,"
    "\"mesh\": [{\"name\": \"dp\", \"size\": 2}, {\"name\": \"tp\", \"size\": 2}],"
    "\"arena_bytes\": 1024, \"plan\": [\"dp=2, tp=2\"],"
    "\"arguments\": ["
    "{\"name\": \"w\", \"role\": \"param\", \"dtype\": \"f32\","
    " \"shape\": [5, 6], \"padded_shape\": [6, 6], \"local_shape\": [3, 3],"
    " \"sharding\": [[{\"stride\": 2, \"size\": 2}], [{\"stride\": 1, \"size\": 2}]],"
    " \"offset\": 0, \"bytes\": 36, \"init\": {\"kind\": \"normal\", \"std\": 0.5}},"
    "{\"name\": \"tokens\", \"role\": \"tokens\", \"dtype\": \"i32\","
    " \"shape\": [4, 8], \"local_shape\": [2, 8],"
    " \"sharding\": [[{\"stride\": 2, \"size\": 2}], []],"
    " \"offset\": 64, \"bytes\": 64}],"
    "\"results\": ["
    "{\"name\": \"whole\", \"dtype\": \"f32\", \"shape\": [5, 6],"
    " \"padded_shape\": [6, 6], \"local_shape\": [6, 6],"
    " \"offset\": 512, \"bytes\": 144},"
    "{\"name\": \"blocks\", \"dtype\": \"f32\", \"shape\": [5, 6],"
    " \"padded_shape\": [6, 6], \"local_shape\": [3, 3],"
    " \"sharding\": [[{\"stride\": 2, \"size\": 2}], [{\"stride\": 1, \"size\": 2}]],"
    " \"offset\": 832, \"bytes\": 36},"
    "{\"name\": \"sum\", \"dtype\": \"i32\", \"shape\": [1],"
    " \"offset\": 768, \"bytes\": 4}]}";
/* clang-format on */

/* Descriptors, each followed by its axes. */
static const struct {
  tessera_rt_collective desc;
  int64_t axes[2];
} gatherTp = {{.kind = TESSERA_RT_ALL_GATHER,
               .dtype = TESSERA_RT_F32,
               .outer = 3,
               .count = 3,
               .num_axes = 1},
              {1, 2}},
  gatherDp = {{.kind = TESSERA_RT_ALL_GATHER,
               .dtype = TESSERA_RT_F32,
               .outer = 1,
               .count = 18,
               .num_axes = 1},
              {2, 2}};
static const struct {
  tessera_rt_collective desc;
  int64_t axes[4];
} reduceAll = {{.kind = TESSERA_RT_ALL_REDUCE,
                .dtype = TESSERA_RT_I32,
                .reduction = TESSERA_RT_SUM,
                .count = 1,
                .num_axes = 2},
               {2, 2, 1, 2}};

const int32_t tessera_program_calls[] = {3, 0, 13, 26};
const char tessera_program_call_texts[] =
    "all_gather w\0all_gather 2\0the rest";

/* args: source, destination. */
static void sumTokens(const int64_t *args, int64_t begin, int64_t end) {
  const int32_t *tokens = (const int32_t *)args[0];
  int32_t *sum = (int32_t *)args[1];
  int32_t total = 0;
  int64_t i;
  for (i = begin; i < end; ++i)
    total += tokens[i];
  *sum = total;
}

static int32_t step(tessera_rt_context *ctx) {
  uint8_t *arena = tessera_rt_arena(ctx);
  int64_t args[2] = {(int64_t)(arena + TOKENS_OFFSET),
                     (int64_t)(arena + SUM_OFFSET)};
  int64_t shape[1] = {9}, stride[1] = {1};
  int64_t *call = tessera_rt_current_call(ctx);
  int32_t status;
  *call = 1;
  if ((status = tessera_rt_start(ctx, 0, 1, &gatherTp.desc, W_OFFSET,
                                 ROWS_OFFSET)) ||
      (status = tessera_rt_wait(ctx, 0)))
    return status;
  *call = 2;
  if ((status = tessera_rt_start(ctx, 0, 2, &gatherDp.desc, ROWS_OFFSET,
                                 WHOLE_OFFSET)))
    return status;
  *call = 3;
  /* One chunk: the kernel adds up over its range. */
  if ((status = tessera_rt_launch(ctx, sumTokens, args, 2, 16, 16)))
    return status;
  if ((status = tessera_rt_start(ctx, 1, 3, &reduceAll.desc, SUM_OFFSET,
                                 TOTAL_OFFSET)))
    return status;
  if ((status = tessera_rt_copy(ctx, 4, 1, shape, W_OFFSET, stride, 0,
                                BLOCK_OFFSET, stride, 0)))
    return status;
  if ((status = tessera_rt_wait(ctx, 1)))
    return status;
  return tessera_rt_wait(ctx, 0);
}

const tessera_rt_step_fn tessera_program_steps[] = {step};
