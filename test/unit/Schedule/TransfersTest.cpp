//===- TransfersTest.cpp - Posted receives in a simulation of messages ----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Schedule/Generators.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <map>
#include <random>
#include <set>

using namespace tessera;
using namespace tessera::schedule;

namespace {

using Kind = ActionKind;

/// A value of a program: a stage's activation or gradient of a micro-batch,
/// named by the stage that reads it.
using Value = std::tuple<bool, int, int>;

/// Runs lists as a runtime does, message by message. A pair of ranks has a
/// queue for activations and one for gradients. A send puts its value into one
/// of two buffers; a posted receive takes the oldest value into its own.
///
/// The rank that moves next is drawn at random, which does not affect the
/// result: a move of one rank adds values, posted receives or free buffers and
/// takes nothing that another rank waits for, because each queue has one sender
/// and one receiver. So a rank that can move still can after any moves of
/// others, and all orders that continue as long as some rank can move end in
/// the same state.
class Runner {
public:
  Runner(const ScheduleProblem &problem, const Schedule &schedule)
      : problem(problem), schedule(schedule), ranks(problem.ranks) {}

  /// True if all ranks finish with the right values.
  bool run(std::mt19937 &random) {
    std::vector<int> order;
    for (int rank = 0; rank < problem.ranks; ++rank)
      order.push_back(rank);
    for (bool moved = true; moved && !mixedUp;) {
      moved = false;
      std::shuffle(order.begin(), order.end(), random);
      for (int rank : order)
        for (int i = 1 + random() % 3; i > 0 && step(rank); --i)
          moved = true;
    }
    for (int rank = 0; rank < problem.ranks; ++rank)
      if (ranks[rank].next < schedule.ranks[rank].size())
        return false;
    return !mixedUp;
  }

private:
  struct Rank {
    size_t next = 0;
    /// Values in memory: received, or made by a stage of the same rank.
    std::set<Value> values;
    /// (stage, micro-batch) pairs with a finished forward, and with a finished
    /// B.
    std::set<std::pair<int, int>> forwards, inputGrads;
  };
  /// The queue of one communicator.
  struct Queue {
    std::vector<Value> inBuffers, posted;
  };

  int stageOf(int rank, int chunk) const {
    return problem.stageOf({rank, chunk});
  }

  /// Moves values that have a posted receive.
  void deliver(int to, Queue &queue) {
    while (!queue.inBuffers.empty() && !queue.posted.empty()) {
      mixedUp |= queue.inBuffers.front() != queue.posted.front();
      ranks[to].values.insert(queue.inBuffers.front());
      queue.inBuffers.erase(queue.inBuffers.begin());
      queue.posted.erase(queue.posted.begin());
    }
  }

  bool canForward(int rank, int chunk, int m) {
    int stage = stageOf(rank, chunk);
    return stage == 0 || ranks[rank].values.count({false, stage, m});
  }
  bool canBackward(int rank, int chunk, int m) {
    int stage = stageOf(rank, chunk);
    return ranks[rank].forwards.count({stage, m}) &&
           (stage + 1 == problem.stages() ||
            ranks[rank].values.count({true, stage, m}));
  }
  /// Makes values for stages of the same rank available at once.
  void forward(int rank, int chunk, int m) {
    int stage = stageOf(rank, chunk);
    ranks[rank].forwards.insert({stage, m});
    if (stage + 1 < problem.stages() &&
        problem.slotOf(stage + 1, m).rank == rank)
      ranks[rank].values.insert({false, stage + 1, m});
  }
  void backward(int rank, int chunk, int m) {
    int stage = stageOf(rank, chunk);
    ranks[rank].inputGrads.insert({stage, m});
    if (stage > 0 && problem.slotOf(stage - 1, m).rank == rank)
      ranks[rank].values.insert({true, stage - 1, m});
  }

