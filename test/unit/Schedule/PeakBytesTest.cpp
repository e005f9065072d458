//===- PeakBytesTest.cpp - Bytes of a pipeline, counted by hand -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Schedule/PeakBytes.h"
#include "tessera/Schedule/Generators.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <random>

using namespace tessera;
using namespace tessera::schedule;

namespace {

using Kind = ActionKind;

/// Visits the lists of all kinds with few ranks, as programs run them.
template <typename Body> void forEachSchedule(Body body) {
  for (ScheduleKind kind : allScheduleKinds())
    for (int p : {1, 2, 4})
      for (int m : {2, 5, 8, 11}) {
        auto problem = makeProblem(kind, p, 2, m);
        if (!problem) {
          llvm::consumeError(problem.takeError());
          continue;
        }
        SCOPED_TRACE(testing::Message() << stringify(kind).str() << " on " << p
                                        << " ranks, " << m << " batches");
        Schedule schedule = generate(kind, *problem);
        insertTransfers(*problem, schedule);
        postReceives(*problem, schedule);
        body(*problem, schedule);
      }
}

/// Scans a list once for each question, without any bookkeeping.
class ListReader {
public:
  ListReader(const ScheduleProblem &problem, const Schedule &schedule, int rank)
      : problem(problem), actions(schedule.ranks[rank]), rank(rank) {}

  /// The position of a task of a stage, -1 if it is on another rank.
  int find(Kind task, int stage, int m) const {
    for (int i = 0; i < int(actions.size()); ++i) {
      const Action &a = actions[i];
      auto is = [&](int chunk, int microBatch) {
        return microBatch == m && problem.stageOf({rank, chunk}) == stage &&
               problem.passes({rank, chunk}, m);
      };
      bool same = a.kind == task && is(a.chunk, a.microBatch);
      bool backward = task == Kind::InputGrad || task == Kind::WeightGrad;
      if (backward)
        same |= (a.kind == Kind::Backward && is(a.chunk, a.microBatch)) ||
                (a.kind == Kind::Overlapped &&
                 is(a.backwardChunk, a.backwardMicroBatch));
      if (task == Kind::Forward)
        same |= a.kind == Kind::Overlapped && is(a.chunk, a.microBatch);
      if (same)
        return i;
    }
    return -1;
  }

  /// The position at which a sent value is known to have arrived: the second
  /// send after it to the same rank and of the same kind.
  int findArrival(int send) const {
    auto to = [&](const Action &a) {
      return partnerOf(problem, rank, a)->first;
    };
    int seen = 0;
    for (int i = send + 1; i < int(actions.size()); ++i)
      if (actions[i].kind == actions[send].kind &&
          to(actions[i]) == to(actions[send]) && ++seen == 2)
        return i;
    return actions.size() - 1;
  }

  /// All bytes but the fixed ones at a position.
  int64_t bytesAt(int now, const PipelineBytes &sizes) const {
    int64_t sum = 0;
    auto held = [&](int64_t bytes, int from, int to) {
      if (from >= 0 && from <= now && now <= to)
        sum += bytes;
    };
    for (int stage = 0; stage < problem.stages(); ++stage)
      for (int m = 0; m < problem.microBatches; ++m) {
        const StageBytes &b = sizes.stages[stage];
        int f = find(Kind::Forward, stage, m);
        int i = find(Kind::InputGrad, stage, m);
        int w = find(Kind::WeightGrad, stage, m);
        held(b.forwardToInputGrad, f, i);
        held(b.forwardToWeightGrad, f, w);
        held(i == w ? 0 : b.inputGradToWeightGrad, i, w);
        // The value is read here: from the receive, or from a stage on this
        // rank.
        int before = find(Kind::Forward, stage - 1, m);
        int received = find(Kind::ReceiveActivation, stage, m);
        held(b.activation, f < 0 ? -1 : std::max(before, received),
             find(b.until.activation, stage, m));
        int after = find(Kind::InputGrad, stage + 1, m);
        received = find(Kind::ReceiveGradient, stage, m);
        held(b.gradient, i < 0 ? -1 : std::max(after, received),
             find(b.until.gradient, stage, m));
        // The value is made here for another rank.
        if (int send = find(Kind::SendActivation, stage, m); send >= 0)
          held(sizes.stages[stage + 1].activation, f, findArrival(send));
        if (int send = find(Kind::SendGradient, stage, m); send >= 0)
          held(sizes.stages[stage - 1].gradient, i, findArrival(send));
      }
    const Action &a = actions[now];
    const StageBytes &own = sizes.stages[problem.stageOf({rank, a.chunk})];
    const std::pair<Kind, int64_t> scratch[] = {
        {Kind::Forward, own.forward},
        {Kind::InputGrad, own.inputGrad},
        {Kind::WeightGrad, own.weightGrad},
        {Kind::Backward, own.backward},
        {Kind::Overlapped, own.overlapped}};
    for (auto [kind, bytes] : scratch)
      sum += kind == a.kind ? bytes : 0;
    return sum;
  }

