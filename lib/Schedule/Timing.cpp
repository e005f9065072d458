//===- Timing.cpp - Times of a pipeline schedule --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Schedule/Timing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallVector.h"
#include <cassert>
#include <tuple>

using namespace tessera;
using namespace tessera::schedule;

namespace {

/// Forward, InputGrad, WeightGrad, Backward, Overlapped.
constexpr int kDurations = 5;
static_assert(int(ActionKind::Overlapped) == kDurations - 1);

/// Sorts the actions of all ranks into an order in which they can run.
class Compiler {
public:
  Compiler(const ScheduleProblem &problem, const Schedule &schedule)
      : problem(problem), schedule(schedule),
        forwardStep(problem.ranks * problem.chunks * problem.microBatches, -1),
        gradStep(forwardStep.size(), -1) {}

  std::vector<CompiledSchedule::Step> run();

private:
  using Step = CompiledSchedule::Step;

  size_t index(Slot slot, int microBatch) const {
    return size_t(slot.rank * problem.chunks + slot.chunk) *
               problem.microBatches +
           microBatch;
  }
  /// Adds the operand of a forward as a dependency; false if it has not run
  /// yet.
  bool addForwardOperand(Step &step, int &count, Slot slot, int microBatch);
  bool addBackwardOperand(Step &step, int &count, Slot slot, int microBatch);
  /// Appends the action to `steps` if it can run.
  bool tryAppend(int rank, const Action &action);

  const ScheduleProblem &problem;
  const Schedule &schedule;
  /// The steps that compute the results of forwards and of backwards.
  std::vector<int32_t> forwardStep, gradStep;
  std::vector<Step> steps;
};

bool Compiler::addForwardOperand(Step &step, int &count, Slot slot,
                                 int microBatch) {
  int stage = problem.stageOf(slot);
  if (stage == 0)
    return true;
  Slot before = problem.slotOf(stage - 1, microBatch);
  int32_t operand = forwardStep[index(before, microBatch)];
  if (operand < 0)
    return false;
  if (before.rank == slot.rank)
    return true; // The rank's own order ensures this.
  step.operands[count] = operand;
  step.links[count++] = *problem.linkOf(stage - 1, microBatch);
  return true;
}

bool Compiler::addBackwardOperand(Step &step, int &count, Slot slot,
                                  int microBatch) {
  if (forwardStep[index(slot, microBatch)] < 0)
    return false;
  int stage = problem.stageOf(slot);
  if (stage + 1 == problem.stages())
    return true;
  Slot after = problem.slotOf(stage + 1, microBatch);
  int32_t operand = gradStep[index(after, microBatch)];
  if (operand < 0)
    return false;
  if (after.rank == slot.rank)
    return true;
  step.operands[count] = operand;
  step.links[count++] = *problem.linkOf(stage, microBatch);
  return true;
}

bool Compiler::tryAppend(int rank, const Action &action) {
  Slot slot{rank, action.chunk};
  Step step;
  step.rank = rank;
  step.duration =
      (rank * problem.chunks + action.chunk) * kDurations + int(action.kind);
  int count = 0;
  bool ready = true;
  switch (action.kind) {
  case ActionKind::Forward:
    ready = addForwardOperand(step, count, slot, action.microBatch);
    break;
  case ActionKind::InputGrad:
  case ActionKind::Backward:
    ready = addBackwardOperand(step, count, slot, action.microBatch);
    break;
  case ActionKind::Overlapped:
    step.backwardDuration =
        (rank * problem.chunks + action.backwardChunk) * kDurations +
        int(ActionKind::Backward);
    ready = addForwardOperand(step, count, slot, action.microBatch) &&
            addBackwardOperand(step, count, {rank, action.backwardChunk},
                               action.backwardMicroBatch);
    break;
  default:
    break;
  }
  if (!ready)
    return false;
  int32_t number = steps.size();
  if (action.kind == ActionKind::Forward ||
      action.kind == ActionKind::Overlapped)
    forwardStep[index(slot, action.microBatch)] = number;
  if (action.kind == ActionKind::InputGrad ||
      action.kind == ActionKind::Backward)
    gradStep[index(slot, action.microBatch)] = number;
  if (action.kind == ActionKind::Overlapped)
    gradStep[index({rank, action.backwardChunk}, action.backwardMicroBatch)] =
        number;
  steps.push_back(step);
  return true;
}

std::vector<CompiledSchedule::Step> Compiler::run() {
  std::vector<size_t> next(problem.ranks, 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (int rank = 0; rank < problem.ranks; ++rank) {
      const std::vector<Action> &actions = schedule.ranks[rank];
      while (next[rank] < actions.size() &&
             (isTransfer(actions[next[rank]].kind) ||
              tryAppend(rank, actions[next[rank]]))) {
        ++next[rank];
        moved = true;
      }
    }
  }
  assert(llvm::all_of(llvm::enumerate(next),
                      [&](auto it) {
                        return it.value() == schedule.ranks[it.index()].size();
                      }) &&
         "expects a schedule that verify() accepts");
  return std::move(steps);
}

} // namespace

