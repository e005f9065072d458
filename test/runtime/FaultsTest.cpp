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

#include "Ranks.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

using namespace tessera::rt;

namespace {
constexpr int64_t all[2] = {1, 4};

/// Seconds in which all ranks start; sanitizers make the start slower.
#ifdef TESSERA_SANITIZED
constexpr double startTimeout = 2;
#else
constexpr double startTimeout = 0.5;
#endif

/// Runs a body that must fail; returns the output of the launcher.
std::string expectFailure(const RankFunction &body,
                          double timeout = startTimeout) {
  RankSetup setup;
  setup.ranks = 4;
  setup.timeout = timeout;
  testing::internal::CaptureStderr();
  double begin = monotonicSeconds();
  int status = runRanks(setup, body);
  double seconds = monotonicSeconds() - begin;
  std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(status, 1);
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
  return tessera_rt_all_reduce(ctx, 0, sequence, all, 1, dtype, 0, count, 0,
                               4096);
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
      tessera_rt_all_gather(ctx, 0, 6, all, 1, TESSERA_RT_F32, 1, 10, 0, 4096);
    else
      reduceOnce(ctx, 5, 10);
    return std::string();
  });
  expectHas(text, "all_reduce #5");
  expectHas(text, "all_gather #6");
}

TEST(faults, group_mismatch) {
  std::string text = expectFailure([](tessera_rt_context *ctx) {
    const int64_t half[2] = {2, 2};
    tessera_rt_all_reduce(ctx, 0, 5, ctx->rank == 0 ? half : all, 1,
                          TESSERA_RT_F32, 0, 10, 0, 4096);
    return std::string();
  });
  expectHas(text, "mismatch");
  expectHas(text, "rank 0");
}

TEST(faults, send_and_recv_counts_mismatch) {
  std::string text = expectFailure([](tessera_rt_context *ctx) {
    if (ctx->rank == 0)
      tessera_rt_send(ctx, 0, 1, all, 1, TESSERA_RT_F32, 1, 0, 10, 0);
    if (ctx->rank == 1)
      tessera_rt_recv(ctx, 0, 2, all, 1, TESSERA_RT_F32, 0, 0, 12, 0);
    return std::string();
  });
  expectHas(text, "send #1");
  expectHas(text, "recv #2");
}

TEST(faults, killed_rank) {
  std::string text = expectFailure([](tessera_rt_context *ctx) {
    reduceOnce(ctx, 1, 10);
    if (ctx->rank == 1)
      kill(getpid(), SIGKILL);
    reduceOnce(ctx, 2, 10);
    return std::string();
  });
  expectHas(text, "rank 1 was killed by signal 9");
  expectHas(text, "all_reduce #1");
}

TEST(faults, crashed_rank) {
  std::string text = expectFailure([](tessera_rt_context *ctx) {
    signal(SIGSEGV, SIG_DFL); // a sanitizer's handler would report
    if (ctx->rank == 3)
      kill(getpid(), SIGSEGV);
    reduceOnce(ctx, 2, 10);
    return std::string();
  });
  expectHas(text, "rank 3 was killed by signal 11");
}

TEST(faults, stopped_rank) {
  std::string text = expectFailure([](tessera_rt_context *ctx) {
    reduceOnce(ctx, 1, 10);
    if (ctx->rank == 2)
      kill(getpid(), SIGSTOP);
    reduceOnce(ctx, 2, 10);
    return std::string();
  });
  expectHas(text, "rank 2 is stopped");
  expectHas(text, "all_reduce #1");
}

TEST(faults, stuck_rank) {
  std::string text = expectFailure([](tessera_rt_context *ctx) {
    if (ctx->rank == 2)
      sleep(100);
    reduceOnce(ctx, 2, 10);
    return std::string();
  });
  expectHas(text, "rank 2 is running, but does not arrive");
  expectHas(text, "not reached any collective");
}

TEST(faults, stuck_rank_behind_others_is_named) {
  // Rank 0 waits for 1, 1 for 3, and 3 sleeps: 3 is the culprit.
  std::string text = expectFailure([](tessera_rt_context *ctx) {
    const int64_t even[2] = {2, 2}, pairs[2] = {1, 2};
    if (ctx->rank == 3)
      sleep(100);
    if (ctx->rank == 1)
      tessera_rt_all_reduce(ctx, 0, 1, even, 1, TESSERA_RT_F32, 0, 1, 0, 64);
    tessera_rt_all_reduce(ctx, 0, 2, pairs, 1, TESSERA_RT_F32, 0, 1, 0, 64);
    return std::string();
  });
  expectHas(text, "rank 3 is running, but does not arrive");
}

TEST(faults, ranks_that_wait_for_each_other) {
  std::string text = expectFailure([](tessera_rt_context *ctx) {
    if (ctx->rank < 2)
      tessera_rt_recv(ctx, 0, 1, all, 1, TESSERA_RT_F32, 1 - ctx->rank, 0, 1,
                      0);
    return std::string();
  });
  expectHas(text, "ranks wait for each other");
}

TEST(faults, impossible_arguments) {
  EXPECT_NE(expectFailure([](tessera_rt_context *ctx) {
              if (ctx->rank == 0)
                tessera_rt_wait(ctx, 5);
              return std::string();
            }).find("expects a slot in flight"),
            std::string::npos);
  EXPECT_NE(expectFailure([](tessera_rt_context *ctx) {
              if (ctx->rank == 0)
                reduceOnce(ctx, 1, 1 << 30);
              return std::string();
            }).find("within the arena"),
            std::string::npos);
  EXPECT_NE(expectFailure([](tessera_rt_context *ctx) {
              const int64_t three[2] = {1, 3};
              if (ctx->rank == 0)
                tessera_rt_all_reduce(ctx, 0, 1, three, 1, TESSERA_RT_F32, 0, 1,
                                      0, 64);
              return std::string();
            }).find("divides 4 ranks"),
            std::string::npos);
}
