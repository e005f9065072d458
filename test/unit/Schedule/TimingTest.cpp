//===- TimingTest.cpp - Bubbles and activations of the known schedules ----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Schedule/Generators.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <random>

using namespace tessera;
using namespace tessera::schedule;

namespace {

struct Outcome {
  ScheduleTiming timing;
  std::vector<double> peaks;
  double maxPeak() const {
    return *std::max_element(peaks.begin(), peaks.end());
  }
};

Outcome price(ScheduleKind kind, int p, int v, int m, ChunkTimes stage,
              double link = 0, double kept = 1.0) {
  ScheduleProblem problem = llvm::cantFail(makeProblem(kind, p, v, m));
  AutoOptions options;
  options.stages = {stage};
  options.link = link;
  options.keptForWeightGrad = kept;
  Schedule schedule = generate(kind, problem, options);
  EXPECT_EQ(llvm::toString(verify(problem, schedule)), "");
  CompiledSchedule compiled(problem, schedule);
  return {compiled.simulate(PipelineTimes::uniform(problem, stage, link)),
          peakActivations(problem, schedule, kept)};
}

/// F, B, W with different times, W the shortest.
constexpr ChunkTimes kUneven{5, 4, 3, -1};
constexpr double kTotal = 12;
constexpr ChunkTimes kEven{1, 1, 1, -1};

TEST(ClosedForm, gpipe) {
  for (int p : {1, 2, 4, 7})
    for (int m : {1, 3, 8}) {
      Outcome outcome = price(ScheduleKind::GPipe, p, 1, m, kUneven);
      EXPECT_NEAR(outcome.timing.bubble(), (p - 1) * kTotal, 1e-9);
      EXPECT_EQ(outcome.maxPeak(), m);
    }
}

TEST(ClosedForm, one_f_one_b) {
  for (int p : {1, 2, 4, 7})
    for (int m : {1, 3, 8, 20}) {
      Outcome outcome = price(ScheduleKind::OneFOneB, p, 1, m, kUneven);
      EXPECT_NEAR(outcome.timing.bubble(), (p - 1) * kTotal, 1e-9);
      EXPECT_EQ(outcome.peaks.front(), std::min(p, m));
      EXPECT_EQ(outcome.peaks.back(), 1);
    }
}

/// Published bubbles as fractions of the total, with p = 4.
TEST(ClosedForm, bubble_rate_of_1f1b) {
  auto rate = [](int m) {
    return price(ScheduleKind::OneFOneB, 4, 1, m, kUneven).timing.bubbleRate();
  };
  EXPECT_NEAR(rate(1), 0.75, 1e-9);
  EXPECT_NEAR(rate(8), 3.0 / 11, 1e-9);
  EXPECT_NEAR(rate(12), 0.2, 1e-9);
  EXPECT_NEAR(rate(16), 3.0 / 19, 1e-9);
  // The other convention divides by the time without bubbles.
  ScheduleTiming timing =
      price(ScheduleKind::OneFOneB, 4, 1, 16, kUneven).timing;
  EXPECT_NEAR(timing.bubble() / timing.maxBusy(), 0.1875, 1e-9);
}

TEST(ClosedForm, interleaved) {
  for (int p : {2, 4, 8})
    for (int v : {1, 2, 3, 6})
      for (int groups : {1, 2, 3, 5}) {
        Outcome outcome =
            price(ScheduleKind::Interleaved, p, v, groups * p, kUneven);
        EXPECT_NEAR(outcome.timing.bubble(), (p - 1) * kTotal / v, 1e-9);
        EXPECT_NEAR(outcome.maxPeak(),
                    groups == 1 ? p : p * (1 + (p - 1.0) / (p * v)), 1e-9);
      }
}

TEST(ClosedForm, interleaved_with_any_number_of_micro_batches) {
  for (int p = 2; p <= 8; ++p)
    for (int v = 1; v <= 4; ++v)
      for (int m = 1; m <= 3 * p + 3; ++m) {
        SCOPED_TRACE(testing::Message() << p << " ranks, " << v << " chunks, "
                                        << m << " micro-batches");
        Outcome outcome = price(ScheduleKind::Interleaved, p, v, m, kUneven);
        if (m >= p)
          EXPECT_NEAR(outcome.timing.bubble(), (p - 1) * kTotal / v, 1e-9);
        int rounds = std::max(1, m / p), first = (m + rounds - 1) / rounds;
        EXPECT_NEAR(outcome.peaks[0] * v,
                    std::min(m * v, 2 * (p - 1) + (v - 1) * first + 1), 1e-9);
      }
}

TEST(ClosedForm, zero_bubble_h1) {
  for (int p : {2, 4, 8})
    for (int m : {2 * p, 3 * p + 1, 40}) {
      Outcome outcome = price(ScheduleKind::ZeroBubbleH1, p, 1, m, kUneven);
      EXPECT_NEAR(outcome.timing.bubble(), (p - 1) * (5 + 4 - 3), 1e-9);
      EXPECT_EQ(outcome.maxPeak(), p);
    }
}

TEST(ClosedForm, zero_bubble_h2) {
  for (int p : {2, 4, 8})
    for (int m : {2 * p, 3 * p + 1, 40}) {
      Outcome outcome = price(ScheduleKind::ZeroBubbleH2, p, 1, m, kUneven);
      EXPECT_NEAR(outcome.timing.bubble(), (p - 1) * (5 + 4 - 2 * 3), 1e-9);
      EXPECT_EQ(outcome.maxPeak(), 2 * p - 1);
      // Ranks begin and end one after the other, so a barrier at the end of the
      // step adds the path to the last rank.
      EXPECT_NEAR(outcome.timing.makespan(), m * kTotal + (p - 1) * 5, 1e-9);
    }
}

TEST(ClosedForm, zero_bubble_v) {
  for (int p : {2, 4, 8})
    for (int m : {2 * p, 3 * p + 1, 40}) {
      Outcome outcome = price(ScheduleKind::ZeroBubbleV, p, 2, m, kEven);
      EXPECT_NEAR(outcome.timing.bubble(), 0, 1e-9);
      EXPECT_EQ(outcome.maxPeak(), p);
      // The first and the last stage are on rank 0, so no rank waits at the
      // end.
      EXPECT_LE(outcome.timing.makespan(),
                outcome.timing.span() + (p - 1) * 0.5 + 1e-9);
    }
}

/// (p/2 - 1)(FB + B - 2W) if F = B and a pair takes as long as both its tasks.
TEST(ClosedForm, dualpipe) {
  for (int p : {2, 4, 6, 8, 16})
    for (int m : {2 * p, 2 * p + 2, 5 * p})
      for (double w : {1.0, 3.0, 4.0}) {
        Outcome outcome = price(ScheduleKind::DualPipe, p, 2, m, {4, 4, w, -1});
        EXPECT_NEAR(outcome.timing.bubble(),
                    (0.5 * p - 1) * (8 + w + 4 - 2 * w), 1e-9);
        EXPECT_EQ(outcome.maxPeak(), p + 1);
      }
}

/// For other times this is a bound, with B the longer of the two.
TEST(ClosedForm, dualpipe_bound) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> part(0.5, 1.0);
  for (int i = 0; i < 200; ++i) {
    ChunkTimes stage{part(random), part(random), 0, 0};
    stage.weightGrad = part(random) * std::min(stage.forward, stage.inputGrad);
    double sum = stage.forward + stage.inputGrad + stage.weightGrad;
    stage.overlapped = (0.8 + 0.2 * part(random)) * sum;
    int p = 2 * (1 + i % 6), m = 2 * p + 2 * (i % 7);
    Outcome outcome = price(ScheduleKind::DualPipe, p, 2, m, stage);
    double longer = std::max(stage.forward, stage.inputGrad);
    // Pairs hide work: the time without bubbles is the busiest rank's.
    EXPECT_LE(outcome.timing.bubble(),
              (0.5 * p - 1) *
                      (stage.overlapped + longer - 2 * stage.weightGrad) +
                  1e-9);
  }
}

