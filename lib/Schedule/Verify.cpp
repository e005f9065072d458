//===- Verify.cpp - Is a schedule complete and can it run? ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a schedule without times: each rank goes on while what it needs is
// there. A schedule has a deadlock if, and only if, such a run stops before the
// end, since no action can take away what another one waits for.
//
//===----------------------------------------------------------------------===//

#include "tessera/Schedule/Schedule.h"
#include "llvm/ADT/STLExtras.h"

using namespace tessera;
using namespace tessera::schedule;
using llvm::createStringError;
using llvm::Error;

namespace {

class Run {
public:
  Run(const ScheduleProblem &problem, const Schedule &schedule, SendMode mode)
      : problem(problem), schedule(schedule), mode(mode),
        explicitTransfers(schedule.hasTransfers()),
        places(problem.ranks * problem.chunks * problem.microBatches),
        next(problem.ranks, 0) {}

  Error checkActions();
  Error execute();

private:
  /// What is there of a chunk and micro-batch.
  struct Place {
    bool forward = false, inputGrad = false, weightGrad = false;
    /// The operands of forward and backward.
    bool hasActivation = false, hasGradient = false;
    bool sentActivation = false, sentGradient = false;
  };
  Place &place(Slot slot, int microBatch) {
    return places[(slot.rank * problem.chunks + slot.chunk) *
                      problem.microBatches +
                  microBatch];
  }

  Error checkAction(int rank, const Action &action);
  Error checkPartners();
  /// Whether a transfer was done, at its own end.
  bool &transferFlag(int rank, const Action &action);
  /// Marks one of F, B, W as asked for; an error if it was.
  Error count(int rank, const Action &action, ActionKind part, int chunk,
              int microBatch);
  bool mayForward(Slot slot, int microBatch);
  bool mayBackward(Slot slot, int microBatch);
  bool mayTransfer(int rank, const Action &action);
  bool mayRun(int rank, const Action &action);
  void apply(int rank, const Action &action);
  /// The other end of a transfer, as an action of another rank.
  std::pair<int, Action> partner(int rank, const Action &action) const;
  /// The stage on the other side of a transfer; none at the ends of the path.
  std::optional<int> otherStage(int rank, const Action &action) const;

  const ScheduleProblem &problem;
  const Schedule &schedule;
  SendMode mode;
  bool explicitTransfers;
  std::vector<Place> places;
  /// Index of each rank's next action.
  std::vector<size_t> next;
};

std::string describe(int rank, const Action &action) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << action << " of rank " << rank;
  return text;
}

Error Run::count(int rank, const Action &action, ActionKind part, int chunk,
                 int microBatch) {
  if (chunk < 0 || chunk >= problem.chunks || microBatch < 0 ||
      microBatch >= problem.microBatches ||
      !problem.passes({rank, chunk}, microBatch))
    return createStringError(describe(rank, action) +
                             " is of no chunk and micro-batch there");
  Place &p = place({rank, chunk}, microBatch);
  bool &flag = part == ActionKind::Forward     ? p.forward
               : part == ActionKind::InputGrad ? p.inputGrad
                                               : p.weightGrad;
  if (flag)
    return createStringError(describe(rank, action) +
                             " repeats what was done before");
  flag = true;
  return Error::success();
}

std::optional<int> Run::otherStage(int rank, const Action &action) const {
  bool forwards = action.kind == ActionKind::SendActivation ||
                  action.kind == ActionKind::ReceiveGradient;
  int stage = problem.stageOf({rank, action.chunk}) + (forwards ? 1 : -1);
  if (stage < 0 || stage >= problem.stages())
    return std::nullopt;
  return stage;
}

