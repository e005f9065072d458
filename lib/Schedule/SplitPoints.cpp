//===- SplitPoints.cpp - Split points of a model's stages -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Schedule/SplitPoints.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>

using namespace tessera;
using namespace tessera::schedule;

static double secondsOf(const ChunkTimes &times) {
  return times.forward + times.inputGrad + times.weightGrad;
}

llvm::Error SplitProblem::check() const {
  auto isNegative = [](const ChunkTimes &t) {
    return !(t.forward >= 0 && t.inputGrad >= 0 && t.weightGrad >= 0);
  };
  if (stages < 1 || segments.size() < size_t(stages))
    return llvm::createStringError("expects at most " +
                                   std::to_string(segments.size()) +
                                   " stages but got " + std::to_string(stages));
  if (points.size() + 1 != segments.size())
    return llvm::createStringError("expects a point between any two of " +
                                   std::to_string(segments.size()) +
                                   " segments but got " +
                                   std::to_string(points.size()));
  if (llvm::any_of(segments, isNegative) ||
      llvm::any_of(points, [](const Point &p) {
        return !(p.activation >= 0 && p.gradient >= 0);
      }))
    return llvm::createStringError("expects no negative seconds or bytes");
  return llvm::Error::success();
}

/// The first segment of each stage, followed by the end.
static std::vector<int> getBounds(const SplitProblem &problem,
                                  const SplitPoints &points) {
  std::vector<int> bounds{0};
  llvm::append_range(bounds, points);
  bounds.push_back(problem.segments.size());
  return bounds;
}

std::vector<ChunkTimes>
tessera::schedule::getStageTimes(const SplitProblem &problem,
                                 const SplitPoints &points) {
  std::vector<int> bounds = getBounds(problem, points);
  std::vector<ChunkTimes> stages(bounds.size() - 1);
  for (auto [stage, times] : llvm::enumerate(stages))
    for (int i = bounds[stage]; i < bounds[stage + 1]; ++i) {
      times.forward += problem.segments[i].forward;
      times.inputGrad += problem.segments[i].inputGrad;
      times.weightGrad += problem.segments[i].weightGrad;
    }
  return stages;
}

SplitCost tessera::schedule::getSplitCost(const SplitProblem &problem,
                                          const SplitPoints &points) {
  SplitCost cost;
  for (const ChunkTimes &stage : getStageTimes(problem, points))
    cost.longest = std::max(cost.longest, secondsOf(stage));
  for (int point : points)
    cost.bytes += problem.points[point - 1].bytes();
  return cost;
}

namespace {

/// Dynamic programming over the number of stages and the segments that these
/// have in total.
class Split {
public:
  explicit Split(const SplitProblem &problem)
      : problem(problem), count(problem.segments.size()), sums{0} {
    for (const ChunkTimes &segment : problem.segments)
      sums.push_back(sums.back() + secondsOf(segment));
  }

  /// Seconds of the longest stage of the best split.
  double findLongest() const;
  /// The split with the fewest bytes whose stages take at most `longest`.
  SplitPoints findFewestBytes(double longest) const;

private:
  double getSeconds(int from, int to) const { return sums[to] - sums[from]; }

  const SplitProblem &problem;
  int count;
  /// Prefix sums of the segments' seconds.
  std::vector<double> sums;
};

} // namespace

double Split::findLongest() const {
  std::vector<double> best(count + 1);
  for (int to = 1; to <= count; ++to)
    best[to] = getSeconds(0, to);
  for (int stage = 1; stage < problem.stages; ++stage) {
    // Goes backward, so that best[from] still belongs to one stage less.
    for (int to = count; to > stage; --to) {
      double least = std::numeric_limits<double>::infinity();
      for (int from = to - 1; from >= stage; --from) {
        double last = getSeconds(from, to);
        least = std::min(least, std::max(best[from], last));
        if (last >= least)
          break;
      }
      best[to] = least;
    }
  }
  return best[count];
}