  bool send(int rank, const Action &a, bool isGradient) {
    int stage = stageOf(rank, a.chunk);
    const auto &made =
        isGradient ? ranks[rank].inputGrads : ranks[rank].forwards;
    int reader = stage + (isGradient ? -1 : 1);
    int to = problem.slotOf(reader, a.microBatch).rank;
    Queue &queue = queues[{rank, to, isGradient}];
    if (!made.count({stage, a.microBatch}) || queue.inBuffers.size() == 2)
      return false;
    queue.inBuffers.push_back({isGradient, reader, a.microBatch});
    deliver(to, queue);
    return true;
  }
  void receive(int rank, const Action &a, bool isGradient) {
    int stage = stageOf(rank, a.chunk);
    int maker = stage + (isGradient ? 1 : -1);
    int from = problem.slotOf(maker, a.microBatch).rank;
    Queue &queue = queues[{from, rank, isGradient}];
    queue.posted.push_back({isGradient, stage, a.microBatch});
    deliver(rank, queue);
  }

  /// Runs the next action of a rank if possible.
  bool step(int rank) {
    Rank &r = ranks[rank];
    if (r.next == schedule.ranks[rank].size())
      return false;
    const Action &a = schedule.ranks[rank][r.next];
    bool done = true;
    switch (a.kind) {
    case Kind::Forward:
      if ((done = canForward(rank, a.chunk, a.microBatch)))
        forward(rank, a.chunk, a.microBatch);
      break;
    case Kind::InputGrad:
    case Kind::Backward:
      if ((done = canBackward(rank, a.chunk, a.microBatch)))
        backward(rank, a.chunk, a.microBatch);
      break;
    case Kind::WeightGrad:
      done = r.inputGrads.count({stageOf(rank, a.chunk), a.microBatch});
      break;
    case Kind::Overlapped:
      done = canForward(rank, a.chunk, a.microBatch) &&
             canBackward(rank, a.backwardChunk, a.backwardMicroBatch);
      if (done) {
        forward(rank, a.chunk, a.microBatch);
        backward(rank, a.backwardChunk, a.backwardMicroBatch);
      }
      break;
    case Kind::SendActivation:
    case Kind::SendGradient:
      done = send(rank, a, a.kind == Kind::SendGradient);
      break;
    case Kind::ReceiveActivation:
    case Kind::ReceiveGradient:
      receive(rank, a, a.kind == Kind::ReceiveGradient);
      break;
    }
    r.next += done;
    return done;
  }

  const ScheduleProblem &problem;
  const Schedule &schedule;
  std::vector<Rank> ranks;
  std::map<std::tuple<int, int, bool>, Queue> queues;
  bool mixedUp = false;
};

/// Random problems and complete lists for them.
class RandomLists {
public:
  explicit RandomLists(unsigned seed) : random(seed) {}

  ScheduleProblem nextProblem() {
    int p = 1 + random() % 4, m = 1 + random() % 5;
    switch (random() % 4) {
    case 0:
      return llvm::cantFail(ScheduleProblem::make(Placement::Vee, p, 2, m));
    case 1:
      return llvm::cantFail(ScheduleProblem::make(Placement::Bidirectional, p,
                                                  2, 2 * (m / 2 + 1)));
    case 2: {
      // Stages are on random ranks, equally many on each.
      std::vector<int> ranks;
      for (int stage = 0, v = 1 + random() % 2; stage < p * v; ++stage)
        ranks.push_back(stage % p);
      std::shuffle(ranks.begin(), ranks.end(), random);
      return llvm::cantFail(ScheduleProblem::make(ranks, m));
    }
    default:
      return llvm::cantFail(
          ScheduleProblem::make(Placement::Loop, p, 1 + random() % 3, m));
    }
  }

