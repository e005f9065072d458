//===- OverlapSchedule.h - Work and transfers side by side ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order in which one device runs its ops, starts its collectives and waits
// for them. A device computes one op after the other; a collective runs beside
// that, from its start on, one after the other on each communicator (the links
// of one set of mesh axes). What waits for a collective that is not over
// stalls.
//
// The order is found by list scheduling: ops stay in the order of the program
// unless the next one would stall and a later one need not; a collective starts
// as soon as its operands are there, its communicator is free and memory
// allows, the one first that is needed first; it is waited for where its result
// is needed, or, where that frees memory, some time after it is over.
//
// All devices of a mesh run one program and so one order, which is a total
// order of the collectives of each communicator.
//
// Plain C++: no IR.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COLLECTIVES_OVERLAPSCHEDULE_H
#define TESSERA_COLLECTIVES_OVERLAPSCHEDULE_H

#include "runtime/include/tessera_rt.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <vector>

namespace tessera {

/// An op, or a collective from start to wait.
struct OverlapTask {
  static constexpr int kComputes = -1;

  double seconds = 0;
  /// kComputes, or the number of the communicator that a collective takes.
  int communicator = kComputes;
  /// Tasks that are over before this one begins: a collective is when it has
  /// been waited for.
  llvm::SmallVector<unsigned, 4> after;
  /// A collective starts no earlier than right before the first op that has not
  /// run is this one, or a later one of the program.
  unsigned notBefore = 0;
  /// An op that no op and no start of a collective moves across.
  bool isBarrier = false;
  /// Bytes that the op needs while it runs, besides blocks: what a loop's body
  /// makes.
  int64_t insideBytes = 0;

  bool isTransfer() const { return communicator != kComputes; }
};

/// Memory that lives from the begin of the first of its tasks to the end of the
/// last.
struct OverlapBlock {
  int64_t bytes = 0;
  llvm::SmallVector<unsigned, 4> tasks;
};

/// Tasks in an order that is right: each after those it is `after`.
struct OverlapProblem {
  std::vector<OverlapTask> tasks;
  std::vector<OverlapBlock> blocks;
  /// Collectives between start and wait at one time, at most.
  unsigned maxInFlight = TESSERA_RT_MAX_SLOTS - 1;

  /// An error if this is no problem.
  llvm::Error check() const;
};

/// What a device does next.
struct OverlapEvent {
  /// Run: a task that computes. Start and Wait: the two ends of a collective.
  enum Kind { Run, Start, Wait };
  Kind kind = Run;
  unsigned task = 0;
  bool operator==(const OverlapEvent &o) const {
    return kind == o.kind && task == o.task;
  }
};
using OverlapOrder = std::vector<OverlapEvent>;

/// An error if an order is wrong. In a right one each op runs once, each
/// collective is started and waited for once, everything comes after what it
/// needs, nothing crosses a barrier, and no more is in flight than may be.
llvm::Error verifyOverlap(const OverlapProblem &problem,
                          llvm::ArrayRef<OverlapEvent> order);

/// When a task runs, in seconds from the begin; for a collective, how much of
/// that passes while nothing is computed.
struct OverlapSpan {
  double begin = 0, end = 0, exposed = 0;
};

/// What an order takes.
struct OverlapTimes {
  double seconds = 0;
  /// The most bytes that live at one time.
  int64_t peakBytes = 0;
  /// Of each task.
  std::vector<OverlapSpan> spans;
};
OverlapTimes timeOverlap(const OverlapProblem &problem,
                         llvm::ArrayRef<OverlapEvent> order);

/// The order of the program; each collective is waited for at once.
OverlapOrder getBlockingOrder(const OverlapProblem &problem);

/// The order of a problem that passes check(). Its peak is no more than `limit`
/// bytes, or that of the blocking order where even this one is above; it takes
/// no longer than the blocking order.
OverlapOrder scheduleOverlap(const OverlapProblem &problem, int64_t limit);

} // namespace tessera

#endif // TESSERA_COLLECTIVES_OVERLAPSCHEDULE_H
