//===- ListEntriesTest.cpp - Lists of entries, executed by a test runner --===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A separate runner executes the entries of all pp ranks. It moves a value as
// late as possible: when one side waits for it. Each task checks its received
// values.
//
//===----------------------------------------------------------------------===//

#include "DescribeList.h"
#include "tessera/Schedule/Generators.h"
#include "gtest/gtest.h"
#include <deque>
#include <map>

using namespace tessera;
using namespace tessera::schedule;

namespace {

class Runner {
public:
  Runner(const ScheduleProblem &problem,
         std::vector<std::vector<int64_t>> lists)
      : problem(problem), lists(std::move(lists)), ranks(problem.ranks) {}

  /// True if all lists finish.
  bool run() {
    for (bool moves = true; moves;) {
      moves = false;
      for (int rank = 0; rank < problem.ranks; ++rank)
        while (step(rank))
          moves = true;
    }
    for (int rank = 0; rank < problem.ranks; ++rank)
      if (ranks[rank].at != lists[rank].size() || !ranks[rank].slots.empty())
        return false;
    return true;
  }
  int getTasks() const { return tasks; }

private:
  struct Transfer {
    int rank;
    int64_t slot, offset;
  };
  struct Rank {
    size_t at = 0;
    std::map<int64_t, std::string> memory;
    /// State in flight: whether it has arrived, and its communicator.
    struct Slot {
      bool done = false;
      std::tuple<int, int, int64_t> communicator;
    };
    std::map<int64_t, Slot> slots;
  };

  bool step(int rank) {
    Rank &here = ranks[rank];
    if (here.at == lists[rank].size())
      return false;
    const int64_t *entry = &lists[rank][here.at];
    size_t length =
        tessera_rt_entry_length(entry, lists[rank].size() - here.at);
    switch (entry[0]) {
    case TESSERA_RT_ENTRY_RUN:
      runTask(rank, entry[2], int(entry[3]), int(entry[4]));
      break;
    case TESSERA_RT_ENTRY_PAIR:
      runTask(rank, TESSERA_RT_TASK_F, int(entry[2]), int(entry[3]));
      runTask(rank, TESSERA_RT_TASK_BW, int(entry[4]), int(entry[5]));
      break;
    case TESSERA_RT_ENTRY_SEND:
    case TESSERA_RT_ENTRY_RECV: {
      bool sends = entry[0] == TESSERA_RT_ENTRY_SEND;
      int peer = int(entry[3]);
      std::tuple<int, int, int64_t> communicator{sends ? rank : peer,
                                                 sends ? peer : rank, entry[4]};
      EXPECT_TRUE(here.slots.insert({entry[1], {false, communicator}}).second);
      (sends ? sent : posted)[communicator].push_back(
          {rank, entry[1], entry[6]});
      break;
    }
    case TESSERA_RT_ENTRY_WAIT: {
      auto it = here.slots.find(entry[1]);
      if (it == here.slots.end()) {
        ADD_FAILURE() << "nothing is in flight";
        return false;
      }
      while (!it->second.done)
        if (!deliver(it->second.communicator))
          return false;
      here.slots.erase(it);
      break;
    }
    default:
      ADD_FAILURE() << "unexpected entry";
      return false;
    }
    here.at += length;
    return true;
  }

  /// Moves the next value of a communicator.
  bool deliver(const std::tuple<int, int, int64_t> &communicator) {
    auto &from = sent[communicator], &to = posted[communicator];
    if (from.empty() || to.empty())
      return false;
    Rank &sender = ranks[from.front().rank], &receiver = ranks[to.front().rank];
    receiver.memory[to.front().offset] = sender.memory[from.front().offset];
    sender.slots.at(from.front().slot).done = true;
    receiver.slots.at(to.front().slot).done = true;
    from.pop_front();
    to.pop_front();
    return true;
  }

  void runTask(int rank, int64_t kind, int chunk, int m) {
    ++tasks;
    if (kind == TESSERA_RT_TASK_W)
      return;
    bool isForward = kind == TESSERA_RT_TASK_F;
    int stage = problem.stageOf({rank, chunk});
    int before = isForward ? stage - 1 : stage + 1,
        after = isForward ? stage + 1 : stage - 1;
    auto name = [&](int of) {
      return (isForward ? "A" : "G") + std::to_string(of) + "." +
             std::to_string(m);
    };
    auto reads = isForward ? ReadsActivation : ReadsGradient;
    auto isStage = [&](int of) { return of >= 0 && of < problem.stages(); };
    if (isStage(before)) {
      EXPECT_EQ(ranks[rank].memory[offsetOf(reads, chunk, m)], name(before));
    }
    if (!isStage(after))
      return;
    Slot to = problem.slotOf(after, m);
    int64_t offset =
        to.rank == rank
            ? offsetOf(reads, to.chunk, m)
            : offsetOf(isForward ? SendsActivation : SendsGradient, chunk, m);
    ranks[rank].memory[offset] = name(stage);
  }

  const ScheduleProblem &problem;
  std::vector<std::vector<int64_t>> lists;
  std::vector<Rank> ranks;
  std::map<std::tuple<int, int, int64_t>, std::deque<Transfer>> sent, posted;
  int tasks = 0;
};

} // namespace

TEST(ListEntries, each_task_reads_what_the_neighbouring_stage_made) {
  for (ScheduleKind kind : allScheduleKinds())
    for (int ranks : {2, 4})
      for (int chunks : {1, 2, 3})
        for (int microBatches : {4, 8, 10}) {
          auto problem = makeProblem(kind, ranks, chunks, microBatches);
          if (!problem) {
            llvm::consumeError(problem.takeError());
            continue;
          }
          Schedule schedule = generate(kind, *problem);
          int computed = 0;
          for (const auto &actions : schedule.ranks)
            for (const Action &action : actions)
              computed += action.kind == ActionKind::Overlapped ? 2 : 1;
          insertTransfers(*problem, schedule);
          postReceives(*problem, schedule);
          for (bool pairs : {false, true}) {
            std::vector<std::vector<int64_t>> lists;
            for (int rank = 0; rank < ranks; ++rank) {
              auto entries =
                  writeEntries(*problem, schedule, rank,
                               describe(schedule.ranks[rank], pairs));
              ASSERT_TRUE(bool(entries)) << llvm::toString(entries.takeError());
              lists.push_back(*entries);
            }
            Runner runner(*problem, lists);
            EXPECT_TRUE(runner.run())
                << stringify(kind).str() << " " << ranks << " ranks, " << chunks
                << " chunks, " << microBatches << " micro-batches"
                << (pairs ? ", pairs" : "");
            EXPECT_EQ(runner.getTasks(), computed);
          }
        }
}

TEST(ListEntries, more_in_flight_than_there_are_slots) {
  auto problem = makeProblem(ScheduleKind::OneFOneB, 2, 1, 4);
  ASSERT_TRUE(bool(problem));
  Schedule schedule = generate(ScheduleKind::OneFOneB, *problem);
  insertTransfers(*problem, schedule);
  postReceives(*problem, schedule);
  ListMemory memory = describe(schedule.ranks[0], /*pairs=*/true);
  memory.freeSlots.resize(1);
  auto entries = writeEntries(*problem, schedule, 0, memory);
  ASSERT_FALSE(bool(entries));
  EXPECT_EQ(llvm::toString(entries.takeError()),
            "pp rank 0: expects at most 1 sends and receives in flight at one "
            "time but got more");
}
