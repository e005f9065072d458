//===- Schedule.h - Pipeline schedules as data ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pipeline splits a model into chunks of layers and places them on ranks. A
// micro-batch goes through all chunks forwards and then backwards. The problem
// defines the ranks, chunks and micro-batches and the path of a micro-batch; a
// schedule is, for each rank, the list of its actions in order. Generators.h
// makes schedules, Timing.h prices them.
//
// Plain C++: no IR, no times.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SCHEDULE_SCHEDULE_H
#define TESSERA_SCHEDULE_SCHEDULE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <memory>
#include <optional>
#include <vector>

namespace tessera::schedule {

/// Known placements of the chunks of a model on ranks.
enum class Placement {
  /// Stage s on rank s mod ranks: one chunk per rank, or several, round robin.
  Loop,
  /// Two chunks per rank: down the ranks with the first, up with the second, so
  /// that the first and the last stage are on rank 0.
  Vee,
  /// Two chunks per rank, two copies of the model: the first half of the
  /// micro-batches goes down the ranks through chunk 0, the second half goes up
  /// through chunk 1.
  Bidirectional,
};

/// A chunk of a rank.
struct Slot {
  int rank = 0, chunk = 0;
  bool operator==(const Slot &o) const {
    return rank == o.rank && chunk == o.chunk;
  }
};

/// A scheduling problem. A micro-batch takes a path: one chunk after the other,
/// its stages. Each chunk of each rank is a stage of one path.
class ScheduleProblem {
public:
  /// One chunk of one rank, one micro-batch.
  ScheduleProblem();
  /// The chunks in a known placement. Errors name the number that does not suit
  /// it.
  static llvm::Expected<ScheduleProblem> make(Placement placement, int ranks,
                                              int chunks, int microBatches);
  /// One path, with stage s on the rank rankOfStage[s]; the chunks of a rank
  /// are in order of their stages. Fails if some ranks have more stages than
  /// others.
  static llvm::Expected<ScheduleProblem> make(llvm::ArrayRef<int> rankOfStage,
                                              int microBatches);
  /// A problem with another number of micro-batches that shares ranks and
  /// chunks with this one. Fails where make() fails.
  llvm::Expected<ScheduleProblem> withMicroBatches(int number) const;

  int ranks = 1;
  /// Number of chunks per rank.
  int chunks = 1;
  int microBatches = 1;

  /// Number of chunks that a micro-batch passes.
  int stages() const { return routes->paths.front().size(); }
  /// 1, or 2 for two copies of the model with half of the micro-batches each.
  int numPaths() const { return routes->paths.size(); }
  /// The chunk that a micro-batch passes in its stage `stage`.
  Slot slotOf(int stage, int microBatch) const {
    return routes->paths[pathOf(microBatch)][stage];
  }
  /// The stage that a chunk is.
  int stageOf(Slot slot) const { return positionOf(slot).stage; }
  /// True if the micro-batch passes through the chunk.
  bool passes(Slot slot, int microBatch) const {
    return positionOf(slot).path == pathOf(microBatch);
  }
  /// Number of micro-batches that pass through a chunk.
  int microBatchesOf() const { return microBatches / numPaths(); }
  /// The first of them.
  int firstMicroBatchOf(Slot slot) const {
    return positionOf(slot).path * microBatchesOf();
  }
  /// Size of a chunk relative to a p-th of the model; it scales the activations
  /// of a chunk.
  double chunkShare() const { return double(numPaths()) / chunks; }
  /// Number of pairs of ranks with neighbouring stages.
  int numLinks() const { return routes->linkCount; }
  /// Number of the link between the stages `stage` and `stage + 1`. Links are
  /// numbered in the order in which paths use them, each pair of ranks once;
  /// none within a rank.
  std::optional<int> linkOf(int stage, int microBatch) const;

private:
  /// A stage of a path.
  struct Position {
    int path = -1, stage = -1;
  };
  /// The data that does not depend on the number of micro-batches.
  struct Routes {
    std::vector<std::vector<Slot>> paths;
    /// The position of each chunk of each rank.
    std::vector<Position> positions;
    /// For each path, the link after each of its stages but the last; -1: none.
    std::vector<std::vector<int>> linksOfPath;
    int linkCount = 0;
  };
  ScheduleProblem(int ranks, int chunks, int microBatches,
                  std::vector<std::vector<Slot>> newPaths);
  size_t indexOf(Slot slot) const { return slot.rank * chunks + slot.chunk; }
  const Position &positionOf(Slot slot) const {
    return routes->positions[indexOf(slot)];
  }
  int pathOf(int microBatch) const { return microBatch / microBatchesOf(); }