/// (p - 1)(FB + B - 2W) of chunk times if F = B >= W and a pair takes as long
/// as both its tasks; p + 1/2 micro-batches of 1/p of the model.
TEST(ClosedForm, dualpipe_v) {
  for (int p = 2; p <= 8; ++p)
    for (int m : {2 * p, 2 * p + 1, 3 * p + 2, 5 * p})
      for (double w : {1.0, 3.0, 4.0}) {
        SCOPED_TRACE(testing::Message() << p << " ranks, " << m << " batches");
        // Times of a stage with two chunks.
        Outcome outcome =
            price(ScheduleKind::DualPipeV, p, 2, m, {8, 8, 2 * w, -1});
        EXPECT_NEAR(outcome.timing.bubble(), (p - 1) * (8 + w + 4 - 2 * w),
                    1e-9);
        EXPECT_EQ(outcome.maxPeak(), p + 0.5);
      }
}

TEST(ClosedForm, dualpipe_v_bound) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> part(0.2, 1.0);
  for (int i = 0; i < 400; ++i) {
    ChunkTimes chunk{part(random), part(random), part(random), 0};
    double sum = chunk.forward + chunk.inputGrad + chunk.weightGrad;
    chunk.overlapped = (0.8 + 0.2 * part(random)) * sum;
    int p = 1 + i % 8, m = 2 * p + i % 13;
    Outcome outcome = price(ScheduleKind::DualPipeV, p, 2, m,
                            {2 * chunk.forward, 2 * chunk.inputGrad,
                             2 * chunk.weightGrad, 2 * chunk.overlapped});
    double longer = std::max(chunk.forward, chunk.inputGrad);
    double shortest =
        std::min({chunk.forward, chunk.inputGrad, chunk.weightGrad});
    EXPECT_LE(outcome.timing.bubble(),
              (p - 1) * (chunk.overlapped + longer - 2 * shortest) + 1e-9);
  }
}

