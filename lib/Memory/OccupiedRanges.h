//===- OccupiedRanges.h - The addresses taken over time ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The address ranges of an arena's blocks, by the time in which they are taken.
// A binary tree divides the time; each node has the ranges taken in its share
// of the time, merged so that they do not touch. Blocks are close together, so
// a node has few ranges for any number of blocks, and finding an offset for a
// block takes time logarithmic in their number.
//
// Plain C++: no IR.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_MEMORY_OCCUPIEDRANGES_H
#define TESSERA_LIB_MEMORY_OCCUPIEDRANGES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <vector>

namespace tessera {

/// Addresses from `begin` up to `end`, in bytes.
struct AddressRange {
  int64_t begin = 0, end = 0;
};

/// Sorted ranges that do not touch.
class AddressSet {
public:
  void insert(AddressRange range);
  llvm::ArrayRef<AddressRange> getRanges() const { return ranges; }

private:
  llvm::SmallVector<AddressRange, 2> ranges;
};

class OccupiedRanges {
public:
  /// Steps are 0 to `numSteps` - 1.
  explicit OccupiedRanges(unsigned numSteps);

  /// Takes the range in steps `first` to `last`.
  void insert(unsigned first, unsigned last, AddressRange range);

  /// Returns the begin of the smallest gap of at least `bytes` that is free in
  /// all of steps `first` to `last`, the lowest one of several. Without a gap,
  /// returns the end of the taken addresses.
  int64_t findGap(unsigned first, unsigned last, int64_t bytes);

private:
  void forEachNode(unsigned first, unsigned last,
                   llvm::function_ref<void(unsigned)> fn) const;
  void uniteFound();

  /// A power of two; node 1 is the root, node `numLeaves` + i is step i.
  unsigned numLeaves = 1;
  /// For each node, the addresses taken in all of its steps but not in all of
  /// its parent's; and the addresses whose block begins in one of its steps.
  std::vector<AddressSet> throughout, begun;
  /// The sets of one query, and buffers for their union.
  llvm::SmallVector<llvm::ArrayRef<AddressRange>, 32> found;
  std::vector<AddressRange> united[2];
};

} // namespace tessera

#endif // TESSERA_LIB_MEMORY_OCCUPIEDRANGES_H
