//===- ListEntries.h - A pp rank's list as the runtime runs it --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts the actions of a list to entries of tessera_rt_run_list: assigns the
// slots of sends and receives and inserts their waits.
//
// Plain C++: no IR.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_MEMORY_LISTENTRIES_H
#define TESSERA_MEMORY_LISTENTRIES_H

#include "runtime/include/tessera_rt.h"
#include "tessera/Schedule/Schedule.h"
#include "llvm/ADT/SmallVector.h"

namespace tessera {

/// A function that an action calls: a task, or a pair of an F and a BW.
struct TaskCall {
  /// Index among the functions of the pipeline.
  int64_t function = 0;
  tessera_rt_task kind = TESSERA_RT_TASK_F;
  int chunk = 0, microBatch = 0;
  /// Offsets of its segments.
  llvm::SmallVector<int64_t> bases;
  /// For a pair, whose F is above: the chunk and micro-batch of its BW;
  /// negative elsewhere.
  int backwardChunk = -1, backwardMicroBatch = -1;

  bool isPair() const { return backwardChunk >= 0; }
};

/// A boundary in memory, in bytes.
struct BoundaryMemory {
  int64_t offset = 0, bytes = 0;
};

/// A block that the program watches, in bytes, and the positions of the list
/// before which it begins and after which it ends.
struct WatchedBlock {
  int64_t offset = 0, bytes = 0;
  size_t begin = 0, end = 0;
};

/// The memory that the entries of one pp rank refer to.
struct ListMemory {
  /// The calls at each position of the list, in order; empty for transfers.
  std::vector<llvm::SmallVector<TaskCall, 2>> calls;
  /// The boundary that the send or receive at each position moves.
  std::vector<BoundaryMemory> boundaries;
  std::vector<WatchedBlock> watched;
  /// Slots that no task uses; they are used in this order.
  llvm::SmallVector<int64_t> freeSlots;
};

/// Writes the entries; numbers of transfers stay open, as 0. The wait for a
/// send is before the second send after it on its communicator, or at the end;
/// the wait for a receive is before the task that reads it. Fails if more
/// transfers are in flight at one time than there are slots. Expects a list
/// with transfers that verify() accepts.
llvm::Expected<std::vector<int64_t>>
writeEntries(const schedule::ScheduleProblem &problem,
             const schedule::Schedule &schedule, int rank,
             const ListMemory &memory);

} // namespace tessera

#endif // TESSERA_MEMORY_LISTENTRIES_H