/// One rank needs no pipeline: no bubble in any schedule.
TEST(ClosedForm, one_rank_has_no_bubble) {
  for (ScheduleKind kind : allScheduleKinds()) {
    if (kind == ScheduleKind::DualPipe)
      continue;
    Outcome outcome = price(kind, 1, 2, 6, kUneven, /*link=*/7);
    EXPECT_NEAR(outcome.timing.makespan(), 6 * kTotal, 1e-9)
        << stringify(kind).str();
  }
}

/// A transfer delays 1F1B on the way down and up, and once per micro-batch if
/// two neighbors wait for each other.
TEST(Timing, transfers_of_1f1b) {
  ScheduleTiming free = price(ScheduleKind::OneFOneB, 2, 1, 9, kUneven).timing;
  ScheduleTiming slow =
      price(ScheduleKind::OneFOneB, 2, 1, 9, kUneven, 0.5).timing;
  EXPECT_NEAR(slow.makespan() - free.makespan(), 2 * 5 * 0.5, 1e-9);
}

/// GPipe with stages of different lengths: the slowest sets the pace.
TEST(Timing, the_slowest_stage_sets_the_pace) {
  ScheduleProblem problem =
      llvm::cantFail(makeProblem(ScheduleKind::GPipe, 3, 1, 10));
  PipelineTimes times = PipelineTimes::uniform(problem, {2, 1, 1, -1});
  times.chunks[1] = {4, 3, 2, -1};
  CompiledSchedule compiled(problem, generate(ScheduleKind::GPipe, problem));
  ScheduleTiming timing = compiled.simulate(times);
  // Forwards: 2 + 10 * 4 + 2, backwards: 2 + 10 * 5 + 2.
  EXPECT_NEAR(timing.makespan(), 44 + 54, 1e-9);
  EXPECT_NEAR(timing.maxBusy(), 90, 1e-9);
  EXPECT_NEAR(compiled.simulateEnds(times).makespan, timing.makespan(), 0);
  EXPECT_NEAR(compiled.simulateEnds(times).span, timing.span(), 0);
}

