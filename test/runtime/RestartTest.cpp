//===- RestartTest.cpp - Ranks that are started anew ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --restarts: which failures are followed by a new start, how many, what it
// says, and that it computes what an undisturbed run does.
//
//===----------------------------------------------------------------------===//

#include "Collectives.h"
#include "Programs.h"
#include "Ranks.h"

#include <random>
#include <sys/mman.h>

using namespace tessera::rt;

namespace {
/// Memory of this process and of all ranks that it starts.
struct Shared {
  /// Starts of rank 0.
  std::atomic<int> starts{0};
  std::atomic<int64_t> sum{0};
};

class Restarts : public testing::Test {
protected:
  void SetUp() override {
    void *memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    shared = new (memory) Shared();
  }
  void TearDown() override { munmap(shared, sizeof(Shared)); }

  /// Runs `body`, with the number of the start, on four ranks. Returns the exit
  /// status.
  int run(int64_t restarts,
          const std::function<std::string(tessera_rt_context *, int)> &body) {
    RankSetup setup;
    setup.ranks = 4;
    setup.restarts = restarts;
    testing::internal::CaptureStderr();
    int status = runRanks(setup, [&](tessera_rt_context *ctx) {
      if (ctx->rank == 0)
        ++shared->starts;
      barrier(ctx, BarrierStart);
      return body(ctx, shared->starts.load());
    });
    lines = linesOf(testing::internal::GetCapturedStderr());
    // All children are gone.
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    return status;
  }

  Shared *shared = nullptr;
  std::vector<std::string> lines;
};

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}
} // namespace

TEST(restart, a_rank_that_dies_in_each_attempt_ends_the_run) {
  Outcome outcome = runProgram(
      TRAIN2_PROGRAM, "--random-data --steps 10 --log jsonl --restarts 3",
      "TRAIN2_KILL=5");
  EXPECT_EQ(outcome.status, exitMayRestart);
  std::vector<std::string> lines = linesOf(outcome.err);
  ASSERT_EQ(lines.size(), 4u) << outcome.err;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(lines[size_t(i)].find("tessera: rank 1 was killed by signal 9"),
              0u);
    EXPECT_TRUE(has(lines[size_t(i)],
                    format("; restarts from step 0 (%d of 3)", i + 1)))
        << lines[size_t(i)];
  }
  EXPECT_EQ(lines[3].find("tessera: error: rank 1 was killed by signal 9"), 0u);
  // Each attempt does the four steps before.
  auto count = [&](const char *text) {
    std::vector<std::string> all = linesOf(outcome.out);
    return std::count_if(all.begin(), all.end(), [&](const std::string &line) {
      return has(line, text);
    });
  };
  EXPECT_EQ(count("\"event\": \"step\", \"step\": 4,"), 4);
  EXPECT_EQ(count("\"event\": \"step\", \"step\": 5,"), 0);
}

TEST(restart, mistakes_are_one_line) {
  expectError(runProgram(TRAIN2_PROGRAM, "--random-data --restarts 1",
                         "RANK=0 WORLD_SIZE=2"),
              "--restarts expects ranks that this command starts, but torchrun "
              "starts them: let it start them anew after exit code 75");
  expectError(runProgram(TRAIN2_PROGRAM, "--restarts -1"), "but got '-1'");
}

TEST(restart, a_signal_ends_a_run_that_restarts) {
  for (const char *signal : {"TERM", "INT"}) {
    Outcome outcome = runProgram(
        TRAIN2_PROGRAM,
        std::string("--random-data --quiet --steps 3 --restarts 1000000 & "
                    "pid=$!; sleep 0.5; kill -") +
            signal + " $pid; wait $pid; exit $?",
        "TRAIN2_KILL=1 env --default-signal=INT");
    EXPECT_EQ(outcome.status, strcmp(signal, "TERM") == 0 ? 143 : 130)
        << signal;
    EXPECT_GT(linesOf(outcome.err).size(), 1u);
  }
}

// A drawn rank is killed at a drawn time in each of the first starts.
TEST_F(Restarts, drawn_kills_change_no_result) {
  constexpr int kills = 20;
  int status = run(1000, [&](tessera_rt_context *ctx, int start) {
    std::mt19937 random(unsigned(start) * 7919);
    int killer = int(random() % 4), victim = int(random() % 4);
    int64_t when = int64_t(random() % 30), sum = 0;
    auto *value = reinterpret_cast<int32_t *>(ctx->arena());
    for (int64_t i = 0; i < 30; ++i) {
      if (start <= kills && i == when && ctx->rank == killer)
        kill(ctx->memory.blocks[victim].pid.load(), SIGKILL);
      *value = int32_t(i + ctx->rank);
      if (allReduce({1, 4}, TESSERA_RT_I32, 0, 1).run(ctx, 0, i, 0, 4096))
        return std::string();
      sum += *reinterpret_cast<int32_t *>(ctx->arena() + 4096);
    }
    if (ctx->rank == 0)
      shared->sum = sum;
    return std::string();
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(shared->starts.load(), kills + 1);
  EXPECT_EQ(shared->sum.load(), 30 * 6 + 4 * 29 * 15);
  ASSERT_EQ(lines.size(), size_t(kills));
  for (const std::string &line : lines)
    EXPECT_TRUE(has(line, "was killed by signal 9") || has(line, "is dead"))
        << line;
}

TEST_F(Restarts, only_failures_in_a_row_count) {
  // The first five starts commit a checkpoint each.
  auto die = [](tessera_rt_context *ctx, int start) {
    if (ctx->rank == 2 && start <= 5)
      ctx->memory.control->committed.fetch_add(1);
    if (ctx->rank == 2 && start <= 7)
      raise(SIGKILL);
    barrier(ctx, BarrierStep);
    return std::string();
  };
  // The seventh is the third in a row.
  EXPECT_EQ(run(2, die), exitMayRestart);
  EXPECT_EQ(shared->starts.load(), 7);
  EXPECT_EQ(lines.size(), 7u);
  shared->starts = 0;
  EXPECT_EQ(run(3, die), 0);
  EXPECT_EQ(shared->starts.load(), 8);
}

TEST_F(Restarts, a_rank_that_hangs_is_ended_before_the_next_start) {
  EXPECT_EQ(run(1,
                [](tessera_rt_context *ctx, int start) {
                  ctx->timeout = 0.5;
                  if (ctx->rank == 1 && start == 1)
                    raise(SIGSTOP);
                  barrier(ctx, BarrierStep);
                  return std::string();
                }),
            0);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(has(lines[0], "rank 1 is stopped")) << lines[0];
}

TEST_F(Restarts, a_mistake_is_not_repeated) {
  EXPECT_EQ(run(3,
                [](tessera_rt_context *ctx, int) {
                  return std::string(ctx->rank == 3 ? "wrong input" : "");
                }),
            1);
  EXPECT_EQ(shared->starts.load(), 1);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0], "tessera: error: rank 3: wrong input");
}