  /// Orders the compute actions of each rank as some execution does, drawn
  /// action by action from those that can be next.
  Schedule consistent(const ScheduleProblem &problem) {
    std::vector<Task> left = tasks(problem, random() % 2);
    Schedule schedule;
    schedule.ranks.resize(problem.ranks);
    std::set<std::tuple<Kind, int, int>> done;
    auto isDone = [&](const Task &t, Kind kind, int stage) {
      if (stage < 0 || stage >= problem.stages())
        return true;
      return done.count({kind, stage, t.action.microBatch}) > 0;
    };
    // A list that takes its tasks mostly in order resembles a schedule; another
    // one fills the buffers.
    unsigned disorder = 1 + random() % 8;
    std::shuffle(left.begin(), left.end(), random);
    if (disorder < 5)
      std::stable_sort(left.begin(), left.end(),
                       [](const Task &a, const Task &b) {
                         return a.action.microBatch < b.action.microBatch;
                       });
    while (!left.empty()) {
      std::vector<size_t> ready;
      for (size_t i = 0; i < left.size() && ready.size() < disorder; ++i) {
        const Task &t = left[i];
        bool can = t.action.kind == Kind::Forward
                       ? isDone(t, Kind::Forward, t.stage - 1)
                   : t.action.kind == Kind::WeightGrad
                       ? isDone(t, Kind::InputGrad, t.stage)
                       : isDone(t, Kind::Forward, t.stage) &&
                             isDone(t, Kind::InputGrad, t.stage + 1);
        if (can)
          ready.push_back(i);
      }
      size_t i = ready[random() % ready.size()];
      const Task &t = left[i];
      schedule.ranks[t.rank].push_back(t.action);
      Kind kind =
          t.action.kind == Kind::Backward ? Kind::InputGrad : t.action.kind;
      done.insert({kind, t.stage, t.action.microBatch});
      left.erase(left.begin() + i);
    }
    return schedule;
  }

  /// Exchanges a few neighboring or arbitrary actions of a rank.
  void disturb(Schedule &schedule, int changes) {
    for (int i = 0; i < changes; ++i) {
      auto &actions = schedule.ranks[random() % schedule.ranks.size()];
      size_t a = random() % actions.size();
      size_t b = random() % 2 ? random() % actions.size()
                              : std::min(a + 1, actions.size() - 1);
      std::swap(actions[a], actions[b]);
    }
  }

  /// Pairs some forwards with the whole backwards after them.
  void overlap(Schedule &schedule) {
    for (std::vector<Action> &actions : schedule.ranks)
      for (size_t i = 1; i < actions.size(); ++i) {
        Action &a = actions[i - 1], &b = actions[i];
        if (a.kind != Kind::Forward || b.kind != Kind::Backward || random() % 2)
          continue;
        a = {Kind::Overlapped, a.chunk, a.microBatch, b.chunk, b.microBatch};
        actions.erase(actions.begin() + i);
      }
  }

  /// Inserts each send right after the action that makes its value.
  void insertSends(const ScheduleProblem &problem, Schedule &schedule) {
    for (int rank = 0; rank < problem.ranks; ++rank) {
      std::vector<Action> result;
      for (const Action &a : schedule.ranks[rank]) {
        result.push_back(a);
        auto add = [&](Kind send, int chunk, int microBatch) {
          Action transfer{send, chunk, microBatch};
          if (partnerOf(problem, rank, transfer))
            result.push_back(transfer);
        };
        if (a.kind == Kind::Forward || a.kind == Kind::Overlapped)
          add(Kind::SendActivation, a.chunk, a.microBatch);
        if (a.kind == Kind::InputGrad || a.kind == Kind::Backward)
          add(Kind::SendGradient, a.chunk, a.microBatch);
        if (a.kind == Kind::Overlapped)
          add(Kind::SendGradient, a.backwardChunk, a.backwardMicroBatch);
      }
      schedule.ranks[rank] = std::move(result);
    }
  }

