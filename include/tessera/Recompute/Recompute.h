//===- Recompute.h - What to keep for the backward --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The choice between keeping a value of the forward until the backward uses it
// and computing it again there, apart from IR. Which values are kept is a
// minimum cut: a value that the backward needs is kept, at its bytes, or its op
// is repeated, at its time, and then the op's operands are needed.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RECOMPUTE_RECOMPUTE_H
#define TESSERA_RECOMPUTE_RECOMPUTE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace tessera {

/// The forward of one micro-batch on one device.
struct RecomputeProblem {
  /// A value of the forward, with its bytes on the device.
  struct Value {
    /// The op that computes it.
    unsigned op = 0;
    int64_t bytes = 0;
    /// Where it is kept: a device, of those that have the limits.
    unsigned place = 0;
    /// The backward uses it.
    bool isNeeded = false;
  };
  struct Op {
    /// Time to repeat it, at least 0, in about the time of moving a byte.
    int64_t time = 0;
    /// May be repeated.
    bool isRepeatable = false;
    /// Values of the problem that it uses; others are at hand in the backward.
    std::vector<unsigned> operands;
    /// To repeat it costs nothing where its operands are kept in any case: it
    /// is done element by element where its result is read so.
    bool isFree = false;
  };
  std::vector<Value> values;
  /// In program order.
  std::vector<Op> ops;
  /// Above the numbers of places.
  unsigned numPlaces = 1;

  /// An error unless each op uses values of earlier ops only and nothing is
  /// negative.
  llvm::Error check() const;
};

/// What is kept and what is repeated.
struct RecomputeChoice {
  /// By op.
  std::vector<bool> isRepeated;
  /// By value: needed, by the backward or by a repeated op, and kept.
  std::vector<bool> isKept;
  /// By place.
  std::vector<int64_t> keptBytes;
  int64_t time = 0;
};

/// Nothing is repeated.
RecomputeChoice keepAll(const RecomputeProblem &problem);
/// A choice, and ops that are free repeated as well where it keeps all that
/// they use.
RecomputeChoice repeatFree(const RecomputeProblem &problem,
                           const RecomputeChoice &choice);
/// The fewest bytes, and among those choices one that repeats the fewest ops.
RecomputeChoice keepLeast(const RecomputeProblem &problem);
/// At most `limits[p]` bytes kept at place p, in little time: of all choices
/// that keep no more anywhere than it keeps itself the fastest, to a hundredth
/// of its price of a byte. One that keeps more and still fits may be faster, by
/// less than one value is worth. None if `keepLeast` keeps more than a limit.
std::optional<RecomputeChoice> keepWithin(const RecomputeProblem &problem,
                                          llvm::ArrayRef<int64_t> limits);

/// The fewest and the most bytes that can be kept at a place.
struct KeptRange {
  int64_t least = 0, most = 0;
};

/// Bytes to keep at each place, within its range, with which a program needs at
/// most `limit` of memory anywhere, as many as trials find; `measure` says what
/// it needs at each place when so many are kept, and is asked twelve times at
/// most. None, with the least that was measured at each place in `needed`, if a
/// place fits in none of them.
std::optional<std::vector<int64_t>> fitKeptBytes(
    llvm::ArrayRef<KeptRange> ranges, int64_t limit,
    llvm::function_ref<std::vector<int64_t>(llvm::ArrayRef<int64_t>)> measure,
    std::vector<int64_t> &needed);

} // namespace tessera

#endif // TESSERA_RECOMPUTE_RECOMPUTE_H
