//===- OverlapSchedule.cpp - List scheduling of work and transfers --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// List scheduling with a clock (R. L. Graham: Bounds on Multiprocessing Timing
// Anomalies, 1969). Each turn starts the collectives that can start, ordered by
// the first op that needs their result, and then runs one op: the next of the
// program, or a later one if only the next one would stall. Four ops and an
// all-reduce R, all in memory that fits:
//
//     program    a: 4 s, R: 6 s after a, b: 3 s, u: 2 s after R, c: 2 s
//     blocking   |a a a a|R R R R R R|b b b|u u|c c|       17 s
//     scheduled  |a a a a|b b b|c c|-|u u|                 12 s
//                        |R R R R R R|                     1 s exposed
//
//     order      run a, start R, run b, run c, wait R, run u
//
// At 7 s u is next but would stall until 10 s, so c runs first. At 9 s nothing
// else can run, and the device waits.
//
// Memory: an op or a collective that begins before its turn must leave room for
// the rest in program order. A segment tree holds this forecast.
//
//===----------------------------------------------------------------------===//

#include "tessera/Collectives/OverlapSchedule.h"
#include "SegmentTree.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

using namespace tessera;

/// Number of ops to look ahead for one that does not stall.
static constexpr unsigned kWindow = 256;

namespace {

class ListScheduler {
public:
  ListScheduler(const OverlapProblem &problem, int64_t limit);
  OverlapOrder run();

private:
  /// The priority of a task: (needed, number).
  using Turn = std::pair<unsigned, unsigned>;

  const OverlapTask &task(unsigned i) const { return problem.tasks[i]; }
  bool inFlight(unsigned i) const { return started[i] && !over[i]; }

  int64_t bytesToBegin(unsigned i) const;
  int64_t bytesFreedBy(unsigned i) const;
  bool fits(unsigned i) const {
    return live + bytesToBegin(i) + task(i).insideBytes <= limit;
  }
  /// True if a task that begins before its turn leaves room for all tasks
  /// before it in the program.
  bool fitsEarly(unsigned i) const {
    return fits(i) &&
           (i <= front || planned.get(front, i) <= limit - bytesToBegin(i));
  }
  void begin(unsigned i);
  void end(unsigned i);
  void start(unsigned i);
  void wait(unsigned i);
  void compute(unsigned i);

  void noteStarted(unsigned i);
  void moveFront();
  double readyTime(unsigned i) const;
  bool isStartable(unsigned i) const;
  void startTransfers();
  void startNow(unsigned i);
  void makeRoom(unsigned i);
  void waitForFinished();
  std::optional<unsigned> findOther() const;
  std::optional<Turn> nextReady(Turn turn, double until) const;

  const OverlapProblem &problem;
  int64_t limit;
  OverlapOrder order;
  std::vector<bool> started, over;
  /// The time at which a started collective ends.
  std::vector<double> finish;
  /// The position of the first task that needs a collective: its priority.
  std::vector<unsigned> needed;
  /// The blocks that each task touches.
  std::vector<llvm::SmallVector<unsigned, 4>> blocksOf;
  std::vector<unsigned> blockLeft;
  std::vector<bool> blockLives;
  /// The tasks that have each task in their `after`, and the number of each
  /// task's `after` that have not started.
  std::vector<llvm::SmallVector<unsigned, 4>> users;
  std::vector<unsigned> unstarted;
  /// Collectives that have not started; and, per communicator, the waiting ones
  /// whose `after` have all started.
  std::set<Turn> waiting;
  std::map<int, std::set<Turn>> readyOn;
  /// Collectives that may not start yet, by (notBefore, number).
  std::set<Turn> later;
  /// Collectives in flight, by (finish, number).
  std::set<std::pair<double, unsigned>> flying;
  llvm::DenseMap<int, double> communicatorFree;
  double now = 0;
  int64_t live = 0;
  /// Live bytes while each task runs, if all tasks from now on ran one by one
  /// in program order.
  SegmentTree planned;
  /// True inside makeRoom, which does not call itself again.
  bool makesRoom = false;
  /// The first op that has not run, and the next barrier from it on.
  unsigned front = 0, barrier = 0;
  /// Ops that have not run and whose `after` have all started.
  std::set<unsigned> readyOps;
  /// The end of the next kWindow ops after `front` that have not run, and their
  /// number.
  unsigned windowEnd = 0, inWindow = 0;
  /// All collectives before this one have started.
  unsigned firstTransfer = 0;
};

} // namespace

