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

using llvm::Error;
using llvm::Expected;

/// The path or paths of a placement.
static std::vector<std::vector<Slot>> pathsOf(Placement placement, int ranks,
                                              int chunks) {
  std::vector<Slot> down, up;
  for (int rank = 0; rank < ranks; ++rank) {
    down.push_back({rank, 0});
    up.push_back({ranks - 1 - rank, 1});
  }
  switch (placement) {
  case Placement::Loop:
    for (int stage = ranks; stage < ranks * chunks; ++stage)
      down.push_back({stage % ranks, stage / ranks});
    return {down};
  case Placement::Vee:
    llvm::append_range(down, up);
    return {down};
  case Placement::Bidirectional:
    return {down, up};
  }
  return {};
}

static Error checkNumbers(Placement placement, int ranks, int chunks,
                          int microBatches) {
  auto expects = [](const char *what, const char *how, int got) {
    return llvm::createStringError("expects " + std::string(what) + " to be " +
                                   how + " but got " + std::to_string(got));
  };
  if (ranks < 1)
    return expects("pipeline ranks", "at least 1", ranks);
  if (chunks < 1)
    return expects("chunks per rank", "at least 1", chunks);
  if (microBatches < 1)
    return expects("micro-batches", "at least 1", microBatches);
  if (placement != Placement::Loop && chunks != 2)
    return expects("chunks per rank", "2", chunks);
  if (placement == Placement::Bidirectional && microBatches % 2)
    return expects("micro-batches", "even", microBatches);
  return Error::success();
}

namespace {

/// Numbers pairs of ranks in the order of requests.
class LinkNumbers {
public:
  explicit LinkNumbers(int ranks) : lastOfRank(ranks, -1) {}

  /// Returns -1 within a rank.
  int of(int from, int to) {
    if (from == to)
      return -1;
    std::pair<int, int> link = std::minmax({from, to});
    // Paths mostly enter and leave a rank by the same link.
    for (int rank : {from, to})
      if (int last = lastOfRank[rank]; last >= 0 && links[last] == link)
        return lastOfRank[from] = lastOfRank[to] = last;
    auto same = llvm::find(links, link);
    int number = same - links.begin();
    if (same == links.end())
      links.push_back(link);
    return lastOfRank[from] = lastOfRank[to] = number;
  }
  int count() const { return links.size(); }

private:
  /// Links; the smaller rank comes first.
  std::vector<std::pair<int, int>> links;
  /// The last link requested for each rank.
  std::vector<int> lastOfRank;
};

} // namespace

ScheduleProblem::ScheduleProblem() : ScheduleProblem(1, 1, 1, {{Slot{}}}) {}

ScheduleProblem::ScheduleProblem(int ranks, int chunks, int microBatches,
                                 std::vector<std::vector<Slot>> newPaths)
    : ranks(ranks), chunks(chunks), microBatches(microBatches) {
  auto made = std::make_shared<Routes>();
  made->paths = std::move(newPaths);
  made->positions.resize(size_t(ranks) * chunks);
  LinkNumbers links(ranks);
  for (auto [number, path] : llvm::enumerate(made->paths)) {
    std::vector<int> &linkAfter = made->linksOfPath.emplace_back();
    linkAfter.reserve(path.size());
    for (auto [stage, slot] : llvm::enumerate(path)) {
      made->positions[indexOf(slot)] = {int(number), int(stage)};
      if (stage > 0)
        linkAfter.push_back(links.of(path[stage - 1].rank, slot.rank));
    }
  }
  made->linkCount = links.count();
  routes = std::move(made);
}

Expected<ScheduleProblem> ScheduleProblem::make(Placement placement, int ranks,
                                                int chunks, int microBatches) {
  if (Error error = checkNumbers(placement, ranks, chunks, microBatches))
    return std::move(error);
  return ScheduleProblem(ranks, chunks, microBatches,
                         pathsOf(placement, ranks, chunks));
}

Expected<ScheduleProblem> ScheduleProblem::make(llvm::ArrayRef<int> rankOfStage,
                                                int microBatches) {
  int ranks = rankOfStage.empty() ? 0 : *llvm::max_element(rankOfStage) + 1;
  std::vector<Slot> path;
  std::vector<int> chunks(ranks, 0);
  for (int rank : rankOfStage)
    path.push_back({rank, chunks[rank]++});
  for (auto [rank, count] : llvm::enumerate(chunks))
    if (count != chunks.front())
      return llvm::createStringError(
          "expects as many stages on each rank but got " +
          std::to_string(chunks.front()) + " on rank 0 and " +
          std::to_string(count) + " on rank " + std::to_string(rank));
  int perRank = ranks ? chunks.front() : 0;
  if (Error error = checkNumbers(Placement::Loop, ranks, perRank, microBatches))
    return std::move(error);
  return ScheduleProblem(ranks, perRank, microBatches, {std::move(path)});
}

Expected<ScheduleProblem> ScheduleProblem::withMicroBatches(int number) const {
  Placement placement =
      numPaths() > 1 ? Placement::Bidirectional : Placement::Loop;
  if (Error error = checkNumbers(placement, ranks, chunks, number))
    return std::move(error);
  ScheduleProblem changed = *this;
  changed.microBatches = number;
  return changed;
}

std::optional<int> ScheduleProblem::linkOf(int stage, int microBatch) const {
  int link = routes->linksOfPath[pathOf(microBatch)][stage];
  if (link < 0)
    return std::nullopt;
  return link;
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

bool Schedule::hasBackward() const {
  return llvm::any_of(ranks, [](const std::vector<Action> &actions) {
    return llvm::any_of(actions, [](const Action &action) {
      return !isTransfer(action.kind) && action.kind != ActionKind::Forward;
    });
  });
}

Schedule tessera::schedule::keepForwards(const Schedule &schedule) {
  Schedule forwards;
  for (const std::vector<Action> &actions : schedule.ranks) {
    std::vector<Action> &kept = forwards.ranks.emplace_back();
    for (const Action &action : actions)
      if (action.kind == ActionKind::Forward ||
          action.kind == ActionKind::Overlapped)
        kept.push_back({ActionKind::Forward, action.chunk, action.microBatch});
  }
  return forwards;
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
        // The forward's activations are made while the backward's are still
        // alive.
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
