//===- RunListTest.cpp - Tasks, sends and receives of a list --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace tessera::rt;

namespace {

constexpr int64_t count = 6;

int64_t *at(tessera_rt_context *ctx, int64_t offset) {
  return reinterpret_cast<int64_t *>(ctx->arena() + offset);
}

/// Writes ten times the number of the micro-batch, which the table at base 1
/// contains, to base 0.
int32_t multiply(tessera_rt_context *ctx, const int64_t *bases) {
  *at(ctx, bases[0]) = 10 * *at(ctx, bases[1]);
  return TESSERA_RT_OK;
}

/// Appends base 0 to the number at base 1, as digits.
int32_t append(tessera_rt_context *ctx, const int64_t *bases) {
  *at(ctx, bases[1]) = 100 * *at(ctx, bases[1]) + *at(ctx, bases[0]);
  return TESSERA_RT_OK;
}

int32_t failing(tessera_rt_context *, const int64_t *) {
  return TESSERA_RT_SYSTEM;
}

void add(std::vector<int64_t> &list, std::initializer_list<int64_t> entry) {
  list.insert(list.end(), entry);
}

/// Two buffers: a send waits for the one two sends before it.
std::vector<int64_t> senderList() {
  std::vector<int64_t> list;
  for (int64_t m = 0; m < count; ++m) {
    int64_t slot = 10 + m % 2, buffer = 64 * slot;
    if (m >= 2)
      add(list, {TESSERA_RT_ENTRY_WAIT, slot});
    add(list, {TESSERA_RT_ENTRY_RUN, 0, TESSERA_RT_TASK_F, 0, m, 2, buffer,
               4096 + 8 * m});
    add(list, {TESSERA_RT_ENTRY_SEND, slot, m, 1, 0, 8, buffer});
  }
  add(list, {TESSERA_RT_ENTRY_WAIT, 10, TESSERA_RT_ENTRY_WAIT, 11});
  return list;
}

/// Each receive is posted one micro-batch ahead.
std::vector<int64_t> receiverList() {
  std::vector<int64_t> list;
  auto post = [&](int64_t m) {
    int64_t slot = 20 + m % 2;
    add(list, {TESSERA_RT_ENTRY_RECV, slot, m, 0, 0, 8, 64 * slot});
  };
  post(0);
  for (int64_t m = 0; m < count; ++m) {
    if (m + 1 < count)
      post(m + 1);
    int64_t slot = 20 + m % 2;
    add(list, {TESSERA_RT_ENTRY_WAIT, slot});
    add(list,
        {TESSERA_RT_ENTRY_RUN, 1, TESSERA_RT_TASK_F, 0, m, 2, 64 * slot, 0});
  }
  return list;
}

} // namespace

TEST(run_list, a_pipeline_of_two_ranks) {
  const int64_t all[2] = {1, 2};
  const tessera_rt_task_fn tasks[] = {multiply, append};
  RankSetup setup;
  setup.ranks = 2;
  EXPECT_EQ(runRanks(setup,
                     [&](tessera_rt_context *ctx) -> std::string {
                       for (int64_t m = 0; m < count; ++m)
                         *at(ctx, 4096 + 8 * m) = m + 1;
                       std::vector<int64_t> list =
                           ctx->rank == 0 ? senderList() : receiverList();
                       if (tessera_rt_run_list(ctx, list.data(),
                                               int64_t(list.size()), tasks, all,
                                               1))
                         return "the list fails";
                       if (ctx->rank == 1 && *at(ctx, 0) != 102030405060)
                         return format("got %lld", (long long)*at(ctx, 0));
                       return std::string();
                     }),
            0);
}

/// Runs the two lists; rank 1 returns an error in its stamps.
static int
runStamped(int64_t entries,
           const std::function<std::string(const Stamp *, int64_t)> &check) {
  const int64_t all[2] = {1, 2};
  const tessera_rt_task_fn tasks[] = {multiply, append};
  RankSetup setup;
  setup.ranks = 2;
  setup.entries = entries;
  return runRanks(setup, [&](tessera_rt_context *ctx) -> std::string {
    std::vector<int64_t> list = ctx->rank == 0 ? senderList() : receiverList();
    // The second run checks that only the last list's stamps are kept.
    for (int run = 0; run < 2; ++run)
      if (tessera_rt_run_list(ctx, list.data(), int64_t(list.size()), tasks,
                              all, 1))
        return "the list fails";
    if (ctx->rank == 0)
      return std::string();
    return check(ctx->memory.stamps(1), ctx->block().numbers.numStamps);
  });
}

