//===- ReshardCost.h - What moving a tensor costs ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times and bytes are those of the plan that ReshardPlanner.h makes, so that a
// choice and the collectives that follow from it never disagree.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PARTITION_RESHARDCOST_H
#define TESSERA_PARTITION_RESHARDCOST_H

#include "tessera/Propagation/PropagationProblem.h"
#include "tessera/Reshard/ReshardPlanner.h"

namespace tessera {

/// A tensor at an op, as far as its cost goes.
struct ShardedTensor {
  /// Null for an operand or result that is no ranked tensor.
  const Sharding *sharding = nullptr;
  llvm::ArrayRef<int64_t> shape;
  int64_t elementBytes = 0;
};

/// What moving something costs.
struct TransferSum {
  /// Seconds.
  double time = 0;
  /// Bytes that one device receives.
  int64_t bytes = 0;

  TransferSum &operator+=(const TransferSum &o) {
    time += o.time;
    bytes += o.bytes;
    return *this;
  }
  /// The same several times.
  TransferSum &operator*=(int64_t times) {
    time *= static_cast<double>(times);
    bytes *= times;
    return *this;
  }
};

/// True if `a` takes less time than `b` by more than rounding.
inline bool isShorter(const TransferSum &a, const TransferSum &b) {
  return a.time < b.time * (1 - 1e-9);
}

/// The cost of the way of a tensor from one sharding to another; an infinite
/// time if there is none.
TransferSum getReshardCost(ReshardPlanner &planner, const Sharding &from,
                           const Sharding &to, llvm::ArrayRef<int64_t> shape,
                           int64_t elementBytes);

/// The sharding that an op with these factor axes needs of an operand with
/// dimensions `dims`; an operand that the rule ties to nothing is needed whole.
Sharding getOperandSharding(const ShardingRule &rule, const TensorFactors &dims,
                            int64_t rank, const FactorAxes &axes);

/// The sharding of a result with dimensions `dims`: partial over the axes of
/// those reduced factors that it does not have.
Sharding getResultSharding(const ShardingRule &rule, const TensorFactors &dims,
                           const FactorAxes &axes);

/// True if each tensor can be sharded as these factor axes ask for, and all
/// that is reduced is reduced in one way.
bool canShardTensors(const ShardingRule &rule, const FactorAxes &axes);

/// How an op is run, and why.
struct FactorChoice {
  FactorAxes axes;
  /// To get the operands there and the results to where they are wanted.
  TransferSum cost;
  /// The best choice that was not taken; no axes if there was none.
  FactorAxes otherAxes;
  TransferSum otherCost;

  bool hasOther() const { return !otherAxes.empty(); }
};

/// Chooses the factor axes of an op from the shardings that its operands have
/// and its results shall have (wanted values: closed and whole).
///
/// Each factor may take the axes, or a prefix of them, that some operand or
/// result has on it. The time of a choice is that of the reshards of operands
/// and results. The shortest time wins among the choices that shard the work
/// equally; a choice that repeats work on more devices must take less than a
/// quarter of the time. Ties: the result's axes, then the operands' in order.
///
/// `pinned` is empty or has for each factor axes that it must have, of which no
/// other factor may have a part: a seed of an earlier priority put them there.
FactorChoice chooseFactors(ReshardPlanner &planner, const ShardingRule &rule,
                           llvm::ArrayRef<ShardedTensor> operands,
                           llvm::ArrayRef<ShardedTensor> results,
                           llvm::ArrayRef<AxisList> pinned = {});

/// The choice that has been made already, and its cost.
FactorChoice takeFactors(ReshardPlanner &planner, const ShardingRule &rule,
                         llvm::ArrayRef<ShardedTensor> operands,
                         llvm::ArrayRef<ShardedTensor> results,
                         FactorAxes axes);

} // namespace tessera

#endif // TESSERA_PARTITION_RESHARDCOST_H
