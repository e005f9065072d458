//===- ReshardCost.h - Costs of moving a tensor -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times and bytes come from the plan of ReshardPlanner.h, so that a choice and
// the resulting collectives never disagree.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PARTITION_RESHARDCOST_H
#define TESSERA_PARTITION_RESHARDCOST_H

#include "tessera/Propagation/PropagationProblem.h"
#include "tessera/Reshard/ReshardPlanner.h"

namespace tessera {

/// A tensor at an op, with the data that its cost depends on.
struct ShardedTensor {
  /// Null for an operand or result that is not a ranked tensor.
  const Sharding *sharding = nullptr;
  llvm::ArrayRef<int64_t> shape;
  int64_t elementBytes = 0;
  /// An operand that each device makes for itself, so that no sharding of it
  /// costs a transfer.
  bool isFree = false;
};

/// The cost of moving tensors.
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
  /// Multiplies the cost by a number of repetitions.
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

/// The cost of resharding a tensor; an infinite time if there is no plan.
TransferSum getReshardCost(ReshardPlanner &planner, const Sharding &from,
                           const Sharding &to, llvm::ArrayRef<int64_t> shape,
                           int64_t elementBytes);

/// The sharding that an op with these factor axes needs for an operand with
/// dimensions `dims`; an operand that the rule does not tie is needed whole.
Sharding getOperandSharding(const ShardingRule &rule, const TensorFactors &dims,
                            int64_t rank, const FactorAxes &axes);

/// The sharding of a result with dimensions `dims`: partial over the axes of
/// the reduced factors that it does not have.
Sharding getResultSharding(const ShardingRule &rule, const TensorFactors &dims,
                           const FactorAxes &axes);

/// True if each tensor can be sharded as these factor axes require, and all
/// reductions are of one kind.
bool canShardTensors(const ShardingRule &rule, const FactorAxes &axes);

/// The factor axes of an op, and the reasons for them.
struct FactorChoice {
  FactorAxes axes;
  /// The cost of moving the operands there and the results where they are
  /// wanted.
  TransferSum cost;
  /// The best alternative; no axes if there was none.
  FactorAxes otherAxes;
  TransferSum otherCost;

  bool hasOther() const { return !otherAxes.empty(); }
};

/// Chooses the factor axes of an op from the given shardings of its operands
/// and the wanted shardings of its results (wanted values: closed and whole).
///
/// Each factor may take the axes, or a prefix of them, that some operand or
/// result has on it. The time of a choice is the time of the reshards of
/// operands and results. The shortest time wins among the choices that shard
/// the work equally; a choice that repeats work on more devices must take less
/// than a quarter of the time. Ties: the result's axes, then the operands' in
/// order.
///
/// `pinned` is empty or has for each factor the axes that it must have; no
/// other factor may have a part of them. A seed of an earlier priority put them
/// there.
FactorChoice chooseFactors(ReshardPlanner &planner, const ShardingRule &rule,
                           llvm::ArrayRef<ShardedTensor> operands,
                           llvm::ArrayRef<ShardedTensor> results,
                           llvm::ArrayRef<AxisList> pinned = {});

/// Takes given factor axes, and computes their cost.
FactorChoice takeFactors(ReshardPlanner &planner, const ShardingRule &rule,
                         llvm::ArrayRef<ShardedTensor> operands,
                         llvm::ArrayRef<ShardedTensor> results,
                         FactorAxes axes);

} // namespace tessera

#endif // TESSERA_PARTITION_RESHARDCOST_H
