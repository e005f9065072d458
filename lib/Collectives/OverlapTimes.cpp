//===- OverlapTimes.cpp - Simulates an order of work and transfers --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks an order, and simulates it: a discrete event simulation with one clock
// for the device and one for each communicator. "run a, start R, run b, run c,
// wait R, run u" of 4, 6, 3, 2 and 2 seconds:
//
//     event       device  communicator
//     run a       0 - 4
//     start R             4 - 10
//     run b       4 - 7
//     run c       7 - 9
//     wait R      9 - 10             a stall: 1 s of R is exposed
//     run u      10 - 12
//
//===----------------------------------------------------------------------===//

#include "tessera/Collectives/OverlapSchedule.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace tessera;
using llvm::ArrayRef;
using llvm::createStringError;
using llvm::Error;

Error OverlapProblem::check() const {
  for (auto [i, task] : llvm::enumerate(tasks)) {
    std::string name = "task " + std::to_string(i);
    if (!(task.seconds >= 0))
      return createStringError("expects " + name + " to take no negative time");
    if (task.communicator < OverlapTask::kComputes)
      return createStringError("expects the communicator of " + name +
                               " to be a number but got " +
                               std::to_string(task.communicator));
    if (task.isTransfer() && task.isBarrier)
      return createStringError("expects " + name +
                               ", a collective, to be no barrier");
    for (unsigned other : task.after)
      if (other >= i)
        return createStringError("expects " + name +
                                 " to come after earlier tasks but got " +
                                 std::to_string(other));
    if (task.notBefore > i)
      return createStringError("expects " + name +
                               " not to wait for a later task but got " +
                               std::to_string(task.notBefore));
  }
  for (auto [i, block] : llvm::enumerate(blocks)) {
    if (block.bytes < 0 || block.tasks.empty())
      return createStringError("expects block " + std::to_string(i) +
                               " to have bytes and tasks");
    for (unsigned task : block.tasks)
      if (task >= tasks.size())
        return createStringError("expects the tasks of block " +
                                 std::to_string(i) + " to exist but got " +
                                 std::to_string(task));
  }
  if (maxInFlight < 1)
    return createStringError("expects room for one collective at least");
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

namespace {
enum class State { Waiting, Started, Over };
} // namespace

static std::string nameOf(OverlapEvent event) {
  static const char *const kinds[] = {"run of task ", "start of task ",
                                      "wait for task "};
  return kinds[event.kind] + std::to_string(event.task);
}

/// Returns, for each task, the number of barriers before it in the program.
/// Tasks with equal numbers may swap.
static std::vector<unsigned> countBarriers(const OverlapProblem &problem) {
  std::vector<unsigned> counts;
  unsigned count = 0;
  for (const OverlapTask &task : problem.tasks) {
    counts.push_back(count);
    count += task.isBarrier;
  }
  return counts;
}

Error tessera::verifyOverlap(const OverlapProblem &problem,
                             ArrayRef<OverlapEvent> order) {
  std::vector<State> states(problem.tasks.size(), State::Waiting);
  std::vector<unsigned> barriers = countBarriers(problem);
  // The tasks that have not begun, by number of barriers before them: a barrier
  // may run when all tasks with its own number have begun.
  std::vector<unsigned> left(barriers.empty() ? 1 : barriers.back() + 2, 0);
  for (unsigned count : barriers)
    ++left[count];
  unsigned inFlight = 0, passed = 0;
  for (OverlapEvent event : order) {
    if (event.task >= problem.tasks.size())
      return createStringError(nameOf(event) + ", which does not exist");
    const OverlapTask &task = problem.tasks[event.task];
    State &state = states[event.task];
    bool begins = event.kind != OverlapEvent::Wait;
    if (task.isTransfer() == (event.kind == OverlapEvent::Run))
      return createStringError(nameOf(event) + ", which is of another kind");
    if (state != (begins ? State::Waiting : State::Started))
      return createStringError(nameOf(event) + " out of turn");
    state = event.kind == OverlapEvent::Start ? State::Started : State::Over;
    if (event.kind == OverlapEvent::Wait) {
      --inFlight;
      continue;
    }
    for (unsigned other : task.after)
      if (states[other] != State::Over)
        return createStringError(nameOf(event) + " before task " +
                                 std::to_string(other) + " is over");
    if (barriers[event.task] != passed)
      return createStringError(nameOf(event) + " across a barrier");
    --left[passed];
    if (task.isBarrier && left[passed] > 0)
      return createStringError(nameOf(event) +
                               ", a barrier, before what it follows has begun");
    passed += task.isBarrier;
    inFlight += event.kind == OverlapEvent::Start;
    if (inFlight > problem.maxInFlight)
      return createStringError(nameOf(event) + " with " +
                               std::to_string(inFlight - 1) + " in flight");
  }
  for (auto [i, state] : llvm::enumerate(states))
    if (state != State::Over)
      return createStringError("task " + std::to_string(i) +
                               " is not over at the end");
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Times and bytes
//===----------------------------------------------------------------------===//

/// Returns the maximum of the live bytes.
static int64_t getPeak(const OverlapProblem &problem,
                       ArrayRef<OverlapEvent> order) {
  std::vector<unsigned> begins(problem.tasks.size()), ends = begins;
  for (auto [position, event] : llvm::enumerate(order)) {
    if (event.kind != OverlapEvent::Wait)
      begins[event.task] = position;
    ends[event.task] = position;
  }
  // The bytes allocated at a position, and freed after it. A block lives from
  // the first event of its tasks to the last one.
  std::vector<int64_t> come(order.size() + 1), go = come;
  for (const OverlapBlock &block : problem.blocks) {
    unsigned first = order.size(), last = 0;
    for (unsigned task : block.tasks) {
      first = std::min(first, begins[task]);
      last = std::max(last, ends[task]);
    }
    come[first] += block.bytes;
    go[last] += block.bytes;
  }
  int64_t live = 0, peak = 0;
  for (auto [position, event] : llvm::enumerate(order)) {
    live += come[position];
    peak = std::max(peak, live + problem.tasks[event.task].insideBytes);
    live -= go[position];
  }
  return peak;
}

OverlapTimes tessera::timeOverlap(const OverlapProblem &problem,
                                  ArrayRef<OverlapEvent> order) {
  OverlapTimes times;
  times.spans.resize(problem.tasks.size());
  times.peakBytes = getPeak(problem, order);
  llvm::DenseMap<int, double> communicatorFree;
  double now = 0;
  // The times without computation, in order.
  std::vector<std::pair<double, double>> stalls;
  for (OverlapEvent event : order) {
    const OverlapTask &task = problem.tasks[event.task];
    OverlapSpan &span = times.spans[event.task];
    switch (event.kind) {
    case OverlapEvent::Run:
      span.begin = now;
      span.end = now = now + task.seconds;
      break;
    case OverlapEvent::Start: {
      double &free = communicatorFree[task.communicator];
      span.begin = std::max(now, free);
      span.end = free = span.begin + task.seconds;
      break;
    }
    case OverlapEvent::Wait:
      if (span.end > now) {
        stalls.push_back({now, span.end});
        now = span.end;
      }
      break;
    }
  }
  times.seconds = now;
  // The exposed time of a collective is its overlap with stalls, which are
  // disjoint: a binary search finds the first one.
  for (unsigned i = 0; i < problem.tasks.size(); ++i) {
    if (!problem.tasks[i].isTransfer())
      continue;
    OverlapSpan &span = times.spans[i];
    auto it = llvm::partition_point(
        stalls, [&](const auto &stall) { return stall.second <= span.begin; });
    for (; it != stalls.end() && it->first < span.end; ++it)
      span.exposed +=
          std::min(it->second, span.end) - std::max(it->first, span.begin);
  }
  return times;
}

OverlapOrder tessera::getBlockingOrder(const OverlapProblem &problem) {
  OverlapOrder order;
  for (unsigned i = 0; i < problem.tasks.size(); ++i) {
    if (problem.tasks[i].isTransfer()) {
      order.push_back({OverlapEvent::Start, i});
      order.push_back({OverlapEvent::Wait, i});
    } else {
      order.push_back({OverlapEvent::Run, i});
    }
  }
  return order;
}
