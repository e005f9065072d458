//===- ShardingProblem.h - A program to be sharded --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain C++: tensors, ops with their rules, and their connections. An op moves
// its inputs to the sharding that its state needs, and its outputs to the
// sharding of their tensors. A *fixed* port cannot: the value has the sharding
// of the op (a slice of a micro-batch is sharded like the whole).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_SHARDINGSEARCH_SHARDINGPROBLEM_H
#define TESSERA_LIB_SHARDINGSEARCH_SHARDINGPROBLEM_H

#include "OpStates.h"

namespace tessera {

struct ShardingProblem {
  static constexpr unsigned kNone = PropagationProblem::kNone;

  struct Tensor {
    llvm::SmallVector<int64_t, 4> shape;
    int64_t elementBytes = 1;
    Sharding seed;
    /// Dimensions that some op cannot pad.
    llvm::SmallBitVector exactDims;
    /// An argument or a result of a function, which is stored.
    bool isStored = false;
    /// An argument. Its gathers, and the writes that replace it, overlap with
    /// kernels.
    bool isArgument = false;
    /// The sum over micro-batches, whose transfers overlap with kernels too.
    bool isSum = false;
  };

  /// A tensor at an op.
  struct Port {
    unsigned tensor = kNone;
    /// Whether its factors belong to an operand of the rule, or to a result.
    bool isOperand = true;
    unsigned index = 0;
    /// True if the op reads the tensor.
    bool isInput = true;
    bool isFixed = false;
    /// True if the op shares a kernel with the maker or a user of the tensor: a
    /// move between them splits the kernel into two.
    bool isInKernel = false;
    /// Dimensions along which the tensor must be sharded as the op needs it;
    /// otherwise the op is rewritten.
    llvm::SmallBitVector fixedDims;
  };

  struct Op {
    unsigned rule = 0;
    llvm::SmallVector<Port, 4> ports;
    /// The number of runs: one per micro-batch, and another if the backward
    /// recomputes it.
    int64_t trips = 1;
    OpChoices choices;
    /// Ops with the same number have equal rules, types and attributes.
    unsigned kind = 0;
  };

  Mesh mesh;
  std::vector<ShardingRule> rules;
  std::vector<Tensor> tensors;
  std::vector<Op> ops;

  /// The sharding of a port in a state of its op.
  Sharding getPortSharding(const Op &op, const Port &port,
                           const RunState &state) const;
};

/// A way to run each op and a closed sharding for each tensor.
struct ShardingSolution {
  std::vector<RunState> ops;
  std::vector<Sharding> tensors;
  /// Per op, the operands that are moved for it alone, although another op
  /// needs the same move.
  std::vector<llvm::SmallVector<int64_t, 1>> apart;
  /// Per op, a lower bound on the additional picoseconds of the best solution
  /// in which it, and the ops at the same position of equal layers, run
  /// differently. search::kInfinite if there is no such solution. Empty if
  /// unknown.
  std::vector<int64_t> more;
  /// Picoseconds of the network, and a lower bound on the cost of any solution.
  int64_t cost = 0, bound = 0;
};

} // namespace tessera

#endif // TESSERA_LIB_SHARDINGSEARCH_SHARDINGPROBLEM_H