SplitPoints Split::findFewestBytes(double longest) const {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  // Sums in another order differ in the last bits.
  longest *= 1 + 1e-12;
  std::vector<double> best(count + 1, kNone);
  best[0] = 0;
  std::vector<std::vector<int>> firsts;
  for (int stage = 0; stage < problem.stages; ++stage) {
    std::vector<double> next(count + 1, kNone);
    std::vector<int> &first = firsts.emplace_back(count + 1, -1);
    for (int to = stage + 1; to <= count; ++to)
      for (int from = to - 1; from >= stage && getSeconds(from, to) <= longest;
           --from) {
        double bytes =
            best[from] + (from > 0 ? problem.points[from - 1].bytes() : 0);
        if (bytes < next[to]) {
          next[to] = bytes;
          first[to] = from;
        }
      }
    best = std::move(next);
  }
  SplitPoints points(problem.stages - 1);
  for (int stage = problem.stages - 1, to = count; stage > 0; --stage)
    points[stage - 1] = to = firsts[stage][to];
  return points;
}

SplitPoints tessera::schedule::minimizeLongest(const SplitProblem &problem) {
  Split split(problem);
  return split.findFewestBytes(split.findLongest());
}

SplitPoints tessera::schedule::improveSplit(
    const SplitProblem &problem, SplitPoints points,
    llvm::function_ref<double(const SplitPoints &)> price, int maxPrices) {
  auto isSplit = [&](const SplitPoints &moved) {
    std::vector<int> bounds = getBounds(problem, moved);
    return std::is_sorted(bounds.begin(), bounds.end(), std::less_equal<int>());
  };
  double least = price(points);
  int prices = 1;
  while (true) {
    SplitPoints best;
    auto tryMove = [&](const SplitPoints &moved) {
      if (prices >= maxPrices || !isSplit(moved))
        return;
      ++prices;
      double now = price(moved);
      // Ignores differences in the last bits.
      if (now < least * (1 - 1e-9)) {
        least = now;
        best = moved;
      }
    };
    // If there are many points, moves only neighbors together.
    size_t reach = points.size() <= 8 ? points.size() : 2;
    for (size_t i = 0; i < points.size(); ++i)
      for (int by : {-1, 1, -2, 2}) {
        SplitPoints moved = points;
        moved[i] += by;
        tryMove(moved);
        for (size_t j = i + 1; j < std::min(i + reach, points.size()); ++j)
          for (int also : {-1, 1}) {
            SplitPoints both = moved;
            both[j] += also;
            tryMove(both);
          }
      }
    if (best.empty())
      return points;
    points = std::move(best);
  }
}

PipelineTimes tessera::schedule::makePipelineTimes(
    const ScheduleProblem &pipeline, const SplitProblem &problem,
    const SplitPoints &points,
    llvm::function_ref<double(double bytes)> linkSeconds) {
  std::vector<ChunkTimes> stages = getStageTimes(problem, points);
  PipelineTimes times;
  times.chunks.resize(size_t(pipeline.ranks) * pipeline.chunks);
  for (int rank = 0; rank < pipeline.ranks; ++rank)
    for (int chunk = 0; chunk < pipeline.chunks; ++chunk)
      times.chunks[rank * pipeline.chunks + chunk] =
          stages[pipeline.stageOf({rank, chunk})];
  times.links.assign(pipeline.numLinks(), 0);
  for (int path = 0; path < pipeline.numPaths(); ++path)
    for (auto [stage, point] : llvm::enumerate(points)) {
      auto link = pipeline.linkOf(int(stage), path * pipeline.microBatchesOf());
      if (!link)
        continue;
      const SplitProblem::Point &at = problem.points[point - 1];
      times.links[*link] =
          std::max(times.links[*link],
                   linkSeconds(std::max(at.activation, at.gradient)));
    }
  return times;
}