Error Run::checkAction(int rank, const Action &action) {
  auto part = [&](ActionKind kind) {
    return count(rank, action, kind, action.chunk, action.microBatch);
  };
  auto backwardPart = [&](ActionKind kind) {
    return count(rank, action, kind, action.backwardChunk,
                 action.backwardMicroBatch);
  };
  switch (action.kind) {
  case ActionKind::Forward:
  case ActionKind::InputGrad:
  case ActionKind::WeightGrad:
    return part(action.kind);
  case ActionKind::Backward:
    if (Error error = part(ActionKind::InputGrad))
      return error;
    return part(ActionKind::WeightGrad);
  case ActionKind::Overlapped:
    if (Error error = part(ActionKind::Forward))
      return error;
    if (Error error = backwardPart(ActionKind::InputGrad))
      return error;
    return backwardPart(ActionKind::WeightGrad);
  default:
    break;
  }
  if (action.chunk < 0 || action.chunk >= problem.chunks ||
      action.microBatch < 0 || action.microBatch >= problem.microBatches ||
      !problem.passes({rank, action.chunk}, action.microBatch))
    return createStringError(describe(rank, action) +
                             " is of no chunk and micro-batch there");
  std::optional<int> other = otherStage(rank, action);
  if (!other || problem.slotOf(*other, action.microBatch).rank == rank)
    return createStringError(describe(rank, action) +
                             " has no other rank to go to");
  bool &flag = transferFlag(rank, action);
  if (flag)
    return createStringError(describe(rank, action) +
                             " repeats what was done before");
  flag = true;
  return Error::success();
}

bool &Run::transferFlag(int rank, const Action &action) {
  Place &p = place({rank, action.chunk}, action.microBatch);
  switch (action.kind) {
  case ActionKind::SendActivation:
    return p.sentActivation;
  case ActionKind::SendGradient:
    return p.sentGradient;
  case ActionKind::ReceiveActivation:
    return p.hasActivation;
  default:
    return p.hasGradient;
  }
}

/// Each transfer has its other end; what is made has been counted.
Error Run::checkPartners() {
  for (auto [rank, actions] : llvm::enumerate(schedule.ranks))
    for (const Action &action : actions) {
      if (!isTransfer(action.kind))
        continue;
      auto [otherRank, other] = partner(rank, action);
      if (!transferFlag(otherRank, other))
        return createStringError(describe(rank, action) + " has no " +
                                 describe(otherRank, other));
    }
  return Error::success();
}

Error Run::checkActions() {
  if (schedule.ranks.size() != size_t(problem.ranks))
    return createStringError("expects lists for " +
                             std::to_string(problem.ranks) + " ranks but got " +
                             std::to_string(schedule.ranks.size()));
  for (auto [rank, actions] : llvm::enumerate(schedule.ranks))
    for (const Action &action : actions)
      if (Error error = checkAction(rank, action))
        return error;
  for (int rank = 0; rank < problem.ranks; ++rank)
    for (int chunk = 0; chunk < problem.chunks; ++chunk)
      for (int m = 0; m < problem.microBatches; ++m) {
        if (!problem.passes({rank, chunk}, m))
          continue;
        const Place &p = place({rank, chunk}, m);
        auto missing = [&](ActionKind kind) {
          return createStringError(describe(rank, {kind, chunk, m}) +
                                   " is missing");
        };
        if (!p.forward)
          return missing(ActionKind::Forward);
        if (!p.inputGrad)
          return missing(ActionKind::InputGrad);
        if (!p.weightGrad)
          return missing(ActionKind::WeightGrad);
      }
  return checkPartners();
}

bool Run::mayForward(Slot slot, int microBatch) {
  int stage = problem.stageOf(slot);
  if (stage == 0)
    return true;
  Slot before = problem.slotOf(stage - 1, microBatch);
  if (explicitTransfers && before.rank != slot.rank)
    return place(slot, microBatch).hasActivation;
  return place(before, microBatch).forward;
}

bool Run::mayBackward(Slot slot, int microBatch) {
  if (!place(slot, microBatch).forward)
    return false;
  int stage = problem.stageOf(slot);
  if (stage + 1 == problem.stages())
    return true;
  Slot after = problem.slotOf(stage + 1, microBatch);
  if (explicitTransfers && after.rank != slot.rank)
    return place(slot, microBatch).hasGradient;
  return place(after, microBatch).inputGrad;
}