/// Returns the live bytes while each task runs in program order: prefix sums of
/// the bytes allocated before a task and freed after it.
static std::vector<int64_t> getProfile(const OverlapProblem &problem) {
  std::vector<int64_t> live(problem.tasks.size() + 1, 0);
  for (const OverlapBlock &block : problem.blocks) {
    auto [first, last] =
        std::minmax_element(block.tasks.begin(), block.tasks.end());
    live[*first] += block.bytes;
    live[*last + 1] -= block.bytes;
  }
  for (size_t i = 1; i < live.size(); ++i)
    live[i] += live[i - 1];
  live.pop_back();
  for (size_t i = 0; i < live.size(); ++i)
    live[i] += problem.tasks[i].insideBytes;
  return live;
}

ListScheduler::ListScheduler(const OverlapProblem &problem, int64_t limit)
    : problem(problem), limit(limit), planned(getProfile(problem)) {
  unsigned n = problem.tasks.size();
  started.resize(n);
  over.resize(n);
  finish.resize(n);
  blocksOf.resize(n);
  users.resize(n);
  needed.assign(n, n);
  // Finds the first op that needs a task, also through tasks that take no time
  // and through other collectives. Goes backwards, so that users are done
  // first.
  for (unsigned i = n; i-- > 0;) {
    bool passesOn = task(i).isTransfer() || task(i).seconds == 0;
    for (unsigned other : task(i).after)
      needed[other] = std::min(needed[other], passesOn ? needed[i] : i);
  }
  for (unsigned i = 0; i < n; ++i) {
    for (unsigned other : task(i).after)
      users[other].push_back(i);
    unstarted.push_back(task(i).after.size());
    if (task(i).isTransfer())
      later.insert({task(i).notBefore, i});
    else if (unstarted[i] == 0)
      readyOps.insert(i);
  }
  for (auto [number, block] : llvm::enumerate(problem.blocks)) {
    blockLeft.push_back(block.tasks.size());
    blockLives.push_back(false);
    for (unsigned i : block.tasks)
      blocksOf[i].push_back(number);
  }
}

//===----------------------------------------------------------------------===//
// What happens
//===----------------------------------------------------------------------===//

int64_t ListScheduler::bytesToBegin(unsigned i) const {
  int64_t bytes = 0;
  for (unsigned block : blocksOf[i])
    if (!blockLives[block])
      bytes += problem.blocks[block].bytes;
  return bytes;
}

int64_t ListScheduler::bytesFreedBy(unsigned i) const {
  int64_t bytes = 0;
  for (unsigned block : blocksOf[i])
    if (blockLeft[block] == 1)
      bytes += problem.blocks[block].bytes;
  return bytes;
}

void ListScheduler::begin(unsigned i) {
  int64_t bytes = bytesToBegin(i);
  live += bytes;
  planned.add(front, i, bytes);
  for (unsigned block : blocksOf[i])
    blockLives[block] = true;
}

void ListScheduler::end(unsigned i) {
  live -= bytesFreedBy(i);
  for (unsigned block : blocksOf[i])
    --blockLeft[block];
  over[i] = true;
}

/// Users of the task may be ready now.
void ListScheduler::noteStarted(unsigned i) {
  started[i] = true;
  for (unsigned user : users[i]) {
    if (--unstarted[user] > 0)
      continue;
    if (!task(user).isTransfer())
      readyOps.insert(user);
    else if (waiting.count({needed[user], user}))
      readyOn[task(user).communicator].insert({needed[user], user});
  }
}

