//===- runtime_collectives.cpp - Time of collectives ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs collectives on forked ranks and prints one JSON line per size: the
// bandwidth at which a rank receives, and as the floor the bandwidth of memcpy
// by as many processes at once on the same memory, measured in the same run.
// Usage: runtime_collectives RANKS [REPEATS]
//
//===----------------------------------------------------------------------===//

#include "Collectives.h"
#include "Ranks.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace tessera::rt;

namespace {
constexpr int64_t largest = int64_t(64) << 20;

/// Median seconds of `body`; all ranks start together.
template <typename Body>
double measure(tessera_rt_context *ctx, int repeats, Body &&body) {
  std::vector<double> times;
  for (int i = 0; i < repeats + 2; ++i) {
    barrier(ctx, BarrierStep);
    double begin = monotonicSeconds();
    body();
    barrier(ctx, BarrierStep);
    if (i >= 2)
      times.push_back(monotonicSeconds() - begin);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void report(tessera_rt_context *ctx, const char *name, int64_t bytes,
            double seconds, double received, double floorSeconds) {
  if (ctx->rank == 0)
    printf(
        "{\"name\": \"%s %lld bytes\", \"ranks\": %d, \"us\": %.1f, "
        "\"gb_per_s_received\": %.3f, \"floor_us\": %.1f, \"ratio\": %.2f}\n",
        name, (long long)bytes, ctx->ranks, seconds * 1e6,
        received / seconds * 1e-9, floorSeconds * 1e6, seconds / floorSeconds);
}
} // namespace

int main(int argc, char **argv) {
  RankSetup setup;
  setup.ranks = argc > 1 ? atoi(argv[1]) : 4;
  int repeats = argc > 2 ? atoi(argv[2]) : 10;
  setup.arenaBytes = 2 * largest;
  return runRanks(setup, [&](tessera_rt_context *ctx) -> std::string {
    const Integers all = {1, ctx->ranks};
    uint8_t *arena = ctx->arena();
    memset(arena, 0, size_t(2 * largest));
    double empty = measure(ctx, repeats * 10, [] {});
    if (ctx->rank == 0)
      printf("{\"name\": \"two barriers\", \"ranks\": %d, \"us\": %.1f}\n",
             ctx->ranks, empty * 1e6);
    for (int64_t bytes = 4096; bytes <= largest; bytes *= 16) {
      int64_t count = bytes / 4, part = count / ctx->ranks;
      double moved = double(bytes) * (ctx->ranks - 1) / ctx->ranks;
      // The floor copies as many bytes as the collective must receive.
      double copy = measure(
          ctx, repeats, [&] { memcpy(arena + largest, arena, size_t(moved)); });
      double gather = measure(ctx, repeats, [&] {
        allGather(all, TESSERA_RT_F32, 1, part).run(ctx, 0, 1, 0, largest);
      });
      report(ctx, "all_gather", bytes, gather, moved, copy);
      double scatter = measure(ctx, repeats, [&] {
        reduceScatter(all, TESSERA_RT_F32, TESSERA_RT_SUM, 1, part)
            .run(ctx, 0, 2, 0, largest);
      });
      report(ctx, "reduce_scatter", bytes, scatter, moved, copy);
      double reduce = measure(ctx, repeats, [&] {
        allReduce(all, TESSERA_RT_F32, TESSERA_RT_SUM, count)
            .run(ctx, 0, 3, 0, largest);
      });
      report(ctx, "all_reduce", bytes, reduce, 2 * moved, 2 * copy);
    }
    fflush(stdout);
    return std::string();
  });
}
