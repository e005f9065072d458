//===- ThreadsTest.cpp - Thread pool and kernel launches ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every task runs once, on any number of threads.
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include <gtest/gtest.h>

using namespace tessera::rt;

TEST(threads, every_task_runs_once) {
  for (int threads : {1, 2, 4})
    for (double spin : {0.0, 30.0}) {
      ThreadPool pool(threads, spin);
      EXPECT_EQ(pool.size(), threads);
      for (int64_t count : {0, 1, 2, 100})
        for (int round = 0; round < 200; ++round) {
          std::vector<std::atomic<int>> calls(static_cast<size_t>(count));
          pool.forEach(count, [&](int64_t task, int thread) {
            EXPECT_LT(thread, threads);
            ++calls[size_t(task)];
          });
          for (std::atomic<int> &n : calls)
            ASSERT_EQ(n.load(), 1);
        }
    }
}

static void addRange(const int64_t *args, int64_t begin, int64_t end) {
  auto *calls = reinterpret_cast<std::atomic<int> *>(args[0]);
  EXPECT_EQ(begin % args[1], 0);
  for (int64_t i = begin; i < end; ++i)
    ++calls[i];
}

TEST(threads, launch_covers_the_extent_by_grains) {
  for (int threads : {1, 3}) {
    SingleRank rank(threads, 4096);
    for (int64_t extent : {0, 1, 7, 64, 1001})
      for (int64_t grain : {1, 8, 5000}) {
        std::vector<std::atomic<int>> calls(static_cast<size_t>(extent));
        int64_t args[2] = {int64_t(calls.data()), grain};
        ASSERT_EQ(tessera_rt_launch(rank, addRange, args, 2, extent, grain), 0);
        for (std::atomic<int> &n : calls)
          ASSERT_EQ(n.load(), 1);
      }
  }
}

TEST(threads, axis_offset) {
  SingleRank rank(1, 4096);
  tessera_rt_context *ctx = rank;
  ctx->rank = 5; // of 8: coordinates 1, 0, 1
  const int64_t axes[4] = {1, 2, 4, 2}, middle[2] = {2, 2};
  EXPECT_EQ(tessera_rt_axis_offset(ctx, axes, 2, 10), 30);
  EXPECT_EQ(tessera_rt_axis_offset(ctx, middle, 1, 10), 0);
  EXPECT_EQ(tessera_rt_axis_offset(ctx, nullptr, 0, 10), 0);
  EXPECT_EQ(tessera_rt_rank(ctx), 5);
  ctx->rank = 0;
}