/// A communicator runs its collectives one by one, so this one starts at the
/// later of now and the end of the previous one there.
void ListScheduler::start(unsigned i) {
  double &free = communicatorFree[task(i).communicator];
  finish[i] = free = std::max(now, free) + task(i).seconds;
  noteStarted(i);
  begin(i);
  waiting.erase({needed[i], i});
  later.erase({task(i).notBefore, i});
  readyOn[task(i).communicator].erase({needed[i], i});
  flying.insert({finish[i], i});
  order.push_back({OverlapEvent::Start, i});
}

void ListScheduler::wait(unsigned i) {
  // Making room for the ops before may have started it and waited for it.
  if (over[i])
    return;
  now = std::max(now, finish[i]);
  flying.erase({finish[i], i});
  end(i);
  order.push_back({OverlapEvent::Wait, i});
}

void ListScheduler::compute(unsigned i) {
  begin(i);
  now += task(i).seconds;
  noteStarted(i);
  readyOps.erase(i);
  end(i);
  order.push_back({OverlapEvent::Run, i});
  if (i > front && i < windowEnd)
    --inWindow;
  moveFront();
}

/// Moves `front` past ops that have run. Collectives delay only barriers.
void ListScheduler::moveFront() {
  unsigned n = problem.tasks.size(), before = front;
  while (front < n && (started[front] || task(front).isTransfer()))
    ++front;
  if (front != before && front < windowEnd)
    --inWindow;
  windowEnd = std::max(windowEnd, std::min(front + 1, n));
  for (; windowEnd < n && inWindow < kWindow; ++windowEnd)
    inWindow += !started[windowEnd] && !task(windowEnd).isTransfer();
  barrier = std::max(barrier, front);
  while (barrier < n && !(task(barrier).isBarrier && !started[barrier]))
    ++barrier;
}

//===----------------------------------------------------------------------===//
// What to do next
//===----------------------------------------------------------------------===//

/// Returns the time at which a task can begin without a stall: infinity if it
/// needs a task that has not run or started.
double ListScheduler::readyTime(unsigned i) const {
  double ready = 0;
  for (unsigned other : task(i).after) {
    if (over[other])
      continue;
    if (!inFlight(other))
      return INFINITY;
    ready = std::max(ready, finish[other]);
  }
  return ready;
}

bool ListScheduler::isStartable(unsigned i) const {
  return i < barrier && readyTime(i) <= now &&
         flying.size() < problem.maxInFlight && fitsEarly(i);
}

/// Returns the first collective from `turn` on whose communicator is free now
/// or before the time `until`.
std::optional<ListScheduler::Turn>
ListScheduler::nextReady(Turn turn, double until) const {
  std::optional<Turn> next;
  for (const auto &[communicator, ready] : readyOn) {
    double free = communicatorFree.lookup(communicator);
    if (free > now && free >= until)
      continue;
    auto it = ready.lower_bound(turn);
    if (it != ready.end() && (!next || *it < *next))
      next = *it;
  }
  return next;
}

/// Starts the collectives whose communicator is free before the next op ends.
void ListScheduler::startTransfers() {
  while (!later.empty() && later.begin()->first <= front) {
    unsigned i = later.begin()->second;
    later.erase(later.begin());
    waiting.insert({needed[i], i});
    if (unstarted[i] == 0)
      readyOn[task(i).communicator].insert({needed[i], i});
  }
  double until = now + (front < problem.tasks.size() ? task(front).seconds : 0);
  Turn turn = {0, 0};
  while (std::optional<Turn> next = nextReady(turn, until)) {
    unsigned i = next->second;
    turn = {next->first, i + 1};
    if (!isStartable(i))
      continue;
    // All of these have ended by the clock, but may not have been waited for.
    for (unsigned other : task(i).after)
      if (!over[other])
        wait(other);
    start(i);
  }
}

