//===- PeakBytes.cpp - Memory of a pipeline, from its lists ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each held block is an interval of positions; a sweep over the positions adds
// up the intervals.
//
//===----------------------------------------------------------------------===//

#include "tessera/Schedule/PeakBytes.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <map>

using namespace tessera;
using namespace tessera::schedule;

namespace {

/// Sums intervals of positions, both ends included.
class Sweep {
public:
  explicit Sweep(size_t length) : changes(length + 1, 0) {}

  void add(int64_t amount, size_t from, size_t to) {
    changes[from] += amount;
    changes[to + 1] -= amount;
  }
  int64_t max() const {
    int64_t sum = 0, most = 0;
    for (int64_t change : changes) {
      sum += change;
      most = std::max(most, sum);
    }
    return most;
  }

private:
  std::vector<int64_t> changes;
};

/// Positions of the tasks of a chunk and micro-batch, and of the receives of
/// their operands.
struct TaskPositions {
  size_t forward = 0, inputGrad = 0, weightGrad = 0;
  std::optional<size_t> activation, gradient;

  size_t of(ActionKind task) const {
    return task == ActionKind::Forward     ? forward
           : task == ActionKind::InputGrad ? inputGrad
                                           : weightGrad;
  }
};

/// A send of a list.
struct Send {
  size_t position;
  Action action;
};

/// The positions of a rank's tasks and transfers.
class RankPositions {
public:
  RankPositions(const ScheduleProblem &problem, int rank,
                llvm::ArrayRef<Action> actions)
      : problem(problem), tasks(size_t(problem.chunks) * problem.microBatches) {
    for (auto [position, action] : llvm::enumerate(actions))
      add(rank, action, position);
  }

  const TaskPositions &at(int chunk, int microBatch) const {
    return tasks[size_t(chunk) * problem.microBatches + microBatch];
  }
  /// Sends by communicator: destination rank, and activations or gradients.
  const std::map<std::pair<int, bool>, std::vector<Send>> &getSends() const {
    return sends;
  }

private:
  TaskPositions &task(int chunk, int microBatch) {
    return tasks[size_t(chunk) * problem.microBatches + microBatch];
  }
  void add(int rank, const Action &action, size_t position);

  const ScheduleProblem &problem;
  std::vector<TaskPositions> tasks;
  std::map<std::pair<int, bool>, std::vector<Send>> sends;
};

void RankPositions::add(int rank, const Action &action, size_t position) {
  TaskPositions &own = task(action.chunk, action.microBatch);
  switch (action.kind) {
  case ActionKind::Forward:
    own.forward = position;
    return;
  case ActionKind::InputGrad:
    own.inputGrad = position;
    return;
  case ActionKind::WeightGrad:
    own.weightGrad = position;
    return;
  case ActionKind::Backward:
    own.inputGrad = own.weightGrad = position;
    return;
  case ActionKind::Overlapped: {
    own.forward = position;
    TaskPositions &other =
        task(action.backwardChunk, action.backwardMicroBatch);
    other.inputGrad = other.weightGrad = position;
    return;
  }
  case ActionKind::ReceiveActivation:
    own.activation = position;
    return;
  case ActionKind::ReceiveGradient:
    own.gradient = position;
    return;
  case ActionKind::SendActivation:
  case ActionKind::SendGradient: {
    int to = partnerOf(problem, rank, action)->first;
    sends[{to, action.kind == ActionKind::SendGradient}].push_back(
        {position, action});
    return;
  }
  }
}

int64_t scratchOf(const ScheduleProblem &problem, int rank,
                  const Action &action, const PipelineBytes &sizes) {
  const StageBytes &stage = sizes.stages[problem.stageOf({rank, action.chunk})];
  switch (action.kind) {
  case ActionKind::Forward:
    return stage.forward;
  case ActionKind::InputGrad:
    return stage.inputGrad;
  case ActionKind::WeightGrad:
    return stage.weightGrad;
  case ActionKind::Backward:
    return stage.backward;
  case ActionKind::Overlapped:
    return stage.overlapped;
  default:
    return 0;
  }
}

/// Adds the blocks that the tasks of a chunk and micro-batch hold: their frames
/// and the boundaries that they read.
void addTasks(const ScheduleProblem &problem, const RankPositions &positions,
              Slot slot, int microBatch, const BoundaryReaders &until,
              std::vector<HeldBlock> &held) {
  const TaskPositions &at = positions.at(slot.chunk, microBatch);
  auto add = [&](HeldBlock::Kind kind, size_t begin, size_t end) {
    held.push_back({kind, slot.chunk, microBatch, begin, end});
  };
  add(HeldBlock::ForwardToInputGrad, at.forward, at.inputGrad);
  add(HeldBlock::ForwardToWeightGrad, at.forward, at.weightGrad);
  if (at.inputGrad != at.weightGrad)
    add(HeldBlock::InputGradToWeightGrad, at.inputGrad, at.weightGrad);
  int stage = problem.stageOf(slot);
  if (stage > 0) {
    Slot from = problem.slotOf(stage - 1, microBatch);
    add(HeldBlock::Activation,
        from.rank == slot.rank ? positions.at(from.chunk, microBatch).forward
                               : at.activation.value_or(at.forward),
        at.of(until.activation));
  }
  if (stage + 1 < problem.stages()) {
    Slot from = problem.slotOf(stage + 1, microBatch);
    add(HeldBlock::Gradient,
        from.rank == slot.rank ? positions.at(from.chunk, microBatch).inputGrad
                               : at.gradient.value_or(at.inputGrad),
        at.of(until.gradient));
  }
}

/// Adds boundaries that are being sent to other ranks.
void addSends(const RankPositions &positions, size_t last,
              std::vector<HeldBlock> &held) {
  for (const auto &[communicator, sends] : positions.getSends())
    for (size_t i = 0; i < sends.size(); ++i) {
      const Action &action = sends[i].action;
      const TaskPositions &maker =
          positions.at(action.chunk, action.microBatch);
      size_t until = i + 2 < sends.size() ? sends[i + 2].position : last;
      if (communicator.second)
        held.push_back({HeldBlock::SentGradient, action.chunk,
                        action.microBatch, maker.inputGrad, until});
      else
        held.push_back({HeldBlock::SentActivation, action.chunk,
                        action.microBatch, maker.forward, until});
    }
}

int64_t bytesOf(const HeldBlock &block, int stage, const PipelineBytes &sizes) {
  const StageBytes &bytes = sizes.stages[stage];
  switch (block.kind) {
  case HeldBlock::ForwardToInputGrad:
    return bytes.forwardToInputGrad;
  case HeldBlock::ForwardToWeightGrad:
    return bytes.forwardToWeightGrad;
  case HeldBlock::InputGradToWeightGrad:
    return bytes.inputGradToWeightGrad;
  case HeldBlock::Activation:
    return bytes.activation;
  case HeldBlock::Gradient:
    return bytes.gradient;
  case HeldBlock::SentActivation:
    return sizes.stages[stage + 1].activation;
  case HeldBlock::SentGradient:
    return sizes.stages[stage - 1].gradient;
  }
  llvm_unreachable("unknown kind");
}

} // namespace

