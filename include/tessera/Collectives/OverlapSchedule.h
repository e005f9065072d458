//===- OverlapSchedule.h - Overlap of work and transfers --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order in which one device runs its ops, starts its collectives and waits
// for them. A device computes one op after the other; a collective runs in the
// background from its start on, one after the other on each communicator (the
// links of one set of mesh axes). An op that waits for an unfinished collective
// stalls.
//
// List scheduling finds the order: ops stay in program order unless the next
// one would stall and a later one need not. A collective starts as soon as its
// operands are ready, its communicator is free and memory allows; the one that
// is needed first starts first. Its wait is where its result is needed or, if
// that frees memory, some time after it is over.
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
  /// Tasks that end before this one begins; a collective ends with its wait.
  llvm::SmallVector<unsigned, 4> after;
  /// A collective may start only once all ops before this one in the program
  /// have run.
  unsigned notBefore = 0;
  /// No op and no start of a collective moves across this op.
  bool isBarrier = false;
  /// Bytes that the op needs while it runs, in addition to blocks: the values
  /// inside a loop's body.
  int64_t insideBytes = 0;

  bool isTransfer() const { return communicator != kComputes; }
};

/// Memory that is alive from the begin of its first task to the end of its
/// last.
struct OverlapBlock {
  int64_t bytes = 0;
  llvm::SmallVector<unsigned, 4> tasks;
};

/// Tasks in a valid order: each comes after those in `after`.
struct OverlapProblem {
  std::vector<OverlapTask> tasks;
  std::vector<OverlapBlock> blocks;
  /// The most collectives between start and wait at one time.
  unsigned maxInFlight = TESSERA_RT_MAX_SLOTS - 1;

  /// Fails if the problem is malformed.
  llvm::Error check() const;
};

/// The next event of a device.
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

/// Fails if an order is invalid. In a valid order each op runs once, each
/// collective is started and waited for once, everything comes after its
/// operands, nothing crosses a barrier, and at most `maxInFlight` collectives
/// are in flight.
llvm::Error verifyOverlap(const OverlapProblem &problem,
                          llvm::ArrayRef<OverlapEvent> order);

/// Begin and end of a task, in seconds from the start; for a collective, also
/// the time in which nothing is computed.
struct OverlapSpan {
  double begin = 0, end = 0, exposed = 0;
};

/// Time and memory of an order.
struct OverlapTimes {
  double seconds = 0;
  /// The most bytes that are alive at one time.
  int64_t peakBytes = 0;
  /// One span per task.
  std::vector<OverlapSpan> spans;
};
OverlapTimes timeOverlap(const OverlapProblem &problem,
                         llvm::ArrayRef<OverlapEvent> order);

/// The order of the program; the wait follows each collective at once.
OverlapOrder getBlockingOrder(const OverlapProblem &problem);

/// The share of the memory of the blocking order by which another may exceed
/// it, unless a user says otherwise.
inline constexpr double kOverlapSlackShare = 0.1;

/// The order of a problem that passes check(). Its peak is at most `limit`
/// bytes, or the peak of the blocking order if that is above; it is never
/// slower than the blocking order.
OverlapOrder scheduleOverlap(const OverlapProblem &problem, int64_t limit);

} // namespace tessera

#endif // TESSERA_COLLECTIVES_OVERLAPSCHEDULE_H
