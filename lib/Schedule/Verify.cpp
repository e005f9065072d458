//===- Verify.cpp - Completeness and deadlocks of schedules ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Simulates a schedule without times: each rank advances while its operands are
// available. A schedule has a deadlock if and only if the simulation stops
// before the end, since no action can remove what another one waits for. This
// holds in each mode of sending: the messages that a communicator has sent,
// posted and carried only grow.
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
        hasBackward(schedule.hasBackward()),
        places(problem.ranks * problem.chunks * problem.microBatches),
        communicators(size_t(problem.numLinks()) * 4), next(problem.ranks, 0) {}

  Error checkActions();
  Error checkOrder();
  /// Runs until no rank can advance.
  const std::vector<size_t> &execute();

private:
  /// The state of a chunk and micro-batch.
  struct Place {
    bool forward = false, inputGrad = false, weightGrad = false;
    /// Operands of forward and backward.
    bool hasActivation = false, hasGradient = false;
    bool sentActivation = false, sentGradient = false;
    /// Positions of its operands among the values that their communicators
    /// carry.
    int activationNumber = -1, gradientNumber = -1;
  };
  /// The number of started sends, and of posted receives.
  struct Communicator {
    int sent = 0, posted = 0;
    int numArrived() const { return std::min(sent, posted); }
  };
  Place &place(Slot slot, int microBatch) {
    return places[(slot.rank * problem.chunks + slot.chunk) *
                      problem.microBatches +
                  microBatch];
  }

  Error checkAction(int rank, const Action &action);
  Error checkPartners();
  Error checkCrossings();
  /// Whether a transfer was done at its own end.
  bool &transferFlag(int rank, const Action &action);
  /// Marks one of F, B, W as requested; fails if it was marked before.
  Error count(int rank, const Action &action, ActionKind part, int chunk,
              int microBatch);
  bool mayForward(Slot slot, int microBatch);
  bool mayBackward(Slot slot, int microBatch);
  bool maySend(int rank, const Action &action);
  bool mayReceive(int rank, const Action &action);
  bool mayRun(int rank, const Action &action);
  void apply(int rank, const Action &action);
  /// True if the operand that a rank receives for an action has arrived.
  bool hasArrived(Slot slot, int microBatch, bool isGradient);
  void applyTransfer(int rank, const Action &action);
  /// The communicator of a transfer.
  size_t communicatorOf(int rank, const Action &action) const;
  /// The communicator of the operand of a forward, or a backward.
  size_t communicatorTo(Slot slot, int microBatch, bool isGradient) const;
  /// The number of the value that a receive gets.
  int &operandNumber(int rank, const Action &receive);
  /// Numbers all operands by the sends of their communicators.
  void numberSends();

  const ScheduleProblem &problem;
  const Schedule &schedule;
  SendMode mode;
  bool explicitTransfers, hasBackward;
  std::vector<Place> places;
  /// Communicators of each pair of ranks, for activations and gradients.
  std::vector<Communicator> communicators;
  /// Index of each rank's next action.
  std::vector<size_t> next;
};

bool isSend(const Action &transfer) {
  return transfer.kind == ActionKind::SendActivation ||
         transfer.kind == ActionKind::SendGradient;
}

bool isGradientTransfer(const Action &transfer) {
  return transfer.kind == ActionKind::SendGradient ||
         transfer.kind == ActionKind::ReceiveGradient;
}

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
  if (!partnerOf(problem, rank, action))
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

/// Checks that each transfer has its other end, and that its value was counted.
Error Run::checkPartners() {
  for (auto [rank, actions] : llvm::enumerate(schedule.ranks))
    for (const Action &action : actions) {
      if (!isTransfer(action.kind))
        continue;
      auto [otherRank, other] = *partnerOf(problem, rank, action);
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
        if (!hasBackward)
          continue;
        if (!p.inputGrad)
          return missing(ActionKind::InputGrad);
        if (!p.weightGrad)
          return missing(ActionKind::WeightGrad);
      }
  if (Error error = checkPartners())
    return error;
  return explicitTransfers ? checkCrossings() : Error::success();
}

/// Checks that each value of another rank has a receive, and so a send.
Error Run::checkCrossings() {
  for (int rank = 0; rank < problem.ranks; ++rank)
    for (int chunk = 0; chunk < problem.chunks; ++chunk)
      for (int m = 0; m < problem.microBatches; ++m) {
        if (!problem.passes({rank, chunk}, m))
          continue;
        for (ActionKind kind :
             {ActionKind::ReceiveActivation, ActionKind::ReceiveGradient}) {
          if (kind == ActionKind::ReceiveGradient && !hasBackward)
            continue;
          Action receive{kind, chunk, m};
          if (partnerOf(problem, rank, receive) && !transferFlag(rank, receive))
            return createStringError(describe(rank, receive) + " is missing");
        }
      }
  return Error::success();
}

bool Run::mayForward(Slot slot, int microBatch) {
  int stage = problem.stageOf(slot);
  if (stage == 0)
    return true;
  Slot before = problem.slotOf(stage - 1, microBatch);
  if (explicitTransfers && before.rank != slot.rank)
    return hasArrived(slot, microBatch, /*isGradient=*/false);
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
    return hasArrived(slot, microBatch, /*isGradient=*/true);
  return place(after, microBatch).inputGrad;
}