TEST(Timing, activations_that_weight_gradients_do_not_need_go_early) {
  EXPECT_EQ(price(ScheduleKind::ZeroBubbleH1, 4, 1, 12, kEven).maxPeak(), 4);
  // Rank 3 keeps three micro-batches only for W.
  Outcome outcome =
      price(ScheduleKind::ZeroBubbleH1, 4, 1, 12, kEven, 0, /*kept=*/0.5);
  EXPECT_NEAR(outcome.peaks[3], 1 + 3 * 0.5, 1e-9);
  EXPECT_NEAR(outcome.peaks[0], 4, 1e-9);
}

/// Bubble rates of Qi et al., "Zero Bubble Pipeline Parallelism" (ICLR 2024),
/// table 5, which the authors computed from their profiled times, table 6. One
/// row per model: ranks, micro-batches, chunks of the interleaved schedule, the
/// fraction of activations that W needs, milliseconds of F, B, W and of a
/// transfer.
struct Row {
  const char *model;
  int p, m, v;
  ChunkTimes stage;
  double link;
  double oneFOneB, interleaved, h1, h2, oneP, twoP;
};
constexpr Row kRows[] = {
    {"1.5B",
     8,
     24,
     3,
     {18.522, 18.086, 9.337, -1},
     0.601,
     0.2431,
     0.1055,
     0.1585,
     0.1083,
     0.1585,
     0.0433},
    {"1.5B",
     8,
     32,
     3,
     {18.513, 18.086, 9.331, -1},
     0.626,
     0.1985,
     0.0818,
     0.1242,
     0.0837,
     0.1242,
     0.0039},
    {"1.5B",
     8,
     64,
     3,
     {18.546, 18.097, 9.321, -1},
     0.762,
     0.1240,
     0.0443,
     0.0674,
     0.0444,
     0.0674,
     0.0026},
    {"6.2B",
     8,
     24,
     4,
     {29.718, 29.444, 19.927, -1},
     0.527,
     0.2347,
     0.0808,
     0.1323,
     0.0698,
     0.1323,
     0.0029},
    {"6.2B",
     8,
     32,
     4,
     {29.802, 29.428, 19.530, -1},
     0.577,
     0.1898,
     0.0628,
     0.1045,
     0.0559,
     0.1045,
     0.0022},
    {"6.2B",
     8,
     64,
     4,
     {29.935, 29.621, 19.388, -1},
     0.535,
     0.1091,
     0.0320,
     0.0554,
     0.0294,
     0.0554,
     0.0010},
    {"14.6B",
     16,
     48,
     3,
     {11.347, 11.248, 8.132, -1},
     0.377,
     0.2552,
     0.1104,
     0.1397,
     0.0672,
     0.1397,
     0.0066},
    {"14.6B",
     16,
     64,
     3,
     {11.307, 11.254, 8.101, -1},
     0.379,
     0.2082,
     0.0852,
     0.1088,
     0.0516,
     0.1088,
     0.0054},
    {"14.6B",
     16,
     128,
     3,
     {11.325, 11.308, 8.109, -1},
     0.378,
     0.1251,
     0.0445,
     0.0576,
     0.0266,
     0.0576,
     0.0028},
    {"28.3B",
     32,
     96,
     2,
     {10.419, 10.207, 7.715, -1},
     0.408,
     0.2646,
     0.1493,
     0.1421,
     0.0641,
     0.1421,
     0.0038},
    {"28.3B",
     32,
     128,
     2,
     {10.408, 10.204, 7.703, -1},
     0.408,
     0.2168,
     0.1164,
     0.1106,
     0.0490,
     0.1106,
     0.0029},
    {"28.3B",
     32,
     256,
     2,
     {10.402, 10.248, 7.698, -1},
     0.460,
     0.1352,
     0.0624,
     0.0594,
     0.0257,
     0.0594,
     0.0018},
};

