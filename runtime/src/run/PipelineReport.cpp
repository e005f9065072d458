//===- PipelineReport.cpp - Idle time of a pipeline -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See PipelineReport.h.
//
//===----------------------------------------------------------------------===//

#include "PipelineReport.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace tessera::rt;

Stamps tessera::rt::collectStamps(tessera_rt_context *ctx) {
  Stamps stamps;
  double began = ctx->block().numbers.stepBegan;
  for (int rank = 0; rank < ctx->ranks; ++rank) {
    const Stamp *first = ctx->memory.stamps(rank);
    const RankNumbers &numbers = ctx->memory.blocks[rank].numbers;
    stamps.emplace_back(first, first + numbers.numStamps);
    // Each node has a clock of its own; all ranks begin a step together.
    if (ctx->memory.place.isHere(rank))
      continue;
    for (Stamp &stamp : stamps.back()) {
      stamp.begin += began - numbers.stepBegan;
      stamp.end += began - numbers.stepBegan;
    }
  }
  return stamps;
}

int tessera::rt::getPeerRank(const StridedAxis &stageAxis, int rank, int peer) {
  return rank + (peer - int(getBlockIndex(&stageAxis, 1, rank))) *
                    int(stageAxis.stride);
}

double ListTiming::bubble() const {
  if (!(makespan > 0))
    return std::nan("");
  return 1 - *std::max_element(busy.begin(), busy.end()) / makespan;
}

ListTiming tessera::rt::measureLists(const Stamps &stamps) {
  ListTiming timing;
  double begin = INFINITY, end = -INFINITY;
  for (const std::vector<Stamp> &list : stamps) {
    timing.busy.push_back(0);
    for (const Stamp &stamp : list) {
      if (stamp.kind != TESSERA_RT_ENTRY_RUN)
        continue;
      timing.busy.back() += stamp.end - stamp.begin;
      begin = std::min(begin, stamp.begin);
      end = std::max(end, stamp.end);
    }
  }
  timing.makespan = std::max(0.0, end - begin);
  return timing;
}

/// The median time of each function of a list.
static std::map<int32_t, double> findMedians(const std::vector<Stamp> &list) {
  std::map<int32_t, std::vector<double>> times;
  for (const Stamp &stamp : list)
    if (stamp.kind == TESSERA_RT_ENTRY_RUN)
      times[stamp.function].push_back(stamp.end - stamp.begin);
  std::map<int32_t, double> medians;
  for (auto &[function, all] : times) {
    auto middle = all.begin() + long(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    medians[function] = *middle;
  }
  return medians;
}

namespace {
/// Replays lists that run concurrently, each on its own rank.
class Replay {
public:
  Replay(const Stamps &stamps, const StridedAxis &stageAxis, double link)
      : stamps(stamps), stageAxis(stageAxis), link(link) {}
  ListTiming run();

private:
  /// Source rank, target rank, tag.
  using Stream = std::tuple<int, int, int>;
  struct RankState {
    size_t next = 0;
    double now = 0, busy = 0;
    std::map<int32_t, double> medians;
    /// The receive in flight in each slot, as its number in a stream.
    std::map<int32_t, std::pair<Stream, size_t>> receives;
  };

  /// Returns false if the entry waits for a value that is not sent yet.
  bool runEntry(int rank, const Stamp &entry);
  /// Runs a rank as far as possible; false if it makes no progress.
  bool advance(int rank);

  const Stamps &stamps;
  const StridedAxis &stageAxis;
  double link;
  std::vector<RankState> states;
  /// Times at which values were sent, and the number of posted receives.
  std::map<Stream, std::vector<double>> sent;
  std::map<Stream, size_t> posted;
};
} // namespace

bool Replay::runEntry(int rank, const Stamp &entry) {
  RankState &state = states[size_t(rank)];
  int peer = getPeerRank(stageAxis, rank, entry.peer);
  switch (entry.kind) {
  case TESSERA_RT_ENTRY_RUN:
    state.now += state.medians[entry.function];
    state.busy += state.medians[entry.function];
    return true;
  case TESSERA_RT_ENTRY_SEND:
    sent[{rank, peer, entry.tag}].push_back(state.now);
    return true;
  case TESSERA_RT_ENTRY_RECV: {
    Stream stream{peer, rank, entry.tag};
    state.receives[entry.slot] = {stream, posted[stream]++};
    return true;
  }
  default:
    break;
  }
  auto it = state.receives.find(entry.slot);
  if (it == state.receives.end())
    return true; // The slot has a send.
  const auto &[stream, number] = it->second;
  const std::vector<double> &values = sent[stream];
  if (number >= values.size())
    return false;
  state.now = std::max(state.now, values[number] + link);
  state.receives.erase(it);
  return true;
}

bool Replay::advance(int rank) {
  RankState &state = states[size_t(rank)];
  const std::vector<Stamp> &list = stamps[size_t(rank)];
  size_t before = state.next;
  while (state.next < list.size() && runEntry(rank, list[state.next]))
    ++state.next;
  return state.next != before;
}

ListTiming Replay::run() {
  for (const std::vector<Stamp> &list : stamps) {
    states.emplace_back();
    states.back().medians = findMedians(list);
  }
  for (bool moves = true; moves;) {
    moves = false;
    for (int rank = 0; rank < int(states.size()); ++rank)
      moves |= advance(rank);
  }
  ListTiming timing;
  for (size_t rank = 0; rank < states.size(); ++rank) {
    if (states[rank].next != stamps[rank].size())
      return ListTiming();
    timing.makespan = std::max(timing.makespan, states[rank].now);
    timing.busy.push_back(states[rank].busy);
  }
  return timing;
}

ListTiming tessera::rt::replayLists(const Stamps &stamps,
                                    const StridedAxis &stageAxis, double link) {
  return Replay(stamps, stageAxis, link).run();
}

PipelineReport tessera::rt::reportPipeline(const Stamps &stamps,
                                           const Manifest &manifest,
                                           double link) {
  PipelineReport report;
  report.measured = measureLists(stamps);
  report.fromTasks = replayLists(stamps, manifest.stageAxis, link);
  if (!(report.measured.makespan > 0))
    return report;
  const std::vector<double> &busy = report.measured.busy;
  int64_t rank = std::max_element(busy.begin(), busy.end()) - busy.begin();
  report.slowest = int(getBlockIndex(&manifest.stageAxis, 1, rank));
  return report;
}
