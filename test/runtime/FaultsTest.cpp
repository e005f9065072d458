//===- FaultsTest.cpp - Mismatches, dead, stopped and stuck ranks ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For any fault on one rank, all ranks end within the timeout, one line names
// the culprit, and no process is left.
//
//===----------------------------------------------------------------------===//

#include "Collectives.h"
#include "Ranks.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

using namespace tessera::rt;

namespace {
const Integers all = {1, 4};

/// Seconds in which all ranks start; sanitizers make the start slower.
#ifdef TESSERA_SANITIZED
constexpr double startTimeout = 2;
#else
constexpr double startTimeout = 0.5;
#endif

/// Runs a body that must fail with that exit status; returns the output of the
/// launcher.
std::string expectFailure(const RankFunction &body, int expected = 1,
                          double timeout = startTimeout) {
  RankSetup setup;
  setup.ranks = 4;
  setup.timeout = timeout;
  testing::internal::CaptureStderr();
  double begin = monotonicSeconds();
  int status = runRanks(setup, body);
  double seconds = monotonicSeconds() - begin;
  std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(status, expected);
  EXPECT_LT(seconds, timeout + 8);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  // All children are gone.
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  return text;
}

void expectHas(const std::string &text, const char *part) {
  EXPECT_NE(text.find(part), std::string::npos)
      << "expects '" << part << "' in: " << text;
}

int32_t reduceOnce(tessera_rt_context *ctx, int64_t sequence, int64_t count,
                   int32_t dtype = TESSERA_RT_F32) {
  return allReduce(all, dtype, 0, count).run(ctx, 0, sequence, 0, 4096);
}
} // namespace

TEST(faults, count_mismatch) {
  std::string text = expectFailure([](tessera_rt_context *ctx) {
    reduceOnce(ctx, 5, ctx->rank == 2 ? 11 : 10);
    return std::string();
  });
  expectHas(text, "mismatch");
  expectHas(text, "rank 2");
  expectHas(text, "all_reduce #5 (sum f32[10]");
  expectHas(text, "all_reduce #5 (sum f32[11]");
}

TEST(faults, type_mismatch) {
  std::string text = expectFailure([](tessera_rt_context *ctx) {
    reduceOnce(ctx, 5, 10, ctx->rank == 1 ? TESSERA_RT_BF16 : TESSERA_RT_F32);
    return std::string();
  });
  expectHas(text, "f32[10]");
  expectHas(text, "bf16[10]");
}

TEST(faults, operation_mismatch) {
  std::string text = expectFailure([](tessera_rt_context *ctx) {
    if (ctx->rank == 3)
      allGather(all, TESSERA_RT_F32, 1, 10).run(ctx, 0, 6, 0, 4096);
    else
      reduceOnce(ctx, 5, 10);
    return std::string();
  });
  expectHas(text, "all_reduce #5");
  expectHas(text, "all_gather #6");
}

TEST(faults, group_mismatch) {
  std::string text = expectFailure([](tessera_rt_context *ctx) {
    const Integers half = {2, 2};
    allReduce(ctx->rank == 0 ? half : all, TESSERA_RT_F32, 0, 10)
        .run(ctx, 0, 5, 0, 4096);
    return std::string();
  });
  expectHas(text, "mismatch");
  expectHas(text, "rank 0");
}

TEST(faults, send_and_recv_counts_mismatch) {
  std::string text = expectFailure([](tessera_rt_context *ctx) {
    if (ctx->rank == 0)
      transfer(TESSERA_RT_SEND, all, TESSERA_RT_F32, 1, 0, 10)
          .run(ctx, 0, 1, 0, 0);
    if (ctx->rank == 1)
      transfer(TESSERA_RT_RECV, all, TESSERA_RT_F32, 0, 0, 12)
          .run(ctx, 0, 2, 0, 0);
    return std::string();
  });
  expectHas(text, "send #1");
  expectHas(text, "recv #2");
}

TEST(faults, killed_rank) {
  std::string text = expectFailure(
      [](tessera_rt_context *ctx) {
        reduceOnce(ctx, 1, 10);
        if (ctx->rank == 1)
          kill(getpid(), SIGKILL);
        reduceOnce(ctx, 2, 10);
        return std::string();
      },
      exitMayRestart);
  expectHas(text, "rank 1 was killed by signal 9");
  expectHas(text, "all_reduce #1");
}

TEST(faults, crashed_rank) {
  std::string text = expectFailure(
      [](tessera_rt_context *ctx) {
        signal(SIGSEGV, SIG_DFL); // a sanitizer's handler would report
        if (ctx->rank == 3)
          kill(getpid(), SIGSEGV);
        reduceOnce(ctx, 2, 10);
        return std::string();
      },
      exitMayRestart);
  expectHas(text, "rank 3 was killed by signal 11");
}

TEST(faults, stopped_rank) {
  std::string text = expectFailure(
      [](tessera_rt_context *ctx) {
        reduceOnce(ctx, 1, 10);
        if (ctx->rank == 2)
          kill(getpid(), SIGSTOP);
        reduceOnce(ctx, 2, 10);
        return std::string();
      },
      exitMayRestart);
  expectHas(text, "rank 2 is stopped");
  expectHas(text, "all_reduce #1");
}

TEST(faults, stuck_rank) {
  std::string text = expectFailure(
      [](tessera_rt_context *ctx) {
        if (ctx->rank == 2)
          sleep(100);
        reduceOnce(ctx, 2, 10);
        return std::string();
      },
      exitMayRestart);
  expectHas(text, "rank 2 is running, but does not arrive");
  expectHas(text, "not reached any collective");
}

