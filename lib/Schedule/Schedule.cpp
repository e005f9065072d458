//===- Schedule.cpp - Pipeline schedules as data --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Schedule/Schedule.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace tessera;
using namespace tessera::schedule;

Slot ScheduleProblem::slotOf(int stage, int microBatch) const {
  switch (placement) {
  case Placement::Loop:
    return {stage % ranks, stage / ranks};
  case Placement::Vee:
    if (stage < ranks)
      return {stage, 0};
    return {2 * ranks - 1 - stage, 1};
  case Placement::Bidirectional:
    if (microBatch < microBatches / 2)
      return {stage, 0};
    return {ranks - 1 - stage, 1};
  }
  return {};
}

int ScheduleProblem::stageOf(Slot slot) const {
  switch (placement) {
  case Placement::Loop:
    return slot.chunk * ranks + slot.rank;
  case Placement::Vee:
    return slot.chunk == 0 ? slot.rank : 2 * ranks - 1 - slot.rank;
  case Placement::Bidirectional:
    return slot.chunk == 0 ? slot.rank : ranks - 1 - slot.rank;
  }
  return 0;
}

bool ScheduleProblem::passes(int chunk, int microBatch) const {
  if (placement != Placement::Bidirectional)
    return true;
  return (microBatch < microBatches / 2) == (chunk == 0);
}

std::optional<int> ScheduleProblem::linkOf(int stage, int microBatch) const {
  int from = slotOf(stage, microBatch).rank;
  int to = slotOf(stage + 1, microBatch).rank;
  if (from == to)
    return std::nullopt;
  // Round robin goes one way only; the others go down and up the same links.
  return placement == Placement::Loop ? from : std::min(from, to);
}

llvm::Error ScheduleProblem::check() const {
  auto expects = [](const char *what, const char *how, int got) {
    return llvm::createStringError("expects " + std::string(what) + " to be " +
                                   how + " but got " + std::to_string(got));
  };
  if (ranks < 1)
    return expects("pipeline ranks", "at least 1", ranks);
  if (chunks < 1)
    return expects("chunks a rank", "at least 1", chunks);
  if (microBatches < 1)
    return expects("micro-batches", "at least 1", microBatches);
  if (placement != Placement::Loop && chunks != 2)
    return expects("chunks a rank", "2", chunks);
  if (placement == Placement::Bidirectional && microBatches % 2)
    return expects("micro-batches", "even", microBatches);
  return llvm::Error::success();
}

bool tessera::schedule::isTransfer(ActionKind kind) {
  return kind >= ActionKind::SendActivation;
}

llvm::raw_ostream &tessera::schedule::operator<<(llvm::raw_ostream &os,
                                                 const Action &action) {
  static constexpr const char *kNames[] = {"F",  "B",  "W",  "BW", "F",
                                           "sA", "sG", "rA", "rG"};
  os << kNames[int(action.kind)] << action.chunk << '.' << action.microBatch;
  if (action.kind == ActionKind::Overlapped)
    os << "|BW" << action.backwardChunk << '.' << action.backwardMicroBatch;
  return os;
}

bool Schedule::hasTransfers() const {
  return llvm::any_of(ranks, [](const std::vector<Action> &actions) {
    return llvm::any_of(actions,
                        [](const Action &a) { return isTransfer(a.kind); });
  });
}

void Schedule::print(llvm::raw_ostream &os) const {
  for (const auto &[rank, actions] : llvm::enumerate(ranks)) {
    os << "rank " << rank << ':';
    for (const Action &action : actions)
      os << ' ' << action;
    os << '\n';
  }
}

std::vector<std::vector<double>>
tessera::schedule::liveAtPeak(const ScheduleProblem &problem,
                              const Schedule &schedule,
                              double keptForWeightGrad) {
  std::vector<std::vector<double>> peaks;
  for (const std::vector<Action> &actions : schedule.ranks) {
    std::vector<double> live(problem.chunks, 0.0), peak = live;
    double sum = 0, most = 0;
    auto change = [&](int chunk, double by) {
      live[chunk] += by;
      sum += by;
      if (sum > most + 1e-9) {
        most = sum;
        peak = live;
      }
    };
    for (const Action &action : actions) {
      switch (action.kind) {
      case ActionKind::Forward:
        change(action.chunk, 1);
        break;
      case ActionKind::InputGrad:
        change(action.chunk, keptForWeightGrad - 1);
        break;
      case ActionKind::WeightGrad:
        change(action.chunk, -keptForWeightGrad);
        break;
      case ActionKind::Backward:
        change(action.chunk, -1);
        break;
      case ActionKind::Overlapped:
        // The forward's are made while the backward's still live.
        change(action.chunk, 1);
        change(action.backwardChunk, -1);
        break;
      default:
        break;
      }
    }
    peaks.push_back(std::move(peak));
  }
  return peaks;
}

std::vector<double>
tessera::schedule::peakActivations(const ScheduleProblem &problem,
                                   const Schedule &schedule,
                                   double keptForWeightGrad) {
  std::vector<double> peaks;
  for (const auto &live : liveAtPeak(problem, schedule, keptForWeightGrad))
    peaks.push_back(std::accumulate(live.begin(), live.end(), 0.0) *
                    problem.chunkShare());
  return peaks;
}