std::pair<int, Action> Run::partner(int rank, const Action &action) const {
  Slot other = problem.slotOf(*otherStage(rank, action), action.microBatch);
  static constexpr ActionKind kPartner[] = {
      ActionKind::ReceiveActivation, ActionKind::ReceiveGradient,
      ActionKind::SendActivation, ActionKind::SendGradient};
  ActionKind kind =
      kPartner[int(action.kind) - int(ActionKind::SendActivation)];
  return {other.rank, {kind, other.chunk, action.microBatch}};
}

/// A send needs its value; both ends meet if sends block, otherwise a receive
/// needs the send to be over.
bool Run::mayTransfer(int rank, const Action &action) {
  Place &here = place({rank, action.chunk}, action.microBatch);
  auto [otherRank, other] = partner(rank, action);
  Place &there = place({otherRank, other.chunk}, action.microBatch);
  bool meets = next[otherRank] < schedule.ranks[otherRank].size() &&
               schedule.ranks[otherRank][next[otherRank]] == other;
  switch (action.kind) {
  case ActionKind::SendActivation:
    return here.forward && (mode == SendMode::Buffered || meets);
  case ActionKind::SendGradient:
    return here.inputGrad && (mode == SendMode::Buffered || meets);
  case ActionKind::ReceiveActivation:
    return there.sentActivation;
  default:
    return there.sentGradient;
  }
}

bool Run::mayRun(int rank, const Action &action) {
  Slot slot{rank, action.chunk};
  switch (action.kind) {
  case ActionKind::Forward:
    return mayForward(slot, action.microBatch);
  case ActionKind::InputGrad:
  case ActionKind::Backward:
    return mayBackward(slot, action.microBatch);
  case ActionKind::WeightGrad:
    return place(slot, action.microBatch).inputGrad;
  case ActionKind::Overlapped:
    return mayForward(slot, action.microBatch) &&
           mayBackward({rank, action.backwardChunk}, action.backwardMicroBatch);
  default:
    return mayTransfer(rank, action);
  }
}

void Run::apply(int rank, const Action &action) {
  Place &p = place({rank, action.chunk}, action.microBatch);
  switch (action.kind) {
  case ActionKind::Forward:
    p.forward = true;
    break;
  case ActionKind::InputGrad:
  case ActionKind::Backward:
    p.inputGrad = true;
    break;
  case ActionKind::WeightGrad:
    break;
  case ActionKind::Overlapped:
    p.forward = true;
    place({rank, action.backwardChunk}, action.backwardMicroBatch).inputGrad =
        true;
    break;
  default:
    transferFlag(rank, action) = true;
    break;
  }
}

Error Run::execute() {
  places.assign(places.size(), Place());
  for (bool moved = true; moved;) {
    moved = false;
    for (int rank = 0; rank < problem.ranks; ++rank) {
      const std::vector<Action> &actions = schedule.ranks[rank];
      for (; next[rank] < actions.size(); ++next[rank]) {
        if (!mayRun(rank, actions[next[rank]]))
          break;
        apply(rank, actions[next[rank]]);
        moved = true;
      }
    }
  }
  std::string text;
  for (int rank = 0; rank < problem.ranks; ++rank)
    if (next[rank] < schedule.ranks[rank].size())
      text += (text.empty() ? "" : ", ") +
              describe(rank, schedule.ranks[rank][next[rank]]);
  if (text.empty())
    return Error::success();
  return createStringError("deadlock: " + text +
                           " wait for each other or for what nobody does");
}

} // namespace

Error tessera::schedule::verify(const ScheduleProblem &problem,
                                const Schedule &schedule, SendMode mode) {
  Run run(problem, schedule, mode);
  if (Error error = run.checkActions())
    return error;
  return run.execute();
}