TEST(run_list, entries_are_stamped) {
  double before = monotonicSeconds();
  auto check = [&](const Stamp *stamps, int64_t size) -> std::string {
    // Each micro-batch has a receive, a wait and a task.
    if (size != 3 * count)
      return format("got %lld stamps", (long long)size);
    int64_t microBatch = 0;
    for (int64_t i = 0; i < size; ++i) {
      const Stamp &s = stamps[i];
      if (s.begin < before || s.end < s.begin ||
          (i > 0 && s.begin < stamps[i - 1].end))
        return format("stamp %lld is out of order", (long long)i);
      if (s.kind == TESSERA_RT_ENTRY_RUN &&
          (s.function != 1 || s.task != TESSERA_RT_TASK_F ||
           s.microBatch != microBatch++))
        return format("stamp %lld is of another task", (long long)i);
    }
    if (stamps[0].kind != TESSERA_RT_ENTRY_RECV || stamps[0].slot != 20 ||
        stamps[0].peer != 0 || stamps[1].slot != 21 ||
        stamps[2].kind != TESSERA_RT_ENTRY_WAIT || stamps[2].slot != 20)
      return "the first stamps are of others";
    return std::string();
  };
  EXPECT_EQ(runStamped(100, check), 0);
}

TEST(run_list, stamps_end_where_there_is_no_room) {
  for (int64_t entries : {0, 4})
    EXPECT_EQ(runStamped(entries,
                         [&](const Stamp *, int64_t size) {
                           return size == entries ? std::string() : "too many";
                         }),
              0);
}

TEST(run_list, a_watched_block_that_is_written_over) {
  SingleRank rank(1, 1 << 16);
  int64_t list[] = {TESSERA_RT_ENTRY_BEGIN,
                    128,
                    64,
                    1,
                    TESSERA_RT_ENTRY_RUN,
                    0,
                    0,
                    0,
                    0,
                    2,
                    192,
                    4096,
                    TESSERA_RT_ENTRY_END,
                    128,
                    64,
                    1};
  const tessera_rt_task_fn tasks[] = {multiply};
  *at(rank, 4096) = 1;
  EXPECT_NE(tessera_rt_run_list(rank, list, 16, tasks, nullptr, 0),
            TESSERA_RT_OK);
  SingleRank other(1, 1 << 16);
  list[10] = 128;
  EXPECT_EQ(tessera_rt_run_list(other, list, 16, tasks, nullptr, 0),
            TESSERA_RT_OK);
}

TEST(run_list, stops_at_the_first_failure) {
  SingleRank rank(1, 1 << 16);
  const int64_t list[] = {TESSERA_RT_ENTRY_RUN,
                          0,
                          0,
                          0,
                          0,
                          0,
                          TESSERA_RT_ENTRY_RUN,
                          1,
                          0,
                          0,
                          0,
                          2,
                          64,
                          4096};
  const tessera_rt_task_fn tasks[] = {failing, multiply};
  *at(rank, 4096) = 7;
  EXPECT_EQ(tessera_rt_run_list(rank, list, 14, tasks, nullptr, 0),
            TESSERA_RT_SYSTEM);
  EXPECT_EQ(*at(rank, 64), 0);
}

TEST(run_list, refuses_unknown_and_cut_entries) {
  SingleRank rank(1, 1 << 16);
  const tessera_rt_task_fn tasks[] = {multiply};
  const int64_t unknown[] = {7, 0};
  EXPECT_EQ(tessera_rt_run_list(rank, unknown, 2, tasks, nullptr, 0),
            TESSERA_RT_INVALID);
  const int64_t cut[] = {TESSERA_RT_ENTRY_RUN, 0, 0, 0, 0, 3, 64};
  EXPECT_EQ(tessera_rt_run_list(rank, cut, 7, tasks, nullptr, 0),
            TESSERA_RT_INVALID);
  const int64_t cutPair[] = {TESSERA_RT_ENTRY_PAIR, 0, 0, 0, 0, 1, 2, 64};
  EXPECT_EQ(tessera_rt_run_list(rank, cutPair, 8, tasks, nullptr, 0),
            TESSERA_RT_INVALID);
  const int64_t negative[] = {TESSERA_RT_ENTRY_PAIR, 0, 0, 0, 0, 1, -1};
  EXPECT_EQ(tessera_rt_run_list(rank, negative, 7, tasks, nullptr, 0),
            TESSERA_RT_INVALID);
}

TEST(run_list, a_pair_is_one_call_and_one_stamp) {
  RankSetup setup;
  setup.entries = 4;
  auto run = [](tessera_rt_context *ctx) -> std::string {
    const int64_t list[] = {TESSERA_RT_ENTRY_PAIR, 1, 0, 3, 1, 2, 2, 64, 4096};
    const tessera_rt_task_fn tasks[] = {failing, multiply};
    *at(ctx, 4096) = 7;
    if (tessera_rt_run_list(ctx, list, 9, tasks, nullptr, 0))
      return "the list fails";
    if (*at(ctx, 64) != 70)
      return "the bases are others";
    const Stamp &s = ctx->memory.stamps(0)[0];
    if (ctx->block().numbers.numStamps != 1 || s.kind != TESSERA_RT_ENTRY_RUN ||
        s.function != 1 || s.task != TESSERA_RT_TASK_F || s.chunk != 0 ||
        s.microBatch != 3 || s.backwardChunk != 1 || s.backwardMicroBatch != 2)
      return "the stamp is of another pair";
    return std::string();
  };
  EXPECT_EQ(runRanks(setup, run), 0);
}
