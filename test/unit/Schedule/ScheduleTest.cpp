//===- ScheduleTest.cpp - Complete, and free of deadlock ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Schedule/Generators.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"

using namespace tessera;
using namespace tessera::schedule;

namespace {

using Kind = ActionKind;

/// All problems of a kind with few ranks, chunks and micro-batches.
std::vector<ScheduleProblem> smallProblems(ScheduleKind kind) {
  std::vector<ScheduleProblem> problems;
  for (int p : {1, 2, 3, 4, 6})
    for (int m = 1; m <= 14; ++m)
      for (int v : {1, 2, 3}) {
        if (v > 1 && kind != ScheduleKind::Interleaved)
          continue;
        auto problem = makeProblem(kind, p, v, m);
        if (problem)
          problems.push_back(*problem);
        else
          llvm::consumeError(problem.takeError());
      }
  return problems;
}

ScheduleProblem problemOf(ScheduleKind kind, int p, int v, int m) {
  return llvm::cantFail(makeProblem(kind, p, v, m));
}

std::string errorOf(ScheduleKind kind, int p, int v, int m) {
  auto problem = makeProblem(kind, p, v, m);
  return problem ? "" : llvm::toString(problem.takeError());
}

class AllKinds : public testing::TestWithParam<ScheduleKind> {};

TEST_P(AllKinds, is_complete_and_can_run) {
  int count = 0;
  for (const ScheduleProblem &problem : smallProblems(GetParam())) {
    SCOPED_TRACE(testing::Message()
                 << problem.ranks << " ranks, " << problem.chunks << " chunks, "
                 << problem.microBatches << " batches");
    Schedule schedule = generate(GetParam(), problem);
    EXPECT_EQ(llvm::toString(verify(problem, schedule)), "");
    ++count;
  }
  EXPECT_GE(count, 10);
}

TEST_P(AllKinds, transfers_do_not_deadlock_even_if_sends_block) {
  for (const ScheduleProblem &problem : smallProblems(GetParam())) {
    SCOPED_TRACE(testing::Message()
                 << problem.ranks << " ranks, " << problem.chunks << " chunks, "
                 << problem.microBatches << " batches");
    Schedule schedule = generate(GetParam(), problem);
    insertTransfers(problem, schedule);
    EXPECT_EQ(schedule.hasTransfers(), problem.ranks > 1);
    EXPECT_EQ(llvm::toString(verify(problem, schedule, SendMode::Blocking)),
              "");
    EXPECT_EQ(llvm::toString(verify(problem, schedule, SendMode::Buffered)),
              "");
  }
}

TEST_P(AllKinds, every_missing_action_is_found) {
  auto problems = smallProblems(GetParam());
  const ScheduleProblem &problem = problems[problems.size() / 2];
  Schedule whole = generate(GetParam(), problem);
  insertTransfers(problem, whole);
  for (size_t rank = 0; rank < whole.ranks.size(); ++rank)
    for (size_t i = 0; i < whole.ranks[rank].size(); ++i) {
      Schedule schedule = whole;
      schedule.ranks[rank].erase(schedule.ranks[rank].begin() + i);
      EXPECT_TRUE(llvm::errorToBool(verify(problem, schedule)))
          << "without action " << i << " of rank " << rank;
      schedule = whole;
      schedule.ranks[rank].push_back(whole.ranks[rank][i]);
      EXPECT_TRUE(llvm::errorToBool(verify(problem, schedule)))
          << "with action " << i << " of rank " << rank << " twice";
    }
}

INSTANTIATE_TEST_SUITE_P(Schedule, AllKinds,
                         testing::ValuesIn(allScheduleKinds()),
                         [](const auto &info) {
                           std::string name = stringify(info.param).str();
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Schedule, prints_one_line_a_rank) {
  ScheduleProblem problem = problemOf(ScheduleKind::OneFOneB, 2, 1, 2);
  Schedule schedule = generate(ScheduleKind::OneFOneB, problem);
  std::string text;
  llvm::raw_string_ostream os(text);
  schedule.print(os);
  EXPECT_EQ(text, "rank 0: F0.0 F0.1 BW0.0 BW0.1\n"
                  "rank 1: F0.0 BW0.0 F0.1 BW0.1\n");
  insertTransfers(problem, schedule);
  text.clear();
  schedule.print(os);
  EXPECT_EQ(text, "rank 0: F0.0 sA0.0 F0.1 sA0.1 rG0.0 BW0.0 rG0.1 BW0.1\n"
                  "rank 1: rA0.0 F0.0 rA0.1 BW0.0 sG0.0 F0.1 BW0.1 sG0.1\n");
}

TEST(Schedule, names_go_both_ways) {
  for (ScheduleKind kind : allScheduleKinds())
    EXPECT_EQ(parseName<ScheduleKind>(stringify(kind)), kind);
  EXPECT_FALSE(parseName<ScheduleKind>("2f2b").has_value());
}

TEST(Schedule, numbers_that_do_not_fit_are_errors) {
  EXPECT_EQ(
      errorOf(ScheduleKind::ZeroBubbleV, 4, 2, 7),
      "schedule zb-v expects at least two micro-batches per stage but got "
      "7 micro-batches on 4 stages");
  EXPECT_EQ(errorOf(ScheduleKind::DualPipeV, 3, 2, 5),
            "schedule dualpipe-v expects at least two micro-batches per stage "
            "but got 5 micro-batches on 3 stages");
  EXPECT_EQ(errorOf(ScheduleKind::DualPipe, 3, 2, 8),
            "schedule dualpipe expects even numbers of stages and "
            "micro-batches, at least two micro-batches per stage, but got 8 "
            "micro-batches on 3 stages");
  EXPECT_EQ(errorOf(ScheduleKind::OneFOneB, 0, 1, 8),
            "expects pipeline ranks to be at least 1 but got 0");
  EXPECT_EQ(errorOf(ScheduleKind::Interleaved, 4, 0, 8),
            "expects chunks per rank to be at least 1 but got 0");
  EXPECT_EQ(errorOf(ScheduleKind::GPipe, 4, 1, 0),
            "expects micro-batches to be at least 1 but got 0");
}

/// Half of DualPipe's ranks with one of its streams, on both chunks.
TEST(DualPipeV, is_half_of_dualpipe) {
  ScheduleProblem whole = problemOf(ScheduleKind::DualPipe, 8, 2, 24);
  ScheduleProblem half = problemOf(ScheduleKind::DualPipeV, 4, 2, 12);
  Schedule dual = generate(ScheduleKind::DualPipe, whole);
  Schedule vee = generate(ScheduleKind::DualPipeV, half);
  dual.ranks.resize(4);
  for (std::vector<Action> &actions : dual.ranks)
    for (Action &action : actions) {
      action.microBatch %= 12;
      if (action.kind == Kind::Overlapped)
        action.backwardMicroBatch %= 12;
    }
  EXPECT_EQ(vee, dual);
}

/// Rounds of p micro-batches, as published.
Schedule publishedInterleaved(const ScheduleProblem &problem) {
  int p = problem.ranks, v = problem.chunks, total = v * problem.microBatches;
  auto action = [&](Kind kind, int k) {
    int chunk = k % (p * v) / p;
    if (kind == Kind::Backward)
      chunk = v - 1 - chunk;
    return Action{kind, chunk, k / (p * v) * p + k % p};
  };
  Schedule schedule;
  for (int rank = 0; rank < p; ++rank) {
    int warmUp = std::min(total, 2 * (p - rank - 1) + (v - 1) * p);
    std::vector<Action> &actions = schedule.ranks.emplace_back();
    for (int k = 0; k < total + warmUp; ++k) {
      if (k < total)
        actions.push_back(action(Kind::Forward, k));
      if (k >= warmUp)
        actions.push_back(action(Kind::Backward, k - warmUp));
    }
  }
  return schedule;
}

TEST(Interleaved, is_the_published_one_where_micro_batches_divide) {
  for (int p = 2; p <= 8; ++p)
    for (int v = 1; v <= 4; ++v)
      for (int m : {p, 2 * p, 3 * p, 5 * p}) {
        ScheduleProblem problem = problemOf(ScheduleKind::Interleaved, p, v, m);
        EXPECT_EQ(generate(ScheduleKind::Interleaved, problem),
                  publishedInterleaved(problem))
            << p << " ranks, " << v << " chunks, " << m << " micro-batches";
      }
}

TEST(Interleaved, rounds_differ_by_at_most_one) {
  EXPECT_EQ(interleavedRounds(4, 3), (std::vector<int>{3}));
  EXPECT_EQ(interleavedRounds(4, 7), (std::vector<int>{7}));
  EXPECT_EQ(interleavedRounds(4, 11), (std::vector<int>{6, 5}));
  EXPECT_EQ(interleavedRounds(4, 13), (std::vector<int>{5, 4, 4}));
}

TEST(Interleaved, takes_every_number_of_micro_batches) {
  for (int p = 2; p <= 8; ++p)
    for (int v = 1; v <= 4; ++v)
      for (int m = 1; m <= 3 * p + 3; ++m) {
        SCOPED_TRACE(testing::Message() << p << " ranks, " << v << " chunks, "
                                        << m << " micro-batches");
        ScheduleProblem problem = problemOf(ScheduleKind::Interleaved, p, v, m);
        Schedule schedule = generate(ScheduleKind::Interleaved, problem);
        ASSERT_EQ(llvm::toString(verify(problem, schedule)), "");
        insertTransfers(problem, schedule);
        EXPECT_EQ(llvm::toString(verify(problem, schedule)), "");
      }
}

/// A larger round after a smaller one needs more forwards ahead than the first
/// round has left.
TEST(Interleaved, larger_rounds_later_deadlock) {
  ScheduleProblem problem = problemOf(ScheduleKind::Interleaved, 2, 2, 5);
  Schedule schedule = generate(ScheduleKind::Interleaved, problem);
  EXPECT_EQ(interleavedRounds(2, 5), (std::vector<int>{3, 2}));
  // The same pattern with the rounds exchanged: 2, then 3.
  Schedule exchanged{{{}, {}}};
  for (int rank = 0; rank < 2; ++rank) {
    std::vector<Action> forwards, backwards;
    for (auto [begin, end] : {std::pair(0, 2), std::pair(2, 5)})
      for (int chunk : {0, 1})
        for (int i = begin; i < end; ++i) {
          forwards.push_back({Kind::Forward, chunk, i});
          backwards.push_back({Kind::Backward, 1 - chunk, i});
        }
    size_t warmUp = 2 * (1 - rank) + 2;
    for (size_t k = 0; k < forwards.size() + warmUp; ++k) {
      if (k < forwards.size())
        exchanged.ranks[rank].push_back(forwards[k]);
      if (k >= warmUp)
        exchanged.ranks[rank].push_back(backwards[k - warmUp]);
    }
  }
  EXPECT_EQ(llvm::toString(verify(problem, schedule)), "");
  EXPECT_EQ(llvm::toString(verify(problem, exchanged)).rfind("deadlock: ", 0),
            0u);
}

/// Two ranks with one micro-batch.
ScheduleProblem twoRanks(int microBatches = 1) {
  return problemOf(ScheduleKind::GPipe, 2, 1, microBatches);
}

TEST(Verify, a_backward_before_its_forward_is_a_deadlock) {
  Schedule schedule{{{{Kind::Forward}, {Kind::Backward}},
                     {{Kind::Backward}, {Kind::Forward}}}};
  EXPECT_EQ(llvm::toString(verify(twoRanks(), schedule)),
            "deadlock: BW0.0 of rank 0, BW0.0 of rank 1 wait for each other or "
            "for what nobody does");
}

TEST(Verify, a_weight_gradient_waits_for_the_input_gradient) {
  Schedule schedule{{{{Kind::Forward}, {Kind::InputGrad}, {Kind::WeightGrad}},
                     {{Kind::Forward}, {Kind::WeightGrad}, {Kind::InputGrad}}}};
  EXPECT_EQ(llvm::toString(verify(twoRanks(), schedule)),
            "deadlock: B0.0 of rank 0, W0.0 of rank 1 wait for each other or "
            "for what nobody does");
}

TEST(Verify, says_what_is_missing_doubled_or_nowhere) {
  Schedule schedule{{{{Kind::Forward}, {Kind::Backward}}, {{Kind::Forward}}}};
  EXPECT_EQ(llvm::toString(verify(twoRanks(), schedule)),
            "B0.0 of rank 1 is missing");
  schedule.ranks[1] = {{Kind::Forward}, {Kind::Forward}, {Kind::Backward}};
  EXPECT_EQ(llvm::toString(verify(twoRanks(), schedule)),
            "F0.0 of rank 1 repeats what was done before");
  schedule.ranks[1] = {{Kind::Forward, 0, 1}, {Kind::Backward}};
  EXPECT_EQ(llvm::toString(verify(twoRanks(), schedule)),
            "F0.1 of rank 1 is of no chunk and micro-batch there");
  schedule.ranks.pop_back();
  EXPECT_EQ(llvm::toString(verify(twoRanks(), schedule)),
            "expects lists for 2 ranks but got 1");
}

/// Each rank sends before it receives, as a simple program might.
Schedule sendFirst(const ScheduleProblem &problem, Schedule schedule) {
  Schedule result;
  for (int rank = 0; rank < problem.ranks; ++rank) {
    std::vector<Action> actions;
    for (const Action &a : schedule.ranks[rank]) {
      bool forward = a.kind == Kind::Forward;
      bool first = rank == 0, last = rank + 1 == problem.ranks;
      if (forward ? !first : !last)
        actions.push_back(
            {forward ? Kind::ReceiveActivation : Kind::ReceiveGradient, 0,
             a.microBatch});
      actions.push_back(a);
      if (forward ? !last : !first)
        actions.push_back({forward ? Kind::SendActivation : Kind::SendGradient,
                           0, a.microBatch});
    }
    result.ranks.push_back(std::move(actions));
  }
  return result;
}

TEST(Verify, sends_that_block_deadlock_where_both_sides_send) {
  ScheduleProblem problem = problemOf(ScheduleKind::OneFOneB, 3, 1, 6);
  Schedule schedule =
      sendFirst(problem, generate(ScheduleKind::OneFOneB, problem));
  EXPECT_EQ(llvm::toString(verify(problem, schedule, SendMode::Buffered)), "");
  EXPECT_EQ(llvm::toString(verify(problem, schedule, SendMode::Blocking)),
            "deadlock: sA0.2 of rank 0, sA0.1 of rank 1, sG0.0 of rank 2 wait "
            "for each other or for what nobody does");
}

/// A forward pass has no backward; a list with only some backwards is
/// incomplete.
TEST(Verify, forwards_alone_are_a_forward_pass) {
  for (ScheduleKind kind :
       {ScheduleKind::GPipe, ScheduleKind::OneFOneB, ScheduleKind::ZeroBubbleH1,
        ScheduleKind::ZeroBubbleV, ScheduleKind::DualPipe,
        ScheduleKind::DualPipeV, ScheduleKind::Interleaved}) {
    ScheduleProblem problem =
        problemOf(kind, 4, kind == ScheduleKind::Interleaved ? 3 : 1, 8);
    Schedule all = generate(kind, problem), forwards = keepForwards(all);
    EXPECT_TRUE(all.hasBackward());
    EXPECT_FALSE(forwards.hasBackward());
    insertTransfers(problem, forwards);
    postReceives(problem, forwards);
    EXPECT_EQ(llvm::toString(verify(problem, forwards, SendMode::Posted)), "");
    forwards.ranks[2].push_back({Kind::Backward, 0, 0});
    EXPECT_EQ(llvm::toString(verify(problem, forwards, SendMode::Posted)),
              "B0.0 of rank 0 is missing");
  }
}

TEST(Verify, a_transfer_needs_both_ends) {
  ScheduleProblem problem = twoRanks();
  Schedule schedule = generate(ScheduleKind::GPipe, problem);
  insertTransfers(problem, schedule);
  Schedule whole = schedule;
  schedule.ranks[1].erase(schedule.ranks[1].begin());
  EXPECT_EQ(llvm::toString(verify(problem, schedule, SendMode::Buffered)),
            "sA0.0 of rank 0 has no rA0.0 of rank 1");
  schedule = whole;
  schedule.ranks[1].push_back({Kind::SendActivation, 0, 0});
  EXPECT_EQ(llvm::toString(verify(problem, schedule, SendMode::Buffered)),
            "sA0.0 of rank 1 has no other rank to go to");
}

} // namespace
