//===- nodes.cpp - Time of collectives between nodes ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the ranks of one node for nodes.py, and prints on rank 0 a JSON line per
// collective: microseconds of one, of many that follow each other.
// Usage: nodes NODE NODES RANKS_PER_NODE FOLDER
//
//===----------------------------------------------------------------------===//

#include "Collectives.h"
#include "Ranks.h"

#include <cstdlib>
#include <cstring>

using namespace tessera::rt;

namespace {
constexpr int64_t largest = int64_t(64) << 20;

/// Microseconds of one of `count` runs of `body`.
template <typename Body>
double measure(tessera_rt_context *ctx, int count, Body &&body) {
  body();
  barrier(ctx, BarrierStep);
  double begin = monotonicSeconds();
  for (int i = 0; i < count; ++i)
    body();
  return (monotonicSeconds() - begin) / count * 1e6;
}

std::string run(tessera_rt_context *ctx) {
  const Integers all = {1, ctx->ranks};
  memset(ctx->arena(), 0, size_t(2 * largest));
  auto report = [&](const char *name, int64_t bytes, double us) {
    if (ctx->rank == 0)
      printf("{\"name\": \"%s\", \"bytes\": %lld, \"us\": %.1f}\n", name,
             (long long)bytes, us);
  };
  for (int64_t bytes : {int64_t(8), largest}) {
    int repeats = bytes == largest ? 3 : 300;
    report("all_reduce", bytes, measure(ctx, repeats, [&] {
             allReduce(all, TESSERA_RT_F32, TESSERA_RT_SUM, bytes / 4)
                 .run(ctx, 0, 1, 0, largest);
           }));
    report("all_gather", bytes, measure(ctx, repeats, [&] {
             allGather(all, TESSERA_RT_F32, 1,
                       std::max<int64_t>(1, bytes / 4 / ctx->ranks))
                 .run(ctx, 0, 2, 0, largest);
           }));
  }
  report("barrier", 0, measure(ctx, 300, [&] { barrier(ctx, BarrierStep); }));
  fflush(stdout);
  return std::string();
}
} // namespace

int main(int argc, char **argv) {
  if (argc != 5) {
    fprintf(stderr, "usage: nodes NODE NODES RANKS_PER_NODE FOLDER\n");
    return 1;
  }
  Placement place{atoi(argv[1]), atoi(argv[2]), atoi(argv[3])};
  Manifest manifest;
  manifest.program = "bench";
  manifest.ranks = place.ranks();
  manifest.arenaBytes = 2 * largest;
  manifest.mesh = {{"x", place.ranks()}};
  Options options;
  options.threads = 1;
  options.rendezvous = argv[4];
  const RankFunction body = run;
  currentFunction() = &body;
  return launchRanks(manifest, options, runCurrent, place, "bench");
}
