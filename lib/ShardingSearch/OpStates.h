//===- OpStates.h - The ways to run an op -----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain C++: the uses of each mesh axis at an op.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_SHARDINGSEARCH_OPSTATES_H
#define TESSERA_LIB_SHARDINGSEARCH_OPSTATES_H

#include "tessera/Propagation/PropagationProblem.h"
#include "llvm/ADT/SmallBitVector.h"

namespace tessera {

/// A way to run an op.
struct RunState {
  FactorAxes axes;
  /// Axes over which some operands and the results are partial.
  AxisList partial;
  /// The partial operands.
  llvm::SmallBitVector partialOperands;
  /// True if a factor of kind Decomposed has axes.
  bool isDecomposed = false;

  bool operator==(const RunState &o) const {
    return axes == o.axes && partial == o.partial &&
           partialOperands == o.partialOperands;
  }
};

/// The options of an op.
struct OpChoices {
  /// Axes that stay together, major to minor.
  llvm::SmallVector<AxisList, 4> units;
  /// Sets of operands in which the op is linear.
  llvm::SmallVector<llvm::SmallBitVector, 2> linear;
  /// Factors that cannot be padded.
  llvm::SmallBitVector unpaddable;
  /// Axes that factors have as input; empty if there are none.
  FactorAxes pinned;
};

/// The size of a factor of `size` on each of `shards` devices, rounded up; none
/// if the padded factor exceeds kMaxPaddedPercent of `size`.
std::optional<int64_t> getShardSize(int64_t size, int64_t shards);

/// Lists the states of an op. Each unit is on a factor (in any order with
/// others), on none, or makes all operands of a set of `linear` partial. A unit
/// of one axis that does not divide a factor may be split between two. Omits
/// states that no tensor sharding can express, and factors of kind Replicated.
/// The first state has no axes unless some are pinned.
std::vector<RunState> getOpStates(const ShardingRule &rule,
                                  const OpChoices &choices);

} // namespace tessera

#endif // TESSERA_LIB_SHARDINGSEARCH_OPSTATES_H
