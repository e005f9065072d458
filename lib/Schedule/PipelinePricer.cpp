//===- PipelinePricer.cpp - Prices pipelines in microseconds --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Schedule/PipelinePricer.h"
#include "tessera/Schedule/PeakBytes.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace tessera;
using namespace tessera::schedule;
using Ends = CompiledSchedule::Ends;

namespace {

bool isAutomatic(ScheduleKind kind) {
  return kind == ScheduleKind::ZeroBubble1P ||
         kind == ScheduleKind::ZeroBubble2P;
}

/// Micro-batches after which a schedule's pattern repeats: two if neighbors
/// wait for each other in turn; one per rank for rounds of the interleaved
/// schedule; one in each direction for DualPipe.
int period(ScheduleKind kind, int ranks) {
  return kind == ScheduleKind::Interleaved ? ranks : 2;
}

/// Micro-batches from which on the schedule has a steady state.
int steadyFrom(ScheduleKind kind, int ranks) {
  switch (kind) {
  case ScheduleKind::GPipe:
  case ScheduleKind::OneFOneB:
  case ScheduleKind::Interleaved:
  case ScheduleKind::ZeroBubbleH1:
    return 2 * ranks;
  case ScheduleKind::DualPipe:
  case ScheduleKind::DualPipeV:
  case ScheduleKind::ZeroBubbleH2:
  case ScheduleKind::ZeroBubbleV:
    return 3 * ranks;
  case ScheduleKind::ZeroBubble1P:
  case ScheduleKind::ZeroBubble2P:
    return 4 * ranks;
  }
  return ranks;
}

/// Actions of the problem with other numbers of ranks and micro-batches.
size_t numSteps(ScheduleKind kind, const ScheduleProblem &problem, int ranks,
                int microBatches) {
  return size_t(ranks) * problem.chunks * (microBatches / problem.numPaths()) *
         (splitsBackward(kind) ? 3 : 2);
}

/// True if all ranks but the first and the last, and all links, have equal
/// times.
bool hasEqualInnerRanks(const ScheduleProblem &problem,
                        const PipelineTimes &times) {
  int v = problem.chunks;
  for (int rank = 2; rank + 1 < problem.ranks; ++rank)
    for (int c = 0; c < v; ++c) {
      const ChunkTimes &a = times.chunks[v + c];
      const ChunkTimes &b = times.chunks[rank * v + c];
      if (a.forward != b.forward || a.inputGrad != b.inputGrad ||
          a.weightGrad != b.weightGrad || a.overlapped != b.overlapped)
        return false;
    }
  return llvm::all_equal(times.links);
}

/// Converts the times of a pipeline of `before` ranks to one with fewer inner
/// ranks.
PipelineTimes withRanks(const PipelineTimes &times, int before,
                        const ScheduleProblem &fewer) {
  PipelineTimes result;
  int chunks = fewer.chunks, after = fewer.ranks;
  for (int rank = 0; rank < after; ++rank) {
    int from = rank == 0 ? 0 : rank + 1 == after ? before - 1 : 1;
    for (int c = 0; c < chunks; ++c)
      result.chunks.push_back(times.chunks[from * chunks + c]);
  }
  result.links.assign(fewer.numLinks(), times.links.front());
  return result;
}

/// a + (b - a) * factor.
Ends extrapolate(const Ends &a, const Ends &b, double factor) {
  return {a.makespan + (b.makespan - a.makespan) * factor,
          a.span + (b.span - a.span) * factor};
}

} // namespace

/// Automatic schedules depend on the ratios of the times. Ratios are rounded
/// before the schedule is made, so that similar queries share a schedule, and
/// the result does not depend on their order.
static constexpr double kRatioSteps = 256;

static int roundRatio(double value, double unit) {
  return value <= 0 ? -100000
                    : int(std::lround(std::log2(value / unit) * kRatioSteps));
}
static double ratioOf(int rounded) {
  return rounded == -100000 ? 0.0 : std::exp2(rounded / kRatioSteps);
}

/// The numbers that an automatic schedule depends on, in addition to the
/// problem; empty for other kinds.
static std::vector<int> roundTimes(ScheduleKind kind,
                                   const PipelineTimes &times, double kept) {
  if (!isAutomatic(kind))
    return {};
  double link = times.links.empty() ? 0.0 : times.links.front();
  // Empty chunks have no ratio.
  double unit = 0;
  for (const ChunkTimes &t : times.chunks)
    unit = std::max(unit, t.forward);
  unit = unit > 0 ? unit : 1;
  std::vector<int> rounded{int(std::lround(kept * kRatioSteps)),
                           roundRatio(link, unit)};
  for (const ChunkTimes &t : times.chunks)
    for (double value : {t.forward, t.inputGrad, t.weightGrad})
      rounded.push_back(roundRatio(value, unit));
  return rounded;
}