  unsigned draw() { return random(); }
  std::mt19937 random;

private:
  struct Task {
    int rank, stage;
    Action action;
  };
  std::vector<Task> tasks(const ScheduleProblem &problem, bool splits) {
    std::vector<Task> all;
    for (int m = 0; m < problem.microBatches; ++m)
      for (int stage = 0; stage < problem.stages(); ++stage) {
        Slot slot = problem.slotOf(stage, m);
        all.push_back({slot.rank, stage, {Kind::Forward, slot.chunk, m}});
        Kind backward = splits ? Kind::InputGrad : Kind::Backward;
        all.push_back({slot.rank, stage, {backward, slot.chunk, m}});
        if (splits)
          all.push_back({slot.rank, stage, {Kind::WeightGrad, slot.chunk, m}});
      }
    return all;
  }
};

std::string print(const Schedule &schedule) {
  std::string text;
  llvm::raw_string_ostream os(text);
  schedule.print(os);
  return text;
}

TEST(Posted, accepts_exactly_what_runs_to_the_end) {
  RandomLists lists(17);
  int accepted = 0, deadlocks = 0, wrongOrder = 0;
  for (int i = 0; i < 100000; ++i) {
    ScheduleProblem problem = lists.nextProblem();
    Schedule schedule = lists.consistent(problem);
    if (i % 4 == 1)
      lists.disturb(schedule, 1 + lists.draw() % 3);
    bool isConsistent = i % 4 == 3;
    if (i % 3 == 0 && !isConsistent)
      lists.overlap(schedule);
    // Every consistent list can run with the receives of insertTransfers().
    if (isConsistent)
      insertTransfers(problem, schedule);
    else
      lists.insertSends(problem, schedule);
    postReceives(problem, schedule);
    if (i % 4 == 2)
      lists.disturb(schedule, 1);
    llvm::Error error = verify(problem, schedule, SendMode::Posted);
    bool isAccepted = !error;
    std::string text = llvm::toString(std::move(error));
    accepted += isAccepted;
    if (isConsistent)
      ASSERT_TRUE(isAccepted) << text << "\n" << print(schedule);
    bool isDeadlock = text.rfind("deadlock: ", 0) == 0;
    deadlocks += isDeadlock;
    wrongOrder += !isAccepted && !isDeadlock;
    bool ends = Runner(problem, schedule).run(lists.random);
    ASSERT_EQ(isAccepted, ends) << text << "\n" << print(schedule);
  }
  // All three outcomes occur.
  EXPECT_GT(accepted, 20000);
  EXPECT_GT(deadlocks, 1000);
  EXPECT_GT(wrongOrder, 100);
}

TEST(Posted, receives_are_one_compute_action_ahead) {
  ScheduleProblem problem =
      llvm::cantFail(makeProblem(ScheduleKind::OneFOneB, 2, 1, 3));
  Schedule schedule = generate(ScheduleKind::OneFOneB, problem);
  insertTransfers(problem, schedule);
  postReceives(problem, schedule);
  EXPECT_EQ(print(schedule),
            "rank 0: F0.0 rG0.0 sA0.0 F0.1 sA0.1 BW0.0 rG0.1 F0.2 rG0.2 sA0.2 "
            "BW0.1 BW0.2\n"
            "rank 1: rA0.0 F0.0 rA0.1 BW0.0 sG0.0 F0.1 rA0.2 BW0.1 sG0.1 F0.2 "
            "BW0.2 sG0.2\n");
  EXPECT_EQ(llvm::toString(verify(problem, schedule, SendMode::Posted)), "");
  // A second call changes nothing.
  Schedule again = schedule;
  postReceives(problem, again);
  EXPECT_EQ(again, schedule);
}

/// If a later value is needed first, the earlier one is received before it.
TEST(Posted, receives_have_the_order_of_the_sends) {
  ScheduleProblem problem =
      llvm::cantFail(ScheduleProblem::make(Placement::Loop, 2, 1, 2));
  Schedule schedule{{{{Kind::Forward, 0, 0},
                      {Kind::SendActivation, 0, 0},
                      {Kind::Forward, 0, 1},
                      {Kind::SendActivation, 0, 1},
                      {Kind::Backward, 0, 1},
                      {Kind::Backward, 0, 0}},
                     {{Kind::Forward, 0, 1},
                      {Kind::Backward, 0, 1},
                      {Kind::SendGradient, 0, 1},
                      {Kind::Forward, 0, 0},
                      {Kind::Backward, 0, 0},
                      {Kind::SendGradient, 0, 0}}}};
  postReceives(problem, schedule);
  EXPECT_EQ(print(schedule),
            "rank 0: F0.0 rG0.1 sA0.0 F0.1 rG0.0 sA0.1 BW0.1 BW0.0\n"
            "rank 1: rA0.0 rA0.1 F0.1 BW0.1 sG0.1 F0.0 BW0.0 sG0.0\n");
  EXPECT_EQ(llvm::toString(verify(problem, schedule, SendMode::Posted)), "");
  std::swap(schedule.ranks[1][0], schedule.ranks[1][1]);
  EXPECT_EQ(llvm::toString(verify(problem, schedule, SendMode::Posted)),
            "rA0.1 of rank 1 is posted as number 0 of its communicator, but "
            "sA0.1 of rank 0 is number 1");
}

/// Rank 0 continues forward with all micro-batches while rank 1 waits for the
/// gradient of the first.
Schedule runsAhead(int microBatches) {
  Schedule schedule{{{{Kind::Forward, 0, 0}, {Kind::Forward, 1, 0}}, {}}};
  std::vector<Action> &first = schedule.ranks[0], &second = schedule.ranks[1];
  for (int i = 1; i < microBatches; ++i)
    first.push_back({Kind::Forward, 0, i});
  for (int i = 0; i < microBatches; ++i) {
    if (i > 0)
      first.push_back({Kind::Forward, 1, i});
    for (int chunk : {1, 0})
      first.push_back({Kind::Backward, chunk, i});
    for (int chunk : {0, 1})
      second.push_back({Kind::Forward, chunk, i});
    for (int chunk : {1, 0})
      second.push_back({Kind::Backward, chunk, i});
  }
  return schedule;
}

TEST(Posted, a_send_waits_for_one_of_two_buffers) {
  auto check = [](int m) {
    ScheduleProblem problem =
        llvm::cantFail(ScheduleProblem::make(Placement::Loop, 2, 2, m));
    Schedule schedule = runsAhead(m);
    EXPECT_EQ(llvm::toString(verify(problem, schedule)), "");
    insertTransfers(problem, schedule);
    postReceives(problem, schedule);
    EXPECT_EQ(llvm::toString(verify(problem, schedule, SendMode::Posted)), "");
    // All receives come after the first micro-batch: two values find a buffer,
    // and a third does not.
    std::vector<Action> &actions = schedule.ranks[1], late;
    llvm::erase_if(actions, [&](const Action &a) {
      bool isLate = a.kind == Kind::ReceiveActivation && a.microBatch > 0;
      if (isLate)
        late.push_back(a);
      return isLate;
    });
    auto after = llvm::find(actions, Action{Kind::Backward, 0, 0});
    actions.insert(after + 1, late.begin(), late.end());
    return llvm::toString(verify(problem, schedule, SendMode::Posted));
  };
  EXPECT_EQ(check(3), "");
  EXPECT_EQ(check(4), "deadlock: sA0.3 of rank 0, BW0.0 of rank 1 wait for "
                      "each other or for what nobody does");
}

/// Rank 0 runs forwards while rank 1 runs its first backward, as in zb-2p. The
/// receives of its sends are posted in time, so rank 0 does not wait for
/// buffers.
TEST(Posted, receives_come_earlier_for_a_sender_that_runs_ahead) {
  ScheduleProblem problem =
      llvm::cantFail(makeProblem(ScheduleKind::OneFOneB, 2, 1, 5));
  Schedule schedule{{{}, {}}};
  for (int i = 0; i < 5; ++i) {
    schedule.ranks[0].push_back({Kind::Forward, 0, i});
    schedule.ranks[1].push_back({Kind::Forward, 0, i});
    schedule.ranks[1].push_back({Kind::Backward, 0, i});
  }
  for (int i = 0; i < 5; ++i)
    schedule.ranks[0].push_back({Kind::Backward, 0, i});
  insertTransfers(problem, schedule);
  postReceives(problem, schedule);
  // Rank 0 sends the last of five values at 5 and waits for the third. Rank 1
  // posts the third at 4, after BW0.0, although F0.2 needs it only after F0.1
  // and BW0.1.
  EXPECT_EQ(print(schedule),
            "rank 0: F0.0 sA0.0 F0.1 sA0.1 F0.2 sA0.2 F0.3 rG0.0 sA0.3 F0.4 "
            "rG0.1 sA0.4 BW0.0 rG0.2 BW0.1 rG0.3 BW0.2 rG0.4 BW0.3 BW0.4\n"
            "rank 1: rA0.0 F0.0 rA0.1 BW0.0 rA0.2 sG0.0 F0.1 BW0.1 sG0.1 F0.2 "
            "rA0.3 BW0.2 sG0.2 F0.3 rA0.4 BW0.3 sG0.3 F0.4 BW0.4 sG0.4\n");
  EXPECT_EQ(llvm::toString(verify(problem, schedule, SendMode::Posted)), "");
}

/// If buffers are not enough, receives are posted when their values are made.
TEST(Posted, receives_come_earlier_where_buffers_do_not_do) {
  ScheduleProblem problem =
      llvm::cantFail(ScheduleProblem::make(Placement::Loop, 2, 2, 5));
  Schedule schedule = runsAhead(5);
  insertTransfers(problem, schedule);
  postReceives(problem, schedule);
  EXPECT_EQ(llvm::toString(verify(problem, schedule, SendMode::Posted)), "");
}

TEST(Posted, a_value_may_not_lack_both_ends) {
  ScheduleProblem problem =
      llvm::cantFail(makeProblem(ScheduleKind::GPipe, 2, 1, 2));
  Schedule schedule = generate(ScheduleKind::GPipe, problem);
  insertTransfers(problem, schedule);
  for (std::vector<Action> &actions : schedule.ranks)
    llvm::erase_if(actions, [](const Action &a) {
      return isTransfer(a.kind) && a.microBatch == 1;
    });
  EXPECT_EQ(llvm::toString(verify(problem, schedule, SendMode::Posted)),
            "rG0.1 of rank 0 is missing");
}

TEST(Posted, says_what_is_missing_doubled_or_nowhere) {
  ScheduleProblem problem =
      llvm::cantFail(makeProblem(ScheduleKind::ZeroBubbleH1, 2, 1, 4));
  Schedule whole = generate(ScheduleKind::ZeroBubbleH1, problem);
  insertTransfers(problem, whole);
  postReceives(problem, whole);
  auto errorOf = [&](const Schedule &schedule) {
    return llvm::toString(verify(problem, schedule, SendMode::Posted));
  };
  for (size_t i = 0; i < whole.ranks[0].size(); ++i) {
    std::string name;
    llvm::raw_string_ostream os(name);
    os << whole.ranks[0][i];
    Schedule schedule = whole;
    schedule.ranks[0].erase(schedule.ranks[0].begin() + i);
    EXPECT_NE(errorOf(schedule).find(name + " of rank 0"), std::string::npos)
        << name << ": " << errorOf(schedule);
    schedule = whole;
    schedule.ranks[0].push_back(whole.ranks[0][i]);
    EXPECT_EQ(errorOf(schedule),
              name + " of rank 0 repeats what was done before");
  }
  Schedule schedule = whole;
  schedule.ranks[1].push_back({Kind::Forward, 0, 4});
  EXPECT_EQ(errorOf(schedule),
            "F0.4 of rank 1 is of no chunk and micro-batch there");
}

/// The lists of all kinds run with two buffers and with receives posted one
/// compute action ahead.
TEST(Posted, all_kinds_run) {
  int count = 0;
  for (ScheduleKind kind : allScheduleKinds())
    for (int p = 1; p <= 8; ++p)
      for (int v = 1; v <= (kind == ScheduleKind::Interleaved ? 4 : 1); ++v)
        for (int m = 1; m <= 3 * p + 3; ++m) {
          auto problem = makeProblem(kind, p, v, m);
          if (!problem) {
            llvm::consumeError(problem.takeError());
            continue;
          }
          SCOPED_TRACE(testing::Message()
                       << stringify(kind).str() << " on " << p << " ranks, "
                       << v << " chunks, " << m << " micro-batches");
          Schedule schedule = generate(kind, *problem);
          insertTransfers(*problem, schedule);
          EXPECT_EQ(
              llvm::toString(verify(*problem, schedule, SendMode::Blocking)),
              "");
          postReceives(*problem, schedule);
          EXPECT_EQ(
              llvm::toString(verify(*problem, schedule, SendMode::Posted)), "");
          ++count;
        }
  EXPECT_GT(count, 1000);
}

} // namespace
