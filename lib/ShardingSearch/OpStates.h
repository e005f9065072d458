//===- OpStates.h - The ways to run an op -----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In plain C++: what each axis of a mesh may do at an op.
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
  /// Axes over which operands stay partial, and results are.
  AxisList partial;
  /// The operands that do.
  llvm::SmallBitVector partialOperands;
  /// Some factor of kind Decomposed has axes.
  bool isDecomposed = false;

  bool operator==(const RunState &o) const {
    return axes == o.axes && partial == o.partial &&
           partialOperands == o.partialOperands;
  }
};

/// What may be chosen.
struct OpChoices {
  /// Axes that stay together, major to minor.
  llvm::SmallVector<AxisList, 4> units;
  /// Sets of operands in which the op is linear.
  llvm::SmallVector<llvm::SmallBitVector, 2> linear;
  /// Factors that cannot be padded.
  llvm::SmallBitVector unpaddable;
  /// Axes that factors have beforehand; empty without any.
  FactorAxes pinned;
};

/// What a factor of `size` is split into: its size on each of `shards`
/// devices, rounded up; none if a quarter or more of all would be padding.
std::optional<int64_t> getShardSize(int64_t size, int64_t shards);

/// Each unit is on a factor (in any order with others), on none, or, as a part
/// of all operands of a set of `linear`, partial. A unit of one axis that a
/// factor does not divide by may go to two. Ways that no sharding of a tensor
/// stands for are left out, and so are factors of kind Replicated. The first
/// state has no axes unless some are pinned.
std::vector<RunState> getOpStates(const ShardingRule &rule,
                                  const OpChoices &choices);

} // namespace tessera

#endif // TESSERA_LIB_SHARDINGSEARCH_OPSTATES_H