/// The schedule of a kind for times rounded by roundTimes().
static Schedule makeSchedule(ScheduleKind kind, const ScheduleProblem &problem,
                             llvm::ArrayRef<int> rounded) {
  AutoOptions options;
  if (isAutomatic(kind)) {
    options.keptForWeightGrad = rounded[0] / kRatioSteps;
    options.link = ratioOf(rounded[1]);
    options.stages.clear();
    for (size_t i = 2; i < rounded.size(); i += 3)
      options.stages.push_back({ratioOf(rounded[i]), ratioOf(rounded[i + 1]),
                                ratioOf(rounded[i + 2]), -1});
  }
  return generate(kind, problem, options);
}

const CompiledSchedule &PipelinePricer::compiled(ScheduleKind kind,
                                                 const ScheduleProblem &problem,
                                                 const PipelineTimes &times,
                                                 double kept) {
  Sizes sizes(kind, problem.ranks, problem.chunks, problem.microBatches);
  if (!isAutomatic(kind)) {
    auto it = schedules.find(sizes);
    if (it == schedules.end())
      it =
          schedules.try_emplace(sizes, problem, makeSchedule(kind, problem, {}))
              .first;
    return it->second;
  }
  std::pair<Sizes, Key> key(sizes, roundTimes(kind, times, kept));
  auto it = automatic.find(key);
  if (it != automatic.end())
    return it->second;
  CompiledSchedule schedule(problem, makeSchedule(kind, problem, key.second));
  return automatic.emplace(std::move(key), std::move(schedule)).first->second;
}

llvm::Expected<ScheduleProblem> PipelinePricer::getProblem(ScheduleKind kind,
                                                           int ranks,
                                                           int chunks,
                                                           int microBatches) {
  auto known = problems.find({kind, ranks, chunks});
  if (known != problems.end()) {
    if (llvm::Error error = checkMicroBatches(kind, ranks, microBatches))
      return std::move(error);
    return known->second.withMicroBatches(microBatches);
  }
  auto problem = makeProblem(kind, ranks, chunks, microBatches);
  if (problem)
    problems.try_emplace({kind, ranks, chunks}, *problem);
  return problem;
}

ScheduleProblem PipelinePricer::withSizes(ScheduleKind kind,
                                          const ScheduleProblem &problem,
                                          int ranks, int microBatches) {
  return llvm::cantFail(getProblem(kind, ranks, problem.chunks, microBatches));
}

bool Pipeline::overlapsPairs() const {
  if (!list)
    return schedule::overlapsPairs(kind);
  return llvm::any_of(list->ranks, [](const std::vector<Action> &actions) {
    return llvm::any_of(actions, [](const Action &action) {
      return action.kind == ActionKind::Overlapped;
    });
  });
}

void PipelinePricer::addList(llvm::StringRef name, ListedSchedule list) {
  lists[name.str()] = std::move(list);
}

const ListedSchedule *PipelinePricer::findList(llvm::StringRef name) const {
  auto it = lists.find(std::string_view(name));
  return it == lists.end() ? nullptr : &it->second;
}

Schedule PipelinePricer::getSchedule(const Pipeline &pipeline,
                                     const PipelineTimes &times) const {
  if (pipeline.list)
    return *pipeline.list;
  return makeSchedule(pipeline.kind, pipeline.problem,
                      roundTimes(pipeline.kind, times, /*kept=*/1.0));
}

Ends PipelinePricer::price(const Pipeline &pipeline,
                           const PipelineTimes &times) {
  if (!pipeline.list)
    return price(pipeline.kind, pipeline.problem, times);
  return CompiledSchedule(pipeline.problem, *pipeline.list).simulateEnds(times);
}

Ends PipelinePricer::simulate(ScheduleKind kind, const ScheduleProblem &problem,
                              const PipelineTimes &times, double kept) {
  return compiled(kind, problem, times, kept).simulateEnds(times);
}

