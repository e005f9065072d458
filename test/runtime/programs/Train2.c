/*===-- Train2.c - A hand-written training step for two ranks -----*- C -*-===*\
|*                                                                            *|
|* Part of the Tessera Project, under the Apache License v2.0 with LLVM       *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
/*
 * The smallest language model, on the mesh dp=2: one logit for each of 128 ids,
 * w, independent of the context. Its loss is the mean of logsumexp(w) -
 * w[label] over a batch [2, 2, 8] (micro-batches, sequences, tokens); each rank
 * has [2, 1, 8]. A step is SGD with momentum 0.5 and lr 1:
 *   m' = 0.5 m + softmax(w) - frequency of the labels,  w' = w - m'.
 * w' is stored at w, m' is not: the runtime copies it to m. `master` is a copy
 * of w that is never used. A step whose loss or gradient norm is not below its
 * limit changes nothing.
 *
 * Faults for tests: in run TRAIN2_NAN of the step the loss is NaN, in run
 * TRAIN2_BELOW it is -infinity, which is below every limit; in run
 * TRAIN2_MULTIPLY a matmul takes some memory; in run TRAIN2_KILL rank 1 is
 * killed; rank TRAIN2_SLOW takes 0.4 s longer.
 */
#include "tessera_rt.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define V 128
#define TOKENS_OFFSET 0
#define LABELS_OFFSET 64
#define W_OFFSET 128
#define M_OFFSET 640
#define NEW_M_OFFSET 1152
#define MASTER_OFFSET 1664
#define STEP_OFFSET 2176
#define LOSS_OFFSET 2240
#define NORM_OFFSET 2304
#define LR_OFFSET 2368
#define COUNTS_OFFSET 2432
#define NORM_LIMIT_OFFSET 2944
#define LOSS_LIMIT_OFFSET 3008
#define SKIPPED_OFFSET 3012

#define DATA(role, offset)                                                     \
  "{\"name\": \"" role "\", \"role\": \"" role "\", \"dtype\": \"i32\","       \
  " \"shape\": [2, 2, 8], \"local_shape\": [2, 1, 8],"                         \
  " \"sharding\": [[], [{\"stride\": 1, \"size\": 2}], []],"                   \
  " \"offset\": " offset ", \"bytes\": 64, \"vocab\": 128}"
#define VECTOR(name, offset)                                                   \
  "{\"name\": \"" name "\", \"dtype\": \"f32\", \"shape\": [128],"             \
  " \"offset\": " offset ", \"bytes\": 512"
#define SCALAR(name, offset)                                                   \
  "{\"name\": \"" name "\", \"dtype\": \"f32\", \"shape\": [],"                \
  " \"offset\": " offset ", \"bytes\": 4"
#define NORMAL "\"init\": {\"kind\": \"normal\", \"std\": 0.5}"
#define ZEROS "\"init\": {\"kind\": \"zeros\"}"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

/* clang-format off */
const char tessera_program_manifest[] =
    "{\"version\": " TEXT(TESSERA_RT_ABI_VERSION) ", \"program\": \"train2\", \"hash\": \"00\", \"ranks\": 2,"
    "\"mesh\": [{\"name\": \"dp\", \"size\": 2}], \"arena_bytes\": 3072,"
    "\"plan\": [\"mesh dp=2\"], \"memory\": {\"parameters\": 512},"
    "\"arguments\": ["
    VECTOR("w", "128") ", \"role\": \"param\", \"donate\": 0, " NORMAL "},"
    VECTOR("w.m", "640") ", \"role\": \"state\", \"donate\": 1, " ZEROS "},"
    VECTOR("w.master", "1664") ", \"role\": \"state\", \"of\": \"w\", " NORMAL "},"
    SCALAR("step", "2176") ", \"role\": \"state\", \"donate\": 2, " ZEROS "},"
    SCALAR("norm_limit", "2944") ", \"role\": \"control\"},"
    SCALAR("loss_limit", "3008") ", \"role\": \"control\"},"
    DATA("tokens", "0") "," DATA("labels", "64") "],"
    "\"results\": [" VECTOR("w", "128") "}," VECTOR("w.m", "1152") "},"
    SCALAR("step", "2176") "}," SCALAR("loss", "2240") "},"
    SCALAR("grad_norm", "2304") "}," SCALAR("lr", "2368") "},"
    SCALAR("skipped", "3012") "}]}";