/// Fraction of a micro-batch's activations that W needs: 32 sbh of sbh (34 + 5
/// a s / h) bytes (section 2.2 of the paper). All models have 1024 tokens;
/// heads are 96 wide in the smallest model and 128 in the others.
double keptForWeightGrad(const Row &row) {
  double headDim = llvm::StringRef(row.model) == "1.5B" ? 96 : 128;
  return 32 / (34 + 5 * 1024 / headDim);
}

TEST(ZeroBubblePaper, bubble_rates_of_profiled_times) {
  for (const Row &row : kRows) {
    SCOPED_TRACE(testing::Message() << row.model << " m=" << row.m);
    auto rate = [&](ScheduleKind kind) {
      return price(kind, row.p, row.v, row.m, row.stage, row.link,
                   keptForWeightGrad(row))
          .timing.bubbleRate();
    };
    EXPECT_NEAR(rate(ScheduleKind::OneFOneB), row.oneFOneB, 1e-4);
    EXPECT_NEAR(rate(ScheduleKind::ZeroBubbleH1), row.h1, 1e-4);
    EXPECT_NEAR(rate(ScheduleKind::ZeroBubbleH2), row.h2, 1e-4);
    EXPECT_NEAR(rate(ScheduleKind::ZeroBubble1P), row.oneP, 1e-4);
    EXPECT_NEAR(rate(ScheduleKind::ZeroBubble2P), row.twoP, 2e-4);
    // The authors' rates of the interleaved schedule count 1/p fewer transfers
    // than the path down and up through all chunks has.
    EXPECT_NEAR(rate(ScheduleKind::Interleaved), row.interleaved, 4e-3);
  }
}

TEST(ListScheduler, keeps_to_the_limit) {
  for (double limit : {1.0, 2.0, 3.5, 6.0, 12.0}) {
    ScheduleProblem problem =
        llvm::cantFail(makeProblem(ScheduleKind::ZeroBubble1P, 6, 1, 20));
    AutoOptions options;
    options.stages = {{4, 5, 2, -1}};
    options.link = 0.3;
    options.keptForWeightGrad = 0.4;
    options.limit = limit;
    Schedule schedule = scheduleWithinMemory(problem, options);
    EXPECT_EQ(llvm::toString(verify(problem, schedule)), "");
    for (double peak : peakActivations(problem, schedule, 0.4))
      EXPECT_LE(peak, limit + 1e-9);
  }
}

TEST(ListScheduler, more_memory_is_no_slower) {
  double before = 1e30;
  for (int limit = 1; limit <= 16; ++limit) {
    ScheduleProblem problem =
        llvm::cantFail(makeProblem(ScheduleKind::ZeroBubble1P, 8, 1, 32));
    AutoOptions options;
    options.stages = {{10, 11, 8, -1}};
    options.link = 0.4;
    options.limit = limit;
    Schedule schedule = scheduleWithinMemory(problem, options);
    double span = CompiledSchedule(problem, schedule)
                      .simulateEnds(PipelineTimes::uniform(
                          problem, options.stages[0], options.link))
                      .span;
    EXPECT_LE(span, before + 1e-9) << "limit " << limit;
    before = span;
  }
}

/// Stages with different times, such as an embedding and a head.
TEST(ListScheduler, knows_each_stage) {
  ScheduleProblem problem =
      llvm::cantFail(makeProblem(ScheduleKind::ZeroBubble2P, 4, 1, 16));
  PipelineTimes times = PipelineTimes::uniform(problem, {4, 4, 3, -1});
  times.chunks[3] = {6, 6, 4, -1};
  AutoOptions options;
  options.stages = times.chunks;
  Schedule schedule = generate(ScheduleKind::ZeroBubble2P, problem, options);
  ScheduleTiming timing = CompiledSchedule(problem, schedule).simulate(times);
  // The last stage is the slowest, and it never waits.
  EXPECT_NEAR(timing.ranks[3].last - timing.ranks[3].first, 16 * 16.0, 1e-9);
}

} // namespace