Ends PipelinePricer::price(ScheduleKind kind, const ScheduleProblem &problem,
                           const PipelineTimes &times, double kept) {
  int p = problem.ranks, m = problem.microBatches;
  auto steps = [&](int microBatches) {
    return numSteps(kind, problem, p, microBatches);
  };
  auto at = [&](int microBatches) {
    return simulate(kind, withSizes(kind, problem, p, microBatches), times,
                    kept);
  };
  if (maxSteps == 0 || steps(m) <= maxSteps)
    return at(m);

  if (kind == ScheduleKind::Interleaved && m % p)
    return priceRounds(problem, times);

  // A line through two numbers of micro-batches, as far apart as the time limit
  // allows.
  int step = period(kind, p), start = steadyFrom(kind, p);
  int fewer = start + (m % step - start % step + step) % step;
  int more = fewer + (p + step - 1) / step * step;
  while (more + step < m && steps(fewer) + steps(more + step) <= maxSteps)
    more += step;
  bool isShort = more < m && steps(fewer) + steps(more) <= maxSteps;
  if (!isShort && canScale(kind, problem, times))
    return priceScaled(kind, problem, times, kept);
  if (more >= m)
    return at(m);
  return extrapolate(at(fewer), at(more), double(m - fewer) / (more - fewer));
}

/// Rounds of two sizes, which result if the ranks do not divide the
/// micro-batches. A larger round hides more of the way from the last rank to
/// the first, so the time is linear in the rounds of each size. Few rounds are
/// simulated in full. For more, two smaller numbers with the same mean size
/// give the slope.
Ends PipelinePricer::priceRounds(const ScheduleProblem &problem,
                                 const PipelineTimes &times) {
  constexpr int kFewer = 4, kMore = 8;
  int p = problem.ranks, rounds = problem.microBatches / p;
  auto at = [&](int microBatches) {
    constexpr ScheduleKind kind = ScheduleKind::Interleaved;
    return simulate(kind, withSizes(kind, problem, p, microBatches), times,
                    1.0);
  };
  if (rounds <= kMore)
    return at(problem.microBatches);
  auto withRounds = [&](int count) {
    double rest = double(problem.microBatches % p) * count / rounds;
    int low = int(rest);
    return extrapolate(at(count * p + low), at(count * p + low + 1),
                       rest - low);
  };
  return extrapolate(withRounds(kFewer), withRounds(kMore),
                     double(rounds - kFewer) / (kMore - kFewer));
}

/// Prices shorter pipelines with as many micro-batches per rank. The schedule
/// behaves the same in other sizes, and its time is linear in the size. With
/// very many micro-batches, two such lines give the slope in their number.
Ends PipelinePricer::priceScaled(ScheduleKind kind,
                                 const ScheduleProblem &problem,
                                 const PipelineTimes &times, double kept) {
  int p = problem.ranks, m = problem.microBatches;
  // Both directions of DualPipe need the same number of micro-batches.
  int parity = kind == ScheduleKind::DualPipe ? 2 : 1;
  auto steps = [&](int ranks, int microBatches) {
    return numSteps(kind, problem, ranks, microBatches);
  };
  auto at = [&](int ranks, int microBatches) {
    ScheduleProblem fewer = withSizes(kind, problem, ranks, microBatches);
    return simulate(kind, fewer, withRanks(times, p, fewer), kept);
  };
  auto line = [&](int k, int microBatches) {
    return extrapolate(at(p / k, microBatches / k),
                       at(2 * p / k, 2 * microBatches / k), k - 1);
  };
  int k = 4;
  auto fewSteps = [&](int microBatches) {
    return steps(p / k, microBatches / k) +
           steps(2 * p / k, 2 * microBatches / k);
  };
  // Shortens long runs of micro-batches, whose number may not be divisible by
  // k.
  int longRun = 2 * steadyFrom(kind, p);
  int low = m, high = m;
  for (;; k *= 2) {
    int unit = k * parity;
    low = m / unit * unit;
    high = low == m ? m : low + unit;
    if (m > longRun + 2 * p) {
      low = longRun;
      high = longRun + 2 * p;
    }
    size_t total = fewSteps(low) + (high == low ? 0 : fewSteps(high));
    if (total <= maxSteps || p % (2 * k * parity) || p / (2 * k) < 4)
      break;
  }
  if (low == high)
    return line(k, m);
  return extrapolate(line(k, low), line(k, high),
                     double(m - low) / (high - low));
}

