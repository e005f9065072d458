//===- ListTimesTest.cpp - The runtime's report and the simulation --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime replays lists with measured times by itself, because it does not
// use the compiler. Both must give the same result for the same times.
//
//===----------------------------------------------------------------------===//

#include "DescribeList.h"
#include "runtime/src/run/PipelineReport.h"
#include "tessera/Schedule/Generators.h"
#include "gtest/gtest.h"
#include <random>

using namespace tessera;
using namespace tessera::schedule;

namespace {

/// The stamps of a list whose tasks took these times, one after the other.
std::vector<rt::Stamp> makeStamps(llvm::ArrayRef<int64_t> entries,
                                  llvm::ArrayRef<ChunkTimes> chunks) {
  std::vector<rt::Stamp> stamps;
  double now = 0;
  while (int64_t length =
             tessera_rt_entry_length(entries.data(), entries.size())) {
    rt::Stamp stamp;
    stamp.kind = static_cast<int32_t>(entries[0]);
    stamp.begin = now;
    if (stamp.kind == TESSERA_RT_ENTRY_PAIR) {
      const ChunkTimes &f = chunks[entries[2]], &bw = chunks[entries[4]];
      stamp.kind = TESSERA_RT_ENTRY_RUN;
      stamp.function = static_cast<int32_t>(entries[1]);
      now += f.forward + bw.inputGrad + bw.weightGrad;
    } else if (stamp.kind == TESSERA_RT_ENTRY_RUN) {
      const ChunkTimes &t = chunks[entries[3]];
      const double seconds[] = {t.forward, t.inputGrad, t.weightGrad,
                                t.inputGrad + t.weightGrad};
      stamp.function = static_cast<int32_t>(entries[1]);
      now += seconds[entries[2]];
    } else {
      stamp.slot = static_cast<int32_t>(entries[1]);
    }
    if (stamp.kind == TESSERA_RT_ENTRY_SEND ||
        stamp.kind == TESSERA_RT_ENTRY_RECV) {
      stamp.peer = static_cast<int32_t>(entries[3]);
      stamp.tag = static_cast<int32_t>(entries[4]);
    }
    stamp.end = now;
    stamps.push_back(stamp);
    entries = entries.drop_front(length);
  }
  return stamps;
}

/// A schedule with the runtime's stamps, for different times of each chunk.
struct Stamped {
  Stamped(const ScheduleProblem &problem, Schedule schedule,
          std::minstd_rand &random) {
    std::uniform_real_distribution<double> seconds(0.5, 2);
    for (int i = 0; i < problem.ranks * problem.chunks; ++i)
      times.chunks.push_back(
          {seconds(random), seconds(random), seconds(random), -1});
    link = seconds(random) / 3;
    times.links.assign(problem.numLinks(), link);
    insertTransfers(problem, schedule);
    postReceives(problem, schedule);
    for (int rank = 0; rank < problem.ranks; ++rank)
      stamps.push_back(
          makeStamps(llvm::cantFail(writeEntries(
                         problem, schedule, rank,
                         describe(schedule.ranks[rank], /*pairs=*/true))),
                     llvm::ArrayRef(times.chunks)
                         .slice(rank * problem.chunks, problem.chunks)));
  }

  PipelineTimes times;
  double link = 0;
  rt::Stamps stamps;
};

} // namespace

TEST(ListTimes, a_replay_is_the_simulation) {
  std::minstd_rand random(1);
  for (ScheduleKind kind : allScheduleKinds())
    for (int ranks : {2, 4, 8})
      for (int chunks : {1, 2, 3})
        for (int microBatches : {8, 16, 18}) {
          auto problem = makeProblem(kind, ranks, chunks, microBatches);
          if (!problem) {
            llvm::consumeError(problem.takeError());
            continue;
          }
          Schedule schedule = generate(kind, *problem);
          Stamped stamped(*problem, schedule, random);
          ScheduleTiming expected =
              CompiledSchedule(*problem, schedule).simulate(stamped.times);
          rt::ListTiming timing = rt::replayLists(
              stamped.stamps, rt::StridedAxis{1, ranks}, stamped.link);
          EXPECT_NEAR(timing.makespan, expected.makespan(), 1e-9)
              << stringify(kind).str() << " " << ranks << " ranks, " << chunks
              << " chunks, " << microBatches << " micro-batches";
          EXPECT_NEAR(timing.bubble(),
                      1 - expected.maxBusy() / expected.makespan(), 1e-9);
        }
}

TEST(ListTimes, medians_are_of_each_function) {
  using rt::Stamp;
  auto task = [](int function, double begin, double end) {
    Stamp stamp;
    stamp.kind = TESSERA_RT_ENTRY_RUN;
    stamp.function = function;
    stamp.begin = begin;
    stamp.end = end;
    return stamp;
  };
  rt::Stamps stamps{
      {task(0, 10, 11), task(0, 11, 21), task(0, 21, 22), task(1, 25, 30)},
      {task(0, 12, 14)}};
  rt::ListTiming measured = rt::measureLists(stamps);
  EXPECT_EQ(measured.makespan, 20);
  EXPECT_EQ(measured.busy, (std::vector<double>{17, 2}));
  EXPECT_DOUBLE_EQ(measured.bubble(), 1 - 17. / 20);
  rt::ListTiming timing = rt::replayLists(stamps, rt::StridedAxis{1, 2}, 0);
  EXPECT_EQ(timing.makespan, 8);
  EXPECT_EQ(timing.busy, (std::vector<double>{8, 2}));
}

TEST(ListTimes, lists_that_do_not_end) {
  rt::Stamp receive, wait;
  receive.kind = TESSERA_RT_ENTRY_RECV;
  receive.peer = 1;
  wait.kind = TESSERA_RT_ENTRY_WAIT;
  rt::ListTiming timing =
      rt::replayLists({{receive, wait}, {}}, rt::StridedAxis{1, 2}, 0);
  EXPECT_TRUE(std::isnan(timing.bubble()));
}