size_t Run::communicatorTo(Slot slot, int microBatch, bool isGradient) const {
  int stage = problem.stageOf(slot), from = stage + (isGradient ? 1 : -1);
  int link = *problem.linkOf(std::min(stage, from), microBatch);
  bool isDown = problem.slotOf(from, microBatch).rank < slot.rank;
  return link * 4 + isDown * 2 + isGradient;
}

size_t Run::communicatorOf(int rank, const Action &action) const {
  if (!isSend(action))
    return communicatorTo({rank, action.chunk}, action.microBatch,
                          isGradientTransfer(action));
  auto [to, receive] = *partnerOf(problem, rank, action);
  return communicatorOf(to, receive);
}

void Run::numberSends() {
  std::vector<int> counts(communicators.size(), 0);
  for (auto [rank, actions] : llvm::enumerate(schedule.ranks))
    for (const Action &action : actions) {
      if (!isTransfer(action.kind) || !isSend(action))
        continue;
      auto [to, receive] = *partnerOf(problem, rank, action);
      operandNumber(to, receive) = counts[communicatorOf(to, receive)]++;
    }
}

/// Checks that receives are in the order of the sends.
Error Run::checkOrder() {
  numberSends();
  std::vector<int> counts(communicators.size(), 0);
  for (auto [rank, actions] : llvm::enumerate(schedule.ranks))
    for (const Action &action : actions) {
      if (!isTransfer(action.kind) || isSend(action))
        continue;
      int number = operandNumber(rank, action);
      int expected = counts[communicatorOf(rank, action)]++;
      if (number == expected)
        continue;
      auto [from, send] = *partnerOf(problem, rank, action);
      return createStringError(
          describe(rank, action) + " is posted as number " +
          std::to_string(expected) + " of its communicator, but " +
          describe(from, send) + " is number " + std::to_string(number));
    }
  return Error::success();
}

int &Run::operandNumber(int rank, const Action &receive) {
  Place &p = place({rank, receive.chunk}, receive.microBatch);
  return isGradientTransfer(receive) ? p.gradientNumber : p.activationNumber;
}

bool Run::hasArrived(Slot slot, int microBatch, bool isGradient) {
  const Place &p = place(slot, microBatch);
  if (mode != SendMode::Posted)
    return isGradient ? p.hasGradient : p.hasActivation;
  return communicators[communicatorTo(slot, microBatch, isGradient)]
             .numArrived() >
         (isGradient ? p.gradientNumber : p.activationNumber);
}

/// A send needs its value. If blocking, it also needs its receiver to be ready;
/// if posted, a free buffer.
bool Run::maySend(int rank, const Action &action) {
  const Place &here = place({rank, action.chunk}, action.microBatch);
  if (!(isGradientTransfer(action) ? here.inputGrad : here.forward))
    return false;
  switch (mode) {
  case SendMode::Buffered:
    return true;
  case SendMode::Blocking: {
    auto [to, receive] = *partnerOf(problem, rank, action);
    return next[to] < schedule.ranks[to].size() &&
           schedule.ranks[to][next[to]] == receive;
  }
  case SendMode::Posted: {
    const Communicator &way = communicators[communicatorOf(rank, action)];
    return way.sent - way.numArrived() < 2;
  }
  }
  return false;
}

/// A receive needs the send to be complete, unless it is only posted.
bool Run::mayReceive(int rank, const Action &action) {
  if (mode == SendMode::Posted)
    return true;
  auto [from, send] = *partnerOf(problem, rank, action);
  return transferFlag(from, send);
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
    return isSend(action) ? maySend(rank, action) : mayReceive(rank, action);
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
    applyTransfer(rank, action);
    break;
  }
}

void Run::applyTransfer(int rank, const Action &action) {
  transferFlag(rank, action) = true;
  if (mode != SendMode::Posted)
    return;
  Communicator &way = communicators[communicatorOf(rank, action)];
  ++(isSend(action) ? way.sent : way.posted);
}

const std::vector<size_t> &Run::execute() {
  places.assign(places.size(), Place());
  if (mode == SendMode::Posted)
    numberSends();
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
  return next;
}

} // namespace

std::vector<size_t> tessera::schedule::findStops(const ScheduleProblem &problem,
                                                 const Schedule &schedule,
                                                 SendMode mode) {
  return Run(problem, schedule, mode).execute();
}

Error tessera::schedule::verify(const ScheduleProblem &problem,
                                const Schedule &schedule, SendMode mode) {
  Run run(problem, schedule, mode);
  if (Error error = run.checkActions())
    return error;
  if (mode == SendMode::Posted)
    if (Error error = run.checkOrder())
      return error;
  std::string text;
  for (auto [rank, stop] : llvm::enumerate(run.execute()))
    if (stop < schedule.ranks[rank].size())
      text += (text.empty() ? "" : ", ") +
              describe(rank, schedule.ranks[rank][stop]);
  if (text.empty())
    return Error::success();
  return createStringError("deadlock: " + text +
                           " wait for each other or for what nobody does");
}