TEST(faults, stuck_rank_behind_others_is_named) {
  // Rank 0 waits for 1, 1 for 3, and 3 sleeps: 3 is the culprit.
  std::string text = expectFailure(
      [](tessera_rt_context *ctx) {
        const Integers even = {2, 2}, pairs = {1, 2};
        if (ctx->rank == 3)
          sleep(100);
        if (ctx->rank == 1)
          allReduce(even, TESSERA_RT_F32, 0, 1).run(ctx, 0, 1, 0, 64);
        allReduce(pairs, TESSERA_RT_F32, 0, 1).run(ctx, 0, 2, 0, 64);
        return std::string();
      },
      exitMayRestart);
  expectHas(text, "rank 3 is running, but does not arrive");
}

TEST(faults, ranks_that_wait_for_each_other) {
  std::string text = expectFailure(
      [](tessera_rt_context *ctx) {
        if (ctx->rank < 2)
          transfer(TESSERA_RT_RECV, all, TESSERA_RT_F32, 1 - ctx->rank, 0, 1)
              .run(ctx, 0, 1, 0, 0);
        return std::string();
      },
      exitMayRestart);
  expectHas(text, "ranks wait for each other");
}

TEST(faults, a_wait_for_nothing) {
  std::string text = expectFailure([](tessera_rt_context *ctx) {
    if (ctx->rank == 0)
      tessera_rt_wait(ctx, 5);
    return std::string();
  });
  expectHas(text, "expects a slot in flight");
}

/// Expects the error `part` if rank 0 starts `collective`.
static void expectRefused(const Collective &collective, const char *part,
                          int32_t slot = 0, int64_t source = 0) {
  std::string text = expectFailure([&](tessera_rt_context *ctx) {
    if (ctx->rank == 0)
      collective.start(ctx, slot, 9, source, 64);
    return std::string();
  });
  expectHas(text, part);
}

TEST(faults, impossible_tokens) {
  auto expectTokens = [](const Tokens &tokens, tessera_rt_collective_kind kind,
                         int64_t ids, const char *part) {
    std::string text = expectFailure([&](tessera_rt_context *ctx) {
      if (ctx->rank == 0)
        runTokens(ctx, 0, 9, kind, all, TESSERA_RT_F32, 1, 4, tokens, 0, 4096,
                  ids);
      return std::string();
    });
    expectHas(text, part);
  };
  const Tokens good{TESSERA_RT_I32, 8, 2, 2, all};
  Tokens floats = good, noExperts = good;
  floats.idType = TESSERA_RT_F32;
  noExperts.experts = 0;
  expectTokens(
      floats, TESSERA_RT_DISPATCH, 8192,
      "dispatch #9 expects rows that divide a block, ids of i32 or i64 "
      "in the arena and 1 expert at least, but got rows of 8 in 32, 32 "
      "ids of f32");
  expectTokens(noExperts, TESSERA_RT_COMBINE, 8192, "0 experts");
  expectTokens(good, TESSERA_RT_COMBINE, 1 << 20, "ids of i32 at 1048576");
  expectTokens(good, TESSERA_RT_ALL_GATHER, 8192,
               "collective of tokens #9 expects a dispatch or a combine on the "
               "host target, but got kind 0 on host");
}

TEST(faults, impossible_descriptors) {
  constexpr int32_t f32 = TESSERA_RT_F32;
  tessera_rt_collective unknown = {};
  unknown.kind = 8;
  expectRefused(Collective(unknown, all),
                "collective #9 expects a kind from 0 to 7, but got 8");
  expectRefused(allReduce(all, f32, 0, 1),
                "all_reduce #9 expects a free slot below 64, but got slot 64",
                TESSERA_RT_MAX_SLOTS);
  expectRefused(allReduce(all, 77, 0, 1),
                "all_reduce #9 expects a dtype, but got 77");
  expectRefused(allReduce({1, 3}, f32, 0, 1), "divides 4 ranks");
  expectRefused(allReduce(all, f32, 0, 1 << 30), "within the arena");
  expectRefused(allGather(all, f32, 1, 1 << 17),
                "all_gather #9 expects operands within the arena of 1048576 "
                "bytes, but got 131072 elements of f32 at offset 0 to 524288 "
                "at 64");
  expectRefused(reduceScatter(all, f32, 0, 1, 1 << 17),
                "but got 524288 elements of f32 at offset 0 to 131072 at 64");
  expectRefused(allReduce(all, f32, 0, 1),
                "but got 1 elements of f32 at offset 2 to 1 at 64", 0, 2);
  expectRefused(allToAll(all, f32, {6, 2}, 0, 1),
                "all_to_all #9 expects a split dim that 4 members divide, but "
                "got rank 2, dims 0 and 1");
  expectRefused(allToAll(all, f32, {8, 2}, 0, 2), "got rank 2, dims 0 and 2");
  expectRefused(allToAll(all, f32, {}, 0, 0), "got rank 0, dims 0 and 0");
  expectRefused(permute(all, f32, {1, 4}, 1),
                "permute #9 expects each index below 4 at most once per "
                "target, but got 1 -> 4");
  expectRefused(permute(all, f32, {1, 0, 2, 0}, 1), "but got 2 -> 0");
  expectRefused(broadcast(all, f32, 4, 1),
                "broadcast #9 expects a root below 4, but got 4");
  expectRefused(transfer(TESSERA_RT_SEND, all, f32, 0, 0, 1),
                "send #9 expects another member below 4 as the peer, but got "
                "0");
  expectRefused(transfer(TESSERA_RT_RECV, all, f32, -1, 0, 1),
                "recv #9 expects another member below 4 as the peer, but got "
                "-1");
}