PipelineTimes PipelineTimes::uniform(const ScheduleProblem &problem,
                                     const ChunkTimes &stage, double link) {
  double share = problem.chunkShare();
  ChunkTimes chunk{stage.forward * share, stage.inputGrad * share,
                   stage.weightGrad * share, stage.overlapped * share};
  PipelineTimes times;
  times.chunks.assign(problem.ranks * problem.chunks, chunk);
  times.links.assign(problem.numLinks(), link);
  return times;
}

double ScheduleTiming::makespan() const {
  double end = 0;
  for (const RankTiming &rank : ranks)
    end = std::max(end, rank.last);
  return end;
}

double ScheduleTiming::span() const {
  double span = 0;
  for (const RankTiming &rank : ranks)
    span = std::max(span, rank.last - rank.first);
  return span;
}

double ScheduleTiming::maxBusy() const {
  double busy = 0;
  for (const RankTiming &rank : ranks)
    busy = std::max(busy, rank.busy);
  return busy;
}

CompiledSchedule::CompiledSchedule(const ScheduleProblem &problem,
                                   const Schedule &schedule)
    : steps(Compiler(problem, schedule).run()), numRanks(problem.ranks),
      numChunks(problem.chunks), numLinks(problem.numLinks()) {
  sortByStart(PipelineTimes::uniform(problem, {1, 1, 1, -1}));
  firstSteps.assign(numRanks, -1);
  for (const auto &[i, step] : llvm::enumerate(steps)) {
    if (firstSteps[step.rank] < 0)
      firstSteps[step.rank] = i;
    hasOverlapped |= step.operands[1] >= 0;
  }
}

/// Adjacent steps then belong to different ranks, so that a processor works on
/// several at once.
void CompiledSchedule::sortByStart(const PipelineTimes &times) {
  std::vector<double> starts(steps.size());
  run(times,
      [&](const Step &, size_t i, double start, double) { starts[i] = start; });
  auto order = llvm::to_vector(llvm::seq<int32_t>(0, steps.size()));
  llvm::sort(order, [&](int32_t a, int32_t b) {
    return std::tie(starts[a], a) < std::tie(starts[b], b);
  });
  std::vector<int32_t> newNumber(steps.size());
  for (const auto &[to, from] : llvm::enumerate(order))
    newNumber[from] = to;
  std::vector<Step> sorted;
  sorted.reserve(steps.size());
  for (int32_t from : order) {
    Step step = steps[from];
    for (int32_t &operand : step.operands)
      if (operand >= 0)
        operand = newNumber[operand];
    sorted.push_back(step);
  }
  steps = std::move(sorted);
}

static llvm::SmallVector<double, 640>
flattenDurations(const PipelineTimes &times) {
  llvm::SmallVector<double, 640> durations;
  for (const ChunkTimes &t : times.chunks) {
    double both = t.inputGrad + t.weightGrad;
    durations.append(
        {t.forward, t.inputGrad, t.weightGrad, both, t.overlapped});
  }
  return durations;
}

/// A pair without a time takes the sum of its forward and its backward.
static double durationOf(const CompiledSchedule::Step &step,
                         llvm::ArrayRef<double> durations) {
  double duration = durations[step.duration];
  if (duration < 0)
    duration = durations[step.duration - int(ActionKind::Overlapped)] +
               durations[step.backwardDuration];
  return duration;
}

template <typename Visit>
void CompiledSchedule::run(const PipelineTimes &times, Visit visit) const {
  assert(times.chunks.size() == size_t(numRanks * numChunks) &&
         times.links.size() == size_t(numLinks));
  auto durations = flattenDurations(times);
  llvm::SmallVector<double, 128> free(numRanks, 0.0);
  std::unique_ptr<double[]> ends(new double[steps.size()]);
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step &step = steps[i];
    double start = free[step.rank];
    if (step.operands[0] >= 0)
      start =
          std::max(start, ends[step.operands[0]] + times.links[step.links[0]]);
    if (step.operands[1] >= 0)
      start =
          std::max(start, ends[step.operands[1]] + times.links[step.links[1]]);
    double end = start + durationOf(step, durations);
    ends[i] = end;
    free[step.rank] = end;
    visit(step, i, start, end);
  }
}

