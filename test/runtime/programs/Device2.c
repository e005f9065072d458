/*===-- Device2.c - A hand-written step for two devices -----------*- C -*-===*\
|*                                                                            *|
|* Part of the Tessera Project, under the Apache License v2.0 with LLVM       *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
/*
 * On the mesh dp=2: w [64], the same on both ranks, follows
 *   w' = w - (g_0 + g_1) / 4,  g_r = w * m_r,  m_r = 1 + r
 * with g_r = w times a diagonal matrix, by a matmul, and the sum by a
 * collective that overlaps with an increment of the step count. w' is stored at
 * w; the new count is stored elsewhere. loss = w[0] before the step. A step
 * whose loss is not below loss_limit changes neither.
 *
 * Compiled with EMULATED, the kernels are code for the host. Otherwise the
 * program is for devices, with an image that no device can run.
 */
#include "tessera_rt_cuda.h"

#include <stdlib.h>
#include <unistd.h>

#define N 64
#define W_OFFSET 0
#define DIAGONAL_OFFSET 256
#define G_OFFSET 512
#define SUM_OFFSET 768
#define STEP_OFFSET 1024
#define NEW_STEP_OFFSET 1088
#define LOSS_OFFSET 1152
#define LIMIT_OFFSET 1344
#define SKIPPED_OFFSET 1408

#define SCALAR(name, offset)                                                   \
  "{\"name\": \"" name "\", \"dtype\": \"f32\", \"shape\": [],"                \
  " \"offset\": " offset ", \"bytes\": 4"
#define VECTOR                                                                 \
  "{\"name\": \"w\", \"dtype\": \"f32\", \"shape\": [64], \"offset\": 0,"      \
  " \"bytes\": 256"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

/* clang-format off */
const char tessera_program_manifest[] =
    "{\"version\": " TEXT(TESSERA_RT_ABI_VERSION) ", \"program\": \"device2\", \"hash\": \"00\","
    "\"target\": \"cuda\", \"ranks\": 2,"
    "\"mesh\": [{\"name\": \"dp\", \"size\": 2}], \"arena_bytes\": 2048,"
    "\"plan\": [\"mesh dp=2\"],"
    "\"arguments\": ["
    "{\"name\": \"tokens\", \"role\": \"tokens\", \"dtype\": \"i32\","
    " \"shape\": [2, 8], \"local_shape\": [1, 8], \"offset\": 1280,"
    " \"sharding\": [[{\"stride\": 1, \"size\": 2}], []],"
    " \"bytes\": 32, \"vocab\": 128},"
    VECTOR ", \"role\": \"param\", \"donate\": 0,"
    " \"init\": {\"kind\": \"uniform\", \"low\": 1, \"high\": 2}},"
    SCALAR("step", "1024") ", \"role\": \"state\", \"donate\": 1,"
    " \"init\": {\"kind\": \"zeros\"}},"
    SCALAR("loss_limit", "1344") ", \"role\": \"control\"}],"
    "\"results\": [" VECTOR "}," SCALAR("step", "1088") "},"
    SCALAR("loss", "1152") "}," SCALAR("skipped", "1408") "}]}";
/* clang-format on */

/* 0: diagonal[0] = 1 + rank. */
static void setDiagonal(const int64_t *args) {
  if (tessera_emu_thread_id() == 0)
    *(float *)args[0] = (float)(1 + args[1]);
}

static float *at(const int64_t *args, int64_t offset) {
  return (float *)(args[0] + offset);
}

/* 1: loss = w[0]; new step = step + 1, unless the step is skipped. */
static void count(const int64_t *args) {
  if (tessera_emu_thread_id() != 0)
    return;
  float loss = *at(args, W_OFFSET);
  int isSkipped = !(loss < *at(args, LIMIT_OFFSET));
  *at(args, LOSS_OFFSET) = loss;
  *at(args, SKIPPED_OFFSET) = (float)isSkipped;
  *at(args, NEW_STEP_OFFSET) = *at(args, STEP_OFFSET) + (float)!isSkipped;
}

/* 2: w -= sum / 4, by blocks of 32 threads, unless the step is skipped. */
static void update(const int64_t *args) {
  int64_t i = tessera_emu_block_id() * tessera_emu_block_dim() +
              tessera_emu_thread_id();
  if (*at(args, SKIPPED_OFFSET) == 0)
    at(args, W_OFFSET)[i] -= at(args, SUM_OFFSET)[i] / 4;
}

#ifdef EMULATED
static const tessera_rt_emulated_fn kernels[] = {setDiagonal, count, update};
const tessera_rt_emulated_fn *const tessera_program_emulated_kernels = kernels;
#else
const tessera_rt_emulated_fn *const tessera_program_emulated_kernels = 0;
tessera_rt_emulated_fn unused[] = {setDiagonal, count, update};
#endif
const tessera_rt_device_image tessera_program_images[] = {{80, 0, "image", 5}};
const int32_t tessera_program_num_images = 1;
const char *const tessera_program_kernels[] = {"diagonal", "count", "update"};
const int32_t tessera_program_num_kernels = 3;

/* Launches a kernel on an address and a number. */
static int32_t launch(tessera_rt_context *ctx, int32_t kernel, int64_t grid,
                      int64_t address, int64_t number) {
  int64_t args[2] = {address, number};
  return tessera_rt_launch_device(ctx, kernel, args, 2, grid, 32, 0);
}

static int32_t step(tessera_rt_context *ctx) {
  /* A descriptor, followed by its axes: dp. */
  static const struct {
    tessera_rt_collective desc;
    int64_t axes[2];
  } reduce = {{.kind = TESSERA_RT_ALL_REDUCE,
               .dtype = TESSERA_RT_F32,
               .reduction = TESSERA_RT_SUM,
               .count = N,
               .num_axes = 1},
              {1, 2}};
  /* [64, 1] = [64, 1] [1, 1] */
  static const tessera_rt_matmul_desc matmul = {
      TESSERA_RT_F32, TESSERA_RT_F32, 1, N, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0};
  uint8_t *arena = tessera_rt_arena(ctx);
  int64_t base = (int64_t)arena, rank = tessera_rt_rank(ctx);
  int32_t status;
  const char *slow = getenv("DEVICE2_SLOW");
  if (slow && atoi(slow) == rank)
    sleep(30);
  if ((status = launch(ctx, 0, 1, base + DIAGONAL_OFFSET, rank)) ||
      (status = tessera_rt_matmul(ctx, &matmul, arena + W_OFFSET,
                                  arena + DIAGONAL_OFFSET, arena + G_OFFSET, 0,
                                  0)) ||
      (status =
           tessera_rt_start(ctx, 0, 1, &reduce.desc, G_OFFSET, SUM_OFFSET)) ||
      (status = launch(ctx, 1, 1, base, 0)) ||
      (status = tessera_rt_wait(ctx, 0)))
    return status;
  return launch(ctx, 2, N / 32, base, 0);
}

const tessera_rt_step_fn tessera_program_steps[] = {step};