/* clang-format on */

/* A descriptor, followed by its axes: dp. */
static const struct {
  tessera_rt_collective desc;
  int64_t axes[2];
} reduceDp = {{.kind = TESSERA_RT_ALL_REDUCE,
               .dtype = TESSERA_RT_F32,
               .reduction = TESSERA_RT_SUM,
               .count = V,
               .num_axes = 1},
              {1, 2}};

static int64_t number(const char *name, int64_t otherwise) {
  const char *text = getenv(name);
  return text ? atoll(text) : otherwise;
}

/* A matmul takes working memory of the library's. */
static int32_t multiply(tessera_rt_context *ctx) {
  static float a[64 * 64], c[64 * 64];
  tessera_rt_matmul_desc desc = {.dtype = TESSERA_RT_F32,
                                 .c_dtype = TESSERA_RT_F32,
                                 .batch = 1,
                                 .m = 64,
                                 .n = 64,
                                 .k = 64,
                                 .lda = 64,
                                 .ldb = 64,
                                 .ldc = 64};
  return tessera_rt_matmul(ctx, &desc, a, a, c, 0, 0);
}

static int32_t step(tessera_rt_context *ctx) {
  uint8_t *arena = tessera_rt_arena(ctx);
  float *w = (float *)(arena + W_OFFSET), *m = (float *)(arena + M_OFFSET);
  float *newM = (float *)(arena + NEW_M_OFFSET);
  float *step = (float *)(arena + STEP_OFFSET);
  /* The labels' frequencies, and then the gradient. */
  float *counts = (float *)(arena + COUNTS_OFFSET);
  const int32_t *labels = (const int32_t *)(arena + LABELS_OFFSET);
  double largest = -1e30, sum = 0, loss = 0, square = 0;
  int32_t status, isSkipped, i;
  static int64_t runs = 0;
  ++runs;
  if (number("TRAIN2_SLOW", -1) == tessera_rt_rank(ctx))
    usleep(400000);
  if (number("TRAIN2_KILL", -1) == runs && tessera_rt_rank(ctx) == 1)
    raise(SIGKILL);
  if (number("TRAIN2_MULTIPLY", -1) == runs && (status = multiply(ctx)))
    return status;
  memset(counts, 0, V * 4);
  for (i = 0; i < 16; ++i)
    counts[labels[i]] += 1;
  if ((status = tessera_rt_start(ctx, 0, 1, &reduceDp.desc, COUNTS_OFFSET,
                                 COUNTS_OFFSET)) ||
      (status = tessera_rt_wait(ctx, 0)))
    return status;
  for (i = 0; i < V; ++i)
    largest = w[i] > largest ? w[i] : largest;
  for (i = 0; i < V; ++i)
    sum += exp(w[i] - largest);
  for (i = 0; i < V; ++i)
    loss += counts[i] / 32 * (largest + log(sum) - w[i]);
  for (i = 0; i < V; ++i) {
    counts[i] = (float)(exp(w[i] - largest) / sum - counts[i] / 32);
    square += counts[i] * counts[i];
  }
  if (number("TRAIN2_NAN", -1) == runs)
    loss = NAN;
  if (number("TRAIN2_BELOW", -1) == runs)
    loss = -INFINITY;
  isSkipped = !(sqrt(square) < *(float *)(arena + NORM_LIMIT_OFFSET)) ||
              !(loss < *(float *)(arena + LOSS_LIMIT_OFFSET));
  if ((status = tessera_rt_state_fence(ctx)))
    return status;
  for (i = 0; i < V; ++i) {
    newM[i] = isSkipped ? m[i] : 0.5f * m[i] + counts[i];
    w[i] -= isSkipped ? 0 : newM[i];
  }
  *step += !isSkipped;
  *(float *)(arena + SKIPPED_OFFSET) = (float)isSkipped;
  *(float *)(arena + LOSS_OFFSET) = (float)loss;
  *(float *)(arena + NORM_OFFSET) = (float)sqrt(square);
  *(float *)(arena + LR_OFFSET) = 1;
  return 0;
}

const tessera_rt_step_fn tessera_program_steps[] = {step};