  std::shared_ptr<const Routes> routes;
};

/// The kind of an action of a rank on one chunk and one micro-batch.
enum class ActionKind {
  /// F: forward of a chunk and micro-batch.
  Forward,
  /// B: gradient of its input.
  InputGrad,
  /// W: gradients of its parameters, any time after B.
  WeightGrad,
  /// B and W in one action.
  Backward,
  /// Forward of one chunk overlapped with the whole backward of another.
  Overlapped,
  /// Sends the result of a forward to the next stage, or of a backward to the
  /// previous one; receives the input of a forward or backward.
  SendActivation,
  SendGradient,
  ReceiveActivation,
  ReceiveGradient,
};

/// True for sends and receives.
bool isTransfer(ActionKind kind);

/// One entry of a rank's list.
struct Action {
  ActionKind kind = ActionKind::Forward;
  int chunk = 0, microBatch = 0;
  /// The backward's chunk and micro-batch in an Overlapped action.
  int backwardChunk = -1, backwardMicroBatch = -1;

  bool operator==(const Action &o) const {
    return kind == o.kind && chunk == o.chunk && microBatch == o.microBatch &&
           backwardChunk == o.backwardChunk &&
           backwardMicroBatch == o.backwardMicroBatch;
  }
};

/// "F0.3": forward of chunk 0 with micro-batch 3. B, W, BW (both), F0.3|BW1.2,
/// and sA, sG, rA, rG for transfers.
llvm::raw_ostream &operator<<(llvm::raw_ostream &os, const Action &action);

/// The actions of each rank, in order.
struct Schedule {
  std::vector<std::vector<Action>> ranks;

  /// True if sends and receives are among the actions.
  bool hasTransfers() const;
  /// True if a backward, or a part of one, is among the actions.
  bool hasBackward() const;
  bool operator==(const Schedule &o) const { return ranks == o.ranks; }
  /// One line per rank.
  void print(llvm::raw_ostream &os) const;
};

/// The other end of a send or receive, and its rank; none if the value does not
/// leave the rank.
std::optional<std::pair<int, Action>>
partnerOf(const ScheduleProblem &problem, int rank, const Action &transfer);

/// The semantics of sends and receives.
enum class SendMode {
  /// A send returns at once.
  Buffered,
  /// A send returns when the receiver has come to its receive.
  Blocking,
  /// The semantics of compiled programs. Between two ranks, activations and
  /// gradients each have a communicator, which carries values in the order of
  /// their sends. A receive is posted and returns at once; the action that
  /// needs its value waits for it. A send waits until the last but one before
  /// it on its communicator has arrived: two buffers. A value arrives when it
  /// is sent, its receive is posted and all values before it have arrived.
  Posted,
};

/// The forwards of a schedule, in its order, without transfers.
Schedule keepForwards(const Schedule &schedule);

/// Fails if a schedule is wrong: an action is missing, repeated or on a chunk
/// that the micro-batch does not pass; or no execution can follow the order.
/// A schedule that has no backward counts as a forward pass; in any other, all
/// backwards must be there. If there are transfers, each value that crosses
/// ranks needs its send and its receive, and they must not deadlock in the
/// given mode; if there are none, values travel by themselves. In mode Posted,
/// the receives of a communicator must have the order of its sends.
llvm::Error verify(const ScheduleProblem &problem, const Schedule &schedule,
                   SendMode mode = SendMode::Blocking);

/// Adds sends and receives to a schedule without transfers that verify()
/// accepts. All ranks' lists are then parts of one total order, so no send mode
/// deadlocks: each transfer is at the time at which its value is computed if
/// all actions of a kind take equally long.
void insertTransfers(const ScheduleProblem &problem, Schedule &schedule);

/// Posts receives early: moves each to the position after the last but one
/// compute action before the one that needs it, and before the sends that
/// follow there, which may wait. It moves a receive further ahead if a later
/// value of its communicator is needed earlier, or if a sender that runs ahead
/// would wait for a buffer if all actions took equally long. So a transfer
/// overlaps with a whole action. If the list still deadlocks for lack of
/// buffers, receives stay where insertTransfers() put them if that is earlier:
/// then no list deadlocks that verify() accepts in mode Blocking. Expects each
/// value that crosses ranks to have a send; receives may be absent.
void postReceives(const ScheduleProblem &problem, Schedule &schedule);

/// The index of the action at which each rank stops for good, or the length of
/// its list if it finishes. Expects a schedule with complete actions: verify()
/// reports no error but a deadlock.
std::vector<size_t> findStops(const ScheduleProblem &problem,
                              const Schedule &schedule, SendMode mode);

/// For each rank and each of its chunks, the micro-batches whose activations
/// are alive when the rank has the most of them, counting all chunks alike.
std::vector<std::vector<double>> liveAtPeak(const ScheduleProblem &problem,
                                            const Schedule &schedule,
                                            double keptForWeightGrad = 1.0);

/// For each rank, the most activations alive at once, in micro-batches of one
/// stage (a p-th of the model). A forward allocates them; InputGrad frees all
/// but the share `keptForWeightGrad`, WeightGrad and Backward the rest.
std::vector<double> peakActivations(const ScheduleProblem &problem,
                                    const Schedule &schedule,
                                    double keptForWeightGrad = 1.0);

} // namespace tessera::schedule

#endif // TESSERA_SCHEDULE_SCHEDULE_H