bool PipelinePricer::canScale(ScheduleKind kind, const ScheduleProblem &problem,
                              const PipelineTimes &times) const {
  int unit = kind == ScheduleKind::DualPipe ? 8 : 4;
  // Automatic schedules change shape with the size: one of medium size is
  // simulated in full, once it is made.
  if (isAutomatic(kind) && numSteps(kind, problem, problem.ranks,
                                    problem.microBatches) <= 2 * maxSteps)
    return false;
  return problem.ranks % unit == 0 && problem.ranks >= 16 &&
         hasEqualInnerRanks(problem, times);
}

/// Automatic schedules fill the memory of each rank; but a rank has no more
/// micro-batches between F and B than run ahead of the last rank.
static std::vector<std::vector<double>>
liveAtLimit(ScheduleKind kind, const ScheduleProblem &problem, double kept) {
  int p = problem.ranks;
  int limit = kind == ScheduleKind::ZeroBubble1P ? p : 2 * p;
  std::vector<std::vector<double>> live;
  for (int rank = 0; rank < p; ++rank) {
    int ahead = kept > 0 ? limit : std::min(limit, 2 * (p - rank) - 1);
    live.push_back({double(std::min(problem.microBatches, ahead))});
  }
  return live;
}

/// A number of micro-batches with the same peak as `m`. The peak is reached in
/// the steady state at the latest; only GPipe (all forwards before all
/// backwards) keeps every micro-batch.
static int fewestWithPeak(ScheduleKind kind, int p, int m) {
  if (kind == ScheduleKind::GPipe || m <= 4 * p)
    return m;
  if (kind != ScheduleKind::Interleaved)
    return 4 * p + m % period(kind, p);
  // Two rounds; the first has the same size, which determines the warm-up.
  int extra = interleavedRounds(p, m).front() - p;
  return 2 * p + std::max(0, 2 * extra - 1);
}

const std::vector<std::vector<double>> &
PipelinePricer::liveAtPeak(ScheduleKind kind, const ScheduleProblem &problem,
                           double keptForWeightGrad) {
  int p = problem.ranks;
  int m = fewestWithPeak(kind, p, problem.microBatches);
  int rounded = int(std::lround(keptForWeightGrad * kRatioSteps));
  auto [it, isNew] =
      live.try_emplace({Sizes(kind, p, problem.chunks, m), rounded});
  if (!isNew)
    return it->second;
  ScheduleProblem smaller = withSizes(kind, problem, p, m);
  double kept = rounded / kRatioSteps;
  it->second =
      isAutomatic(kind)
          ? liveAtLimit(kind, smaller, kept)
          : schedule::liveAtPeak(smaller, generate(kind, smaller), kept);
  return it->second;
}

/// The most boundaries that each rank of a list holds at once.
static std::vector<int64_t> countBoundaries(const ScheduleProblem &problem,
                                            Schedule list) {
  if (!list.hasTransfers())
    insertTransfers(problem, list);
  postReceives(problem, list);
  PipelineBytes sizes;
  sizes.fixed.assign(problem.ranks, 0);
  sizes.stages.assign(problem.stages(), StageBytes());
  for (StageBytes &stage : sizes.stages)
    stage.activation = stage.gradient = 1;
  sizes.stages.front().activation = 0;
  sizes.stages.back().gradient = 0;
  return peakBytes(problem, list, sizes);
}

const std::vector<int64_t> &
PipelinePricer::boundariesAtPeak(ScheduleKind kind,
                                 const ScheduleProblem &problem) {
  auto [it, isNew] = boundaries.try_emplace(
      Sizes(kind, problem.ranks, problem.chunks, problem.microBatches));
  if (isNew)
    it->second = countBoundaries(problem, generate(kind, problem));
  return it->second;
}

std::vector<int64_t>
PipelinePricer::boundariesAtPeak(const Pipeline &pipeline) {
  const ScheduleProblem &problem = pipeline.problem;
  if (pipeline.list)
    return countBoundaries(problem, *pipeline.list);
  // Boundaries do not depend on how far automatic schedules run ahead.
  ScheduleKind kind =
      isAutomatic(pipeline.kind) ? ScheduleKind::ZeroBubbleH1 : pipeline.kind;
  constexpr int kMost = 4;
  int p = problem.ranks, few = std::min(p, kMost);
  int m = std::min(problem.microBatches, 4 * few);
  const std::vector<int64_t> &counts =
      boundariesAtPeak(kind, withSizes(kind, problem, few, m));
  std::vector<int64_t> all(p);
  for (int rank = 0; rank < p; ++rank)
    all[rank] =
        counts[rank < few / 2 ? rank : std::max(few / 2, few - (p - rank))];
  return all;
}
