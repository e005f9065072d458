//===- Transfers.cpp - Posts receives of pipeline transfers ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A receive is posted one compute action before the one that needs its value,
// in the order of its communicator's sends. It is posted earlier if a sender
// that runs ahead would otherwise wait for one of its two buffers.
// insertTransfers() of Timing.cpp, which needs an order of execution, positions
// the sends.
//
//===----------------------------------------------------------------------===//

#include "tessera/Schedule/Timing.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <map>
#include <tuple>

using namespace tessera;
using namespace tessera::schedule;

std::optional<std::pair<int, Action>>
tessera::schedule::partnerOf(const ScheduleProblem &problem, int rank,
                             const Action &transfer) {
  static constexpr ActionKind kPartner[] = {
      ActionKind::ReceiveActivation, ActionKind::ReceiveGradient,
      ActionKind::SendActivation, ActionKind::SendGradient};
  bool forwards = transfer.kind == ActionKind::SendActivation ||
                  transfer.kind == ActionKind::ReceiveGradient;
  int stage = problem.stageOf({rank, transfer.chunk}) + (forwards ? 1 : -1);
  if (stage < 0 || stage >= problem.stages())
    return std::nullopt;
  Slot other = problem.slotOf(stage, transfer.microBatch);
  if (other.rank == rank)
    return std::nullopt;
  ActionKind kind =
      kPartner[int(transfer.kind) - int(ActionKind::SendActivation)];
  return std::pair(other.rank, Action{kind, other.chunk, transfer.microBatch});
}

