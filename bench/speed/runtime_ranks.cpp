//===- runtime_ranks.cpp - CPU time of several ranks against one ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the matmuls of a few transformer layers, tensor-parallel over N ranks
// with two all_reduce per layer. Prints one JSON line per number of ranks: wall
// and CPU time of all ranks together, and the CPU time relative to one rank's
// (the floor) in the same run. Usage: runtime_ranks [LAYERS] [REPEATS]
//
//===----------------------------------------------------------------------===//

#include "Collectives.h"
#include "Ranks.h"

#include <algorithm>
#include <cstdlib>

using namespace tessera::rt;

namespace {
constexpr int64_t tokens = 1024, width = 768, hidden = 3072;
constexpr int64_t x = 0, w1 = x + tokens * width, w2 = w1 + width * hidden,
                  h = w2 + hidden * width, partial = h + tokens * hidden,
                  total = partial + tokens * width,
                  end = total + tokens * width;

int32_t multiply(tessera_rt_context *ctx, int64_t m, int64_t n, int64_t k,
                 int64_t a, int64_t b, int64_t c) {
  float *arena = reinterpret_cast<float *>(ctx->arena());
  tessera_rt_matmul_desc d = {};
  d.batch = 1;
  d.m = m;
  d.n = d.ldb = d.ldc = n;
  d.k = d.lda = k;
  return tessera_rt_matmul(ctx, &d, arena + a, arena + b, arena + c, nullptr,
                           nullptr);
}

/// Both halves of a layer have the same form: a column-parallel matmul, a
/// row-parallel matmul, all_reduce.
std::string runLayers(tessera_rt_context *ctx, int layers) {
  Collective reduce = allReduce({1, ctx->ranks}, TESSERA_RT_F32, TESSERA_RT_SUM,
                                tokens * width);
  for (int layer = 0; layer < 2 * layers; ++layer) {
    int64_t part = hidden / ctx->ranks;
    if (multiply(ctx, tokens, part, width, x, w1, h) ||
        multiply(ctx, tokens, width, part, h, w2, partial) ||
        reduce.run(ctx, 0, 1, partial * 4, total * 4))
      return "failed";
  }
  return std::string();
}
} // namespace

int main(int argc, char **argv) {
  int layers = argc > 1 ? atoi(argv[1]) : 12;
  int repeats = argc > 2 ? atoi(argv[2]) : 5;
  double floorSeconds = 0;
  for (int ranks : {1, 2, 4}) {
    // The ranks return their results through a pipe.
    int ends[2];
    if (pipe(ends) != 0)
      return 1;
    RankSetup setup;
    setup.ranks = ranks;
    setup.arenaBytes = end * 4;
    int status = runRanks(setup, [&](tessera_rt_context *ctx) -> std::string {
      double best[2] = {1e9, 1e9};
      std::string error = runLayers(ctx, 1);
      for (int i = 0; i < repeats && error.empty(); ++i) {
        barrier(ctx, BarrierStep);
        double wall = monotonicSeconds(), cpu = processCpuSeconds();
        error = runLayers(ctx, layers);
        barrier(ctx, BarrierStep);
        best[0] = std::min(best[0], monotonicSeconds() - wall);
        best[1] = std::min(best[1], processCpuSeconds() - cpu);
      }
      if (write(ends[1], best, sizeof(best)) != sizeof(best))
        return "cannot write";
      return error;
    });
    double wall = 0, cpu = 0, times[2];
    for (int rank = 0; rank < ranks && status == 0; ++rank) {
      if (read(ends[0], times, sizeof(times)) != sizeof(times))
        return 1;
      wall = std::max(wall, times[0]);
      cpu += times[1];
    }
    close(ends[0]);
    close(ends[1]);
    if (status != 0)
      return status;
    floorSeconds = ranks == 1 ? cpu : floorSeconds;
    printf("{\"name\": \"%d layers, tensor-parallel\", \"ranks\": %d, "
           "\"wall_ms\": %.1f, \"cpu_ms\": %.1f, \"cpu_floor_ms\": %.1f, "
           "\"ratio\": %.3f}\n",
           layers, ranks, wall * 1e3, cpu * 1e3, floorSeconds * 1e3,
           cpu / floorSeconds);
    fflush(stdout);
  }
  return 0;
}
