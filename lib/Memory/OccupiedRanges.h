//===- OccupiedRanges.h - Which addresses are taken when --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The offsets of blocks of an arena, by the time in which they are taken. A
// tree halves the time again and again; each of its nodes knows what is taken
// in its share of the time, as ranges of addresses that do not touch. Blocks
// are close together, so a node has few of them, however many blocks there are:
// an offset for a block is found in time that grows with the logarithm of their
// number.
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

/// Ranges in order, none of which touches the next.
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

  /// The begin of the smallest gap of at least `bytes` that is free in all of
  /// steps `first` to `last`, the lowest of several; where there is none, the
  /// end of what is taken then.
  int64_t findGap(unsigned first, unsigned last, int64_t bytes);

private:
  void forEachNode(unsigned first, unsigned last,
                   llvm::function_ref<void(unsigned)> fn) const;
  void uniteFound();

  /// A power of two; node 1 is the root, node `numLeaves` + i is step i.
  unsigned numLeaves = 1;
  /// Of each node what is taken in all of its steps, where it is not in all of
  /// those of the node above; and what was taken from one of its steps on.
  std::vector<AddressSet> throughout, begun;
  /// Of one query: sets, and room for those that they make together.
  llvm::SmallVector<llvm::ArrayRef<AddressRange>, 32> found;
  std::vector<AddressRange> united[2];
};

} // namespace tessera

#endif // TESSERA_LIB_MEMORY_OCCUPIEDRANGES_H