std::vector<HeldBlock>
tessera::schedule::findHeld(const ScheduleProblem &problem,
                            const Schedule &schedule, int rank,
                            llvm::ArrayRef<BoundaryReaders> readers) {
  const std::vector<Action> &actions = schedule.ranks[rank];
  RankPositions positions(problem, rank, actions);
  std::vector<HeldBlock> held;
  for (int chunk = 0; chunk < problem.chunks; ++chunk)
    for (int m = 0; m < problem.microBatches; ++m)
      if (problem.passes({rank, chunk}, m))
        addTasks(problem, positions, {rank, chunk}, m, readers[chunk], held);
  addSends(positions, actions.size() - 1, held);
  return held;
}

std::vector<int64_t>
tessera::schedule::peakBytes(const ScheduleProblem &problem,
                             const Schedule &schedule,
                             const PipelineBytes &sizes) {
  std::vector<int64_t> peaks;
  for (int rank = 0; rank < problem.ranks; ++rank) {
    const std::vector<Action> &actions = schedule.ranks[rank];
    Sweep sweep(actions.size());
    for (auto [position, action] : llvm::enumerate(actions))
      sweep.add(scratchOf(problem, rank, action, sizes), position, position);
    std::vector<BoundaryReaders> readers;
    for (int chunk = 0; chunk < problem.chunks; ++chunk)
      readers.push_back(sizes.stages[problem.stageOf({rank, chunk})].until);
    for (const HeldBlock &block : findHeld(problem, schedule, rank, readers))
      sweep.add(bytesOf(block, problem.stageOf({rank, block.chunk}), sizes),
                block.begin, block.end);
    peaks.push_back(sizes.fixed[rank] + sweep.max());
  }
  return peaks;
}

std::vector<std::vector<MicroBatchesAlive>>
tessera::schedule::countAlive(const ScheduleProblem &problem,
                              const Schedule &schedule) {
  std::vector<std::vector<MicroBatchesAlive>> counts(problem.ranks);
  for (int rank = 0; rank < problem.ranks; ++rank) {
    size_t length = schedule.ranks[rank].size();
    RankPositions positions(problem, rank, schedule.ranks[rank]);
    for (int chunk = 0; chunk < problem.chunks; ++chunk) {
      Sweep toInputGrad(length), toWeightGrad(length), between(length);
      for (int m = 0; m < problem.microBatches; ++m) {
        if (!problem.passes({rank, chunk}, m))
          continue;
        const TaskPositions &at = positions.at(chunk, m);
        toInputGrad.add(1, at.forward, at.inputGrad);
        toWeightGrad.add(1, at.forward, at.weightGrad);
        if (at.inputGrad != at.weightGrad)
          between.add(1, at.inputGrad, at.weightGrad);
      }
      counts[rank].push_back({int(toInputGrad.max()), int(toWeightGrad.max()),
                              int(between.max())});
    }
  }
  return counts;
}