ScheduleTiming CompiledSchedule::simulate(const PipelineTimes &times) const {
  ScheduleTiming timing;
  timing.ranks.assign(numRanks, {-1, 0, 0});
  run(times, [&](const Step &step, size_t, double start, double end) {
    RankTiming &rank = timing.ranks[step.rank];
    if (rank.first < 0)
      rank.first = start;
    rank.last = end;
    rank.busy += end - start;
  });
  return timing;
}

std::vector<std::vector<CompiledSchedule::ActionTime>>
CompiledSchedule::simulateActions(const PipelineTimes &times) const {
  std::vector<std::vector<ActionTime>> actions(numRanks);
  run(times, [&](const Step &step, size_t, double begin, double end) {
    actions[step.rank].push_back({begin, end});
  });
  return actions;
}

CompiledSchedule::Ends
CompiledSchedule::simulateEnds(const PipelineTimes &times) const {
  auto durations = flattenDurations(times);
  llvm::SmallVector<double, 128> free(numRanks, 0.0);
  // Step -1 and link -1 stand for no dependency.
  std::unique_ptr<double[]> storage(new double[steps.size() + 1]);
  double *ends = storage.get() + 1;
  ends[-1] = 0;
  llvm::SmallVector<double, 128> withNone{0.0};
  llvm::append_range(withNone, times.links);
  const double *links = withNone.data() + 1;
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step &step = steps[i];
    double ready = ends[step.operands[0]] + links[step.links[0]];
    if (hasOverlapped)
      ready = std::max(ready, ends[step.operands[1]] + links[step.links[1]]);
    free[step.rank] = ends[i] =
        std::max(free[step.rank], ready) + durationOf(step, durations);
  }
  Ends result{0, 0};
  for (int rank = 0; rank < numRanks; ++rank) {
    int32_t first = firstSteps[rank];
    double start = ends[first] - durationOf(steps[first], durations);
    result.makespan = std::max(result.makespan, free[rank]);
    result.span = std::max(result.span, free[rank] - start);
  }
  return result;
}

namespace {

/// An action, or a transfer to add, with its position in the total order.
struct Placed {
  double time;
  /// At equal times, transfers come first, in the order of the steps that make
  /// their values, so that both ends agree.
  bool isAction;
  size_t order;
  Action action;
  bool operator<(const Placed &o) const {
    return std::tie(time, isAction, order) <
           std::tie(o.time, o.isAction, o.order);
  }
};

/// Adds the transfer of a forward's or backward's result to both ends.
void addTransfer(const ScheduleProblem &problem, bool isForward, int rank,
                 int chunk, int microBatch, double time, size_t order,
                 std::vector<std::vector<Placed>> &lists) {
  int stage = problem.stageOf({rank, chunk}) + (isForward ? 1 : -1);
  if (stage < 0 || stage >= problem.stages())
    return;
  Slot to = problem.slotOf(stage, microBatch);
  if (to.rank == rank)
    return;
  ActionKind send =
      isForward ? ActionKind::SendActivation : ActionKind::SendGradient;
  ActionKind receive =
      isForward ? ActionKind::ReceiveActivation : ActionKind::ReceiveGradient;
  lists[rank].push_back({time, false, order, {send, chunk, microBatch}});
  lists[to.rank].push_back(
      {time, false, order, {receive, to.chunk, microBatch}});
}

} // namespace

void tessera::schedule::insertTransfers(const ScheduleProblem &problem,
                                        Schedule &schedule) {
  CompiledSchedule compiled(problem, schedule);
  PipelineTimes times = PipelineTimes::uniform(problem, {1, 1, 1, -1});
  std::vector<std::vector<Placed>> lists(problem.ranks);
  std::vector<size_t> next(problem.ranks, 0);
  compiled.run(times, [&](const CompiledSchedule::Step &step, size_t i,
                          double start, double end) {
    int rank = step.rank;
    const Action &action = schedule.ranks[rank][next[rank]++];
    lists[rank].push_back({start, true, i, action});
    // A step makes at most two values: one of a forward and one of a backward.
    if (action.kind == ActionKind::Forward ||
        action.kind == ActionKind::Overlapped)
      addTransfer(problem, true, rank, action.chunk, action.microBatch, end,
                  2 * i, lists);
    if (action.kind == ActionKind::InputGrad ||
        action.kind == ActionKind::Backward)
      addTransfer(problem, false, rank, action.chunk, action.microBatch, end,
                  2 * i + 1, lists);
    if (action.kind == ActionKind::Overlapped)
      addTransfer(problem, false, rank, action.backwardChunk,
                  action.backwardMicroBatch, end, 2 * i + 1, lists);
  });
  for (int rank = 0; rank < problem.ranks; ++rank) {
    llvm::sort(lists[rank]);
    schedule.ranks[rank].clear();
    for (const Placed &placed : lists[rank])
      schedule.ranks[rank].push_back(placed.action);
  }
}
