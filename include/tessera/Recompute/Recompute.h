//===- Recompute.h - Choice of the values to recompute ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The choice, independent of IR, between keeping a value of the forward until
// the backward uses it and recomputing it there. It is a minimum cut: a value
// that the backward needs is kept, at the cost of its bytes, or its op is
// repeated, at the cost of its time, and then the op's operands are needed.
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
    /// The memory that holds it: index of a group of devices with a common
    /// limit.
    unsigned place = 0;
    /// The backward uses it.
    bool isNeeded = false;
  };
  struct Op {
    /// Time to repeat it, at least 0, in about the time of moving a byte.
    int64_t time = 0;
    /// May be repeated.
    bool isRepeatable = false;
    /// Operands that are values of the problem; the backward has the others.
    std::vector<unsigned> operands;
    /// Repeating it costs nothing if its operands are kept anyway: it runs
    /// element by element where its result is read.
    bool isFree = false;
  };
  std::vector<Value> values;
  /// In program order.
  std::vector<Op> ops;
  /// Exceeds all numbers of places.
  unsigned numPlaces = 1;

  /// Fails unless each op uses values of earlier ops only and nothing is
  /// negative.
  llvm::Error check() const;
};

/// The kept values and the repeated ops.
struct RecomputeChoice {
  /// One entry per op.
  std::vector<bool> isRepeated;
  /// One entry per value: true if it is kept and the backward or a repeated op
  /// needs it.
  std::vector<bool> isKept;
  /// One entry per place.
  std::vector<int64_t> keptBytes;
  int64_t time = 0;
};

/// The choice that repeats nothing.
RecomputeChoice keepAll(const RecomputeProblem &problem);
/// The given choice, which also repeats free ops if it keeps all their
/// operands.
RecomputeChoice repeatFree(const RecomputeProblem &problem,
                           const RecomputeChoice &choice);
/// The choice with the fewest bytes, and among those with the fewest repeated
/// ops.
RecomputeChoice keepLeast(const RecomputeProblem &problem);
/// A fast choice that keeps at most `limits[p]` bytes at place p: the fastest
/// among all choices that keep no more at any place than it does, up to a
/// hundredth of its price of a byte. A choice that keeps more and still fits
/// may be faster, by less than the worth of one value. None if `keepLeast`
/// exceeds a limit.
std::optional<RecomputeChoice> keepWithin(const RecomputeProblem &problem,
                                          llvm::ArrayRef<int64_t> limits);

/// The fewest and the most bytes that can be kept at a place.
struct KeptRange {
  int64_t least = 0, most = 0;
};

/// The bytes to keep at each place, within its range, so that a program needs
/// at most `limit` bytes of memory at any place: as many as trials find.
/// `measure` returns the memory needed at each place if these bytes are kept;
/// it is called at most twelve times. None if some place never fits; `needed`
/// is the least measured memory of each place.
std::optional<std::vector<int64_t>> fitKeptBytes(
    llvm::ArrayRef<KeptRange> ranges, int64_t limit,
    llvm::function_ref<std::vector<int64_t>(llvm::ArrayRef<int64_t>)> measure,
    std::vector<int64_t> &needed);

} // namespace tessera

#endif // TESSERA_RECOMPUTE_RECOMPUTE_H