namespace {

/// A value that a rank needs: gradient or activation, chunk, micro-batch.
using Operand = std::tuple<bool, int, int>;

/// A value that is being sent to a rank.
struct Receive {
  Action action;
  /// The compute action of its rank that needs it; an earlier one if a later
  /// value of the same communicator is needed before, or if it is to be posted
  /// early.
  int neededBy;
  /// The number of compute actions of its sender before the send.
  int sentAfter;
};

/// Receives by communicator: the sending rank, and gradients or activations.
using Receives = std::map<std::pair<int, bool>, std::vector<Receive>>;

/// The number of the compute action that reads each operand of a rank. With
/// `asInserted` it may be smaller: the number of the action after the one that
/// follows the receive.
std::map<Operand, int> findReaders(llvm::ArrayRef<Action> actions,
                                   bool asInserted) {
  std::map<Operand, int> readers;
  int number = 0;
  auto add = [&](bool isGradient, int chunk, int microBatch, int reader) {
    auto [it, isNew] =
        readers.try_emplace({isGradient, chunk, microBatch}, reader);
    if (!isNew)
      it->second = std::min(it->second, reader);
  };
  for (const Action &a : actions) {
    switch (a.kind) {
    case ActionKind::Forward:
      add(false, a.chunk, a.microBatch, number);
      break;
    case ActionKind::InputGrad:
    case ActionKind::Backward:
      add(true, a.chunk, a.microBatch, number);
      break;
    case ActionKind::Overlapped:
      add(false, a.chunk, a.microBatch, number);
      add(true, a.backwardChunk, a.backwardMicroBatch, number);
      break;
    case ActionKind::ReceiveActivation:
    case ActionKind::ReceiveGradient:
      if (asInserted)
        add(a.kind == ActionKind::ReceiveGradient, a.chunk, a.microBatch,
            number + 1);
      break;
    default:
      break;
    }
    number += !isTransfer(a.kind);
  }
  return readers;
}

/// The receives of each rank, in the order of their sends.
std::vector<Receives> findReceives(const ScheduleProblem &problem,
                                   const Schedule &schedule, bool asInserted) {
  std::vector<std::map<Operand, int>> readers;
  for (const std::vector<Action> &actions : schedule.ranks)
    readers.push_back(findReaders(actions, asInserted));
  std::vector<Receives> receives(schedule.ranks.size());
  for (auto [rank, actions] : llvm::enumerate(schedule.ranks)) {
    int number = 0;
    for (const Action &action : actions) {
      number += !isTransfer(action.kind);
      bool isGradient = action.kind == ActionKind::SendGradient;
      if (!isGradient && action.kind != ActionKind::SendActivation)
        continue;
      auto [to, receive] = *partnerOf(problem, rank, action);
      int reader =
          readers[to].at({isGradient, receive.chunk, receive.microBatch});
      receives[to][{int(rank), isGradient}].push_back(
          {receive, reader, number});
    }
  }
  return receives;
}

/// End times of compute actions, by rank, if each of F, B and W takes one unit
/// of time and values arrive at once; none for a list that cannot run.
std::vector<std::vector<double>> findEnds(const ScheduleProblem &problem,
                                          Schedule schedule) {
  for (std::vector<Action> &actions : schedule.ranks)
    llvm::erase_if(actions, [](const Action &a) { return isTransfer(a.kind); });
  std::vector<size_t> stops = findStops(problem, schedule, SendMode::Buffered);
  for (auto [stop, actions] : llvm::zip_equal(stops, schedule.ranks))
    if (stop < actions.size())
      return {};
  double stage = 1 / problem.chunkShare();
  std::vector<std::vector<double>> ends;
  for (const auto &actions : CompiledSchedule(problem, schedule)
                                 .simulateActions(PipelineTimes::uniform(
                                     problem, {stage, stage, stage, -1})))
    for (auto time : (ends.emplace_back(), actions))
      ends.back().push_back(time.end);
  return ends;
}

/// A send waits for the last but one send before it. The receive of that send
/// is posted one unit of time before, so that its transfer also overlaps with a
/// whole action.
void postForBuffers(const std::vector<std::vector<double>> &ends,
                    std::vector<Receives> &receives) {
  for (auto [rank, communicators] : llvm::enumerate(receives))
    for (auto &[communicator, list] : communicators)
      for (size_t i = 2; i < list.size(); ++i) {
        int before = list[i].sentAfter;
        double sent = before ? ends[communicator.first][before - 1] : 0;
        auto over = llvm::upper_bound(ends[rank], sent - 1);
        list[i - 2].neededBy =
            std::min<int>(list[i - 2].neededBy, over - ends[rank].begin() + 1);
      }
}

/// All receives of a rank in the order of posting.
std::vector<Receive> orderPosts(Receives &receives) {
  std::vector<Receive> posts;
  for (auto &[communicator, list] : receives) {
    for (size_t i = list.size() - 1; i > 0; --i)
      list[i - 1].neededBy = std::min(list[i - 1].neededBy, list[i].neededBy);
    llvm::append_range(posts, list);
  }
  llvm::stable_sort(posts, [](const Receive &a, const Receive &b) {
    return a.neededBy < b.neededBy;
  });
  return posts;
}

/// Replaces the receives of a list by `posts`.
std::vector<Action> insertPosts(llvm::ArrayRef<Action> actions,
                                llvm::ArrayRef<Receive> posts) {
  std::vector<Action> result;
  // Posts the operands of the next compute action before action `number`.
  auto post = [&](int number) {
    for (; !posts.empty() && posts.front().neededBy <= number + 1;
         posts = posts.drop_front())
      result.push_back(posts.front().action);
  };
  int number = 0;
  post(number);
  for (const Action &action : actions) {
    if (action.kind == ActionKind::ReceiveActivation ||
        action.kind == ActionKind::ReceiveGradient)
      continue;
    result.push_back(action);
    if (!isTransfer(action.kind))
      post(++number);
  }
  return result;
}

Schedule withPosts(const ScheduleProblem &problem, const Schedule &schedule,
                   bool asInserted) {
  Schedule posted;
  std::vector<Receives> receives = findReceives(problem, schedule, asInserted);
  if (auto ends = findEnds(problem, schedule); !ends.empty())
    postForBuffers(ends, receives);
  for (auto [actions, own] : llvm::zip_equal(schedule.ranks, receives))
    posted.ranks.push_back(insertPosts(actions, orderPosts(own)));
  return posted;
}

} // namespace

void tessera::schedule::postReceives(const ScheduleProblem &problem,
                                     Schedule &schedule) {
  Schedule posted = withPosts(problem, schedule, /*asInserted=*/false);
  std::vector<size_t> stops = findStops(problem, posted, SendMode::Posted);
  bool runs = llvm::all_of(llvm::zip_equal(stops, posted.ranks), [](auto pair) {
    return std::get<0>(pair) == std::get<1>(pair).size();
  });
  schedule = runs ? std::move(posted)
                  : withPosts(problem, schedule, /*asInserted=*/true);
}