  int length() const { return actions.size(); }

private:
  const ScheduleProblem &problem;
  const std::vector<Action> &actions;
  int rank;
};

TEST(PeakBytes, equals_a_count_at_each_position) {
  std::mt19937 random(5);
  forEachSchedule(
      [&](const ScheduleProblem &problem, const Schedule &schedule) {
        auto bytes = [&] { return int64_t(random() % 1000); };
        PipelineBytes sizes;
        for (int rank = 0; rank < problem.ranks; ++rank)
          sizes.fixed.push_back(bytes());
        constexpr Kind kReaders[] = {Kind::Forward, Kind::InputGrad,
                                     Kind::WeightGrad};
        for (int stage = 0; stage < problem.stages(); ++stage)
          sizes.stages.push_back({bytes(), bytes(), bytes(), bytes(), bytes(),
                                  kReaders[random() % 3],
                                  kReaders[1 + random() % 2], bytes(), bytes(),
                                  bytes(), bytes(), bytes()});
        std::vector<int64_t> peaks = peakBytes(problem, schedule, sizes);
        for (int rank = 0; rank < problem.ranks; ++rank) {
          ListReader reader(problem, schedule, rank);
          int64_t most = 0;
          for (int i = 0; i < reader.length(); ++i)
            most = std::max(most, reader.bytesAt(i, sizes));
          EXPECT_EQ(peaks[rank], sizes.fixed[rank] + most) << "rank " << rank;
        }
      });
}

TEST(PeakBytes, two_ranks_by_hand) {
  ScheduleProblem problem =
      llvm::cantFail(makeProblem(ScheduleKind::GPipe, 2, 1, 2));
  Schedule schedule = generate(ScheduleKind::GPipe, problem);
  insertTransfers(problem, schedule);
  postReceives(problem, schedule);
  std::string text;
  llvm::raw_string_ostream os(text);
  schedule.print(os);
  ASSERT_EQ(text, "rank 0: F0.0 rG0.0 sA0.0 F0.1 rG0.1 sA0.1 BW0.0 BW0.1\n"
                  "rank 1: rA0.0 rA0.1 F0.0 F0.1 BW0.0 sG0.0 BW0.1 sG0.1\n");
  StageBytes stage;
  stage.forwardToWeightGrad = 1;
  stage.activation = 10;
  stage.gradient = 100;
  stage.backward = 1000;
  PipelineBytes sizes{{5, 6}, {stage, stage}};
  // Rank 0 at BW0.0: two frames, two activations that may be in flight, two
  // posted gradients. Rank 1 at BW0.1: one frame, two gradients.
  EXPECT_EQ(
      peakBytes(problem, schedule, sizes),
      (std::vector<int64_t>{5 + 2 + 20 + 200 + 1000, 6 + 1 + 200 + 1000}));
  // W reads the activation too.
  sizes.stages[1].until.activation = Kind::WeightGrad;
  EXPECT_EQ(peakBytes(problem, schedule, sizes)[1], 6 + 1 + 10 + 200 + 1000);
}

/// If stages have only frames, the peak equals peakActivations().
TEST(PeakBytes, frames_alone_are_the_activations) {
  forEachSchedule([](const ScheduleProblem &problem, const Schedule &schedule) {
    PipelineBytes sizes;
    sizes.fixed.assign(problem.ranks, 0);
    StageBytes stage;
    stage.forwardToInputGrad = 1;
    stage.forwardToWeightGrad = 3;
    sizes.stages.assign(problem.stages(), stage);
    std::vector<int64_t> peaks = peakBytes(problem, schedule, sizes);
    std::vector<double> live = peakActivations(problem, schedule, 0.75);
    for (int rank = 0; rank < problem.ranks; ++rank)
      EXPECT_EQ(peaks[rank], live[rank] / problem.chunkShare() * 4);
  });
}

TEST(CountAlive, of_known_schedules) {
  auto counts = [](ScheduleKind kind, int p, int v, int m) {
    ScheduleProblem problem = llvm::cantFail(makeProblem(kind, p, v, m));
    return countAlive(problem, generate(kind, problem));
  };
  auto plain = counts(ScheduleKind::OneFOneB, 4, 1, 12);
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_EQ(plain[rank][0], (MicroBatchesAlive{4 - rank, 4 - rank, 0}));
  // A rank that lacks micro-batches defers as many weight gradients.
  auto h1 = counts(ScheduleKind::ZeroBubbleH1, 4, 1, 12);
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_EQ(h1[rank][0], (MicroBatchesAlive{4 - rank, 4, rank + 1}));
  // The last chunk starts the backward at once; if a smaller round follows the
  // first, one micro-batch later.
  for (auto [m, alive] : {std::pair(12, 1), {11, 2}}) {
    auto interleaved = counts(ScheduleKind::Interleaved, 4, 2, m);
    EXPECT_EQ(interleaved[3][1].forwardToInputGrad, alive) << m;
  }
}

TEST(CountAlive, equals_a_count_at_each_position) {
  forEachSchedule([](const ScheduleProblem &problem, const Schedule &schedule) {
    auto alive = countAlive(problem, schedule);
    for (int rank = 0; rank < problem.ranks; ++rank) {
      ListReader reader(problem, schedule, rank);
      for (int chunk = 0; chunk < problem.chunks; ++chunk) {
        MicroBatchesAlive most;
        int stage = problem.stageOf({rank, chunk});
        for (int now = 0; now < reader.length(); ++now) {
          MicroBatchesAlive sum;
          for (int m = 0; m < problem.microBatches; ++m) {
            if (!problem.passes({rank, chunk}, m))
              continue;
            int f = reader.find(Kind::Forward, stage, m);
            int i = reader.find(Kind::InputGrad, stage, m);
            int w = reader.find(Kind::WeightGrad, stage, m);
            sum.forwardToInputGrad += f <= now && now <= i;
            sum.forwardToWeightGrad += f <= now && now <= w;
            sum.inputGradToWeightGrad += i != w && i <= now && now <= w;
          }
          most.forwardToInputGrad =
              std::max(most.forwardToInputGrad, sum.forwardToInputGrad);
          most.forwardToWeightGrad =
              std::max(most.forwardToWeightGrad, sum.forwardToWeightGrad);
          most.inputGradToWeightGrad =
              std::max(most.inputGradToWeightGrad, sum.inputGradToWeightGrad);
        }
        EXPECT_EQ(alive[rank][chunk], most);
      }
    }
  });
}

} // namespace