/// Makes room until the task fits, or nothing is left to free. First waits for
/// collectives in flight, in the order in which they end. Then runs collectives
/// whose turn has passed while their communicator was busy: they hold operands
/// that would be free by now.
void ListScheduler::makeRoom(unsigned i) {
  auto it = flying.begin();
  while (!fits(i) && it != flying.end()) {
    unsigned other = (it++)->second;
    if (bytesFreedBy(other) > 0)
      wait(other);
  }
  if (fits(i) || makesRoom)
    return;
  makesRoom = true;
  llvm::SmallVector<unsigned> late;
  for (auto [use, other] : waiting)
    if (other < front && other != i)
      late.push_back(other);
  for (unsigned other : late) {
    if (fits(i) || started[other])
      continue;
    startNow(other);
    wait(other);
  }
  makesRoom = false;
}

/// Starts a collective that an op needs now, at any cost.
void ListScheduler::startNow(unsigned i) {
  for (unsigned other : task(i).after) {
    if (over[other])
      continue;
    if (!started[other])
      startNow(other);
    wait(other);
  }
  makeRoom(i);
  // Making room may have started it.
  if (started[i])
    return;
  if (flying.size() == problem.maxInFlight)
    wait(flying.begin()->second);
  start(i);
}

/// Waits for collectives that ended long ago if that frees memory. "Long ago"
/// allows for an estimate of half the true time, so that it stalls nothing.
void ListScheduler::waitForFinished() {
  llvm::SmallVector<unsigned> finished;
  for (auto [when, i] : flying) {
    if (when > now)
      break;
    if (when + task(i).seconds <= now && bytesFreedBy(i) > 0)
      finished.push_back(i);
  }
  for (unsigned i : finished)
    wait(i);
}

/// Finds an op after the next one, within the next kWindow, that can run at
/// once.
std::optional<unsigned> ListScheduler::findOther() const {
  unsigned end = std::min(barrier, windowEnd);
  for (auto it = readyOps.upper_bound(front); it != readyOps.end(); ++it) {
    if (*it >= end)
      break;
    if (readyTime(*it) <= now && fitsEarly(*it))
      return *it;
  }
  return std::nullopt;
}

OverlapOrder ListScheduler::run() {
  unsigned n = problem.tasks.size();
  moveFront();
  while (front < n) {
    waitForFinished();
    startTransfers();
    unsigned next = front;
    if (readyTime(next) > now)
      if (std::optional<unsigned> other = findOther())
        next = *other;
    // A barrier comes after the starts of all collectives before it.
    if (task(next).isBarrier)
      for (; firstTransfer < next; ++firstTransfer)
        if (task(firstTransfer).isTransfer() && !started[firstTransfer])
          startNow(firstTransfer);
    for (unsigned other : task(next).after) {
      if (over[other])
        continue;
      if (!started[other])
        startNow(other);
      wait(other);
    }
    makeRoom(next);
    compute(next);
  }
  // Start the collectives whose result no op needs.
  for (unsigned i = 0; i < n; ++i)
    if (!started[i])
      startNow(i);
  while (!flying.empty())
    wait(flying.begin()->second);
  return std::move(order);
}

OverlapOrder tessera::scheduleOverlap(const OverlapProblem &problem,
                                      int64_t limit) {
  OverlapOrder best = getBlockingOrder(problem);
  OverlapTimes blocking = timeOverlap(problem, best);
  int64_t slack = std::max<int64_t>(limit - blocking.peakBytes, 0);
  int64_t bound = std::max(limit, blocking.peakBytes);
  // A task that runs before its turn leaves room for the rest. But a collective
  // whose turn has passed while its communicator was busy holds its operands
  // longer, and then both need room at once. So each attempt gets less memory.
  auto isFound = [&](int64_t aim) {
    OverlapOrder order = ListScheduler(problem, aim).run();
    OverlapTimes times = timeOverlap(problem, order);
    bool isBetter =
        times.peakBytes <= bound && times.seconds < blocking.seconds;
    if (isBetter)
      best = std::move(order);
    return isBetter;
  };
  for (double kept : {0.0, 0.25, 0.5, 1.0})
    if ((kept == 0 || slack > 0) &&
        isFound(limit - int64_t(kept * double(slack))))
      return best;
  for (double kept : {0.03, 0.06, 0.125, 0.25, 0.5})
    if (isFound(int64_t((1 - kept) * double(limit - slack))))
      return best;
  return best;
}
