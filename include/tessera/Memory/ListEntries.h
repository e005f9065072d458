//===- ListEntries.h - A pp rank's list as the runtime runs it --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The actions of a list as entries of tessera_rt_run_list: which slot a send or
// a receive has, and where it is waited for.
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
  /// Of the functions of the pipeline.
  int64_t function = 0;
  tessera_rt_task kind = TESSERA_RT_TASK_F;
  int chunk = 0, microBatch = 0;
  /// Offsets of its segments.
  llvm::SmallVector<int64_t> bases;
  /// Of a pair, whose F is above: of what its BW is; negative elsewhere.
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

/// What the entries are made of, of one pp rank.
struct ListMemory {
  /// By position of the list: what it calls, in order; nothing of transfers.
  std::vector<llvm::SmallVector<TaskCall, 2>> calls;
  /// By position: what a send or receive moves.
  std::vector<BoundaryMemory> boundaries;
  std::vector<WatchedBlock> watched;
  /// Slots that no task uses, the first of them first.
  llvm::SmallVector<int64_t> freeSlots;
};

/// The entries; numbers of transfers are left open, as 0. A send is waited for
/// in front of the second send after it on its communicator, or at the end; a
/// receive in front of the task that reads it. An error if more transfers are
/// in flight at one time than there are slots. Expects a list with transfers
/// that verify() accepts.
llvm::Expected<std::vector<int64_t>>
writeEntries(const schedule::ScheduleProblem &problem,
             const schedule::Schedule &schedule, int rank,
             const ListMemory &memory);

} // namespace tessera

#endif // TESSERA_MEMORY_LISTENTRIES_H
