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

#include "llvm/Support/Error.h"
#include <cstdint>
#include <functional>
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
  };
  std::vector<Value> values;
  /// In program order.
  std::vector<Op> ops;

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
  int64_t keptBytes = 0;
  int64_t time = 0;
};

/// Nothing is repeated.
RecomputeChoice keepAll(const RecomputeProblem &problem);
/// The fewest bytes, and among those choices one that repeats the fewest ops.
RecomputeChoice keepLeast(const RecomputeProblem &problem);
/// At most `bytes` kept, in little time: of all choices that keep no more than
/// it keeps itself the fastest, to a hundredth of its price of a byte. One that
/// keeps more and still fits may be faster, by less than one value is worth.
/// None if `keepLeast` keeps more than `bytes`.
std::optional<RecomputeChoice> keepWithin(const RecomputeProblem &problem,
                                          int64_t bytes);

/// Bytes to keep, between `least` and `most`, with which a program needs at
/// most `limit` of memory, as many as trials find; `measure` says what it needs
/// when it keeps so many and is asked twelve times at most. None, with the
/// least that was measured in `needed`, if none of them fits.
std::optional<int64_t>
fitKeptBytes(int64_t least, int64_t most, int64_t limit,
             const std::function<int64_t(int64_t)> &measure, int64_t &needed);

} // namespace tessera

#endif // TESSERA_RECOMPUTE_RECOMPUTE_H
