//===- ArenaPlan.h - Offsets for blocks with lifetimes ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every tensor of a program is a block of bytes that lives from one step of the
// program to another, both included. Two blocks that live at one time may not
// overlap in space. The plan gives each an offset in one arena and keeps the
// arena small. The problem is NP-hard, so the planner tries several orders of
// placing blocks, each into the tightest gap that it fits, and keeps the best.
//
// Plain C++: no IR.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_MEMORY_ARENAPLAN_H
#define TESSERA_MEMORY_ARENAPLAN_H

#include "runtime/include/tessera_rt.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <cstdint>

namespace tessera {

/// A block: its bytes, and the steps in which it is needed.
struct ArenaBlock {
  int64_t bytes = 0;
  int64_t begin = 0, end = 0;
  /// True if both are needed in some step; `begin` and `end` are inclusive.
  bool livesWith(const ArenaBlock &o) const {
    return begin <= o.end && o.begin <= end;
  }
};

/// The blocks and the alignment, in bytes, of their offsets.
struct ArenaProblem {
  llvm::SmallVector<ArenaBlock> blocks;
  int64_t alignment = TESSERA_RT_ARENA_ALIGNMENT;

  /// Fails if the problem is malformed.
  llvm::Error check() const;
  /// A lower bound of every plan's bytes: the most bytes that live at one time,
  /// and a step in which they do.
  int64_t lowerBound(int64_t *step = nullptr) const;
};

/// The offset of each block in one arena.
struct ArenaPlan {
  /// Offset of each block, in bytes.
  llvm::SmallVector<int64_t> offsets;
  /// Size of the arena, a multiple of the alignment.
  int64_t bytes = 0;

  /// Fails if the plan is wrong: misaligned offsets, blocks that overlap while
  /// both live, blocks outside the arena.
  llvm::Error verify(const ArenaProblem &problem) const;
};

/// A plan for a problem that passes check(). With `searches`, a local search
/// over orders shrinks an arena that is more than 2 % larger than the lower
/// bound.
ArenaPlan planArena(const ArenaProblem &problem, bool searches = false);

} // namespace tessera

#endif // TESSERA_MEMORY_ARENAPLAN_H
