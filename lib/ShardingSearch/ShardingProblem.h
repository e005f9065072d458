//===- ShardingProblem.h - A program whose shardings are sought -*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In plain C++: tensors, ops with their rules, and how they hang together. An
// op moves its inputs to what its state needs and its outputs to what their
// tensors are sharded as; a *fixed* port cannot: the value is as the op has it
// (a slice of a micro-batch is sharded as what it is a slice of).
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
    /// An argument or a result of a function: it is stored.
    bool isStored = false;
    /// An argument. What is gathered of it, and what is written to its place,
    /// moves beside kernels.
    bool isArgument = false;
    /// The sum over micro-batches, which moves beside kernels too.
    bool isSum = false;
  };

  /// A tensor at an op.
  struct Port {
    unsigned tensor = kNone;
    /// Its factors: those of an operand of the rule, or of a result.
    bool isOperand = true;
    unsigned index = 0;
    /// The op reads it.
    bool isInput = true;
    bool isFixed = false;
    /// The op shares a kernel with the one that makes the tensor, or with one
    /// that uses it: a move between them makes two kernels of it.
    bool isInKernel = false;
    /// Dimensions along which the tensor must be sharded as the op needs it:
    /// otherwise the op is rewritten.
    llvm::SmallBitVector fixedDims;
  };

  struct Op {
    unsigned rule = 0;
    llvm::SmallVector<Port, 4> ports;
    /// How often it runs: once for each micro-batch, and again where the
    /// backward computes it once more.
    int64_t trips = 1;
    OpChoices choices;
    /// Ops of one number have equal rules, types and attributes.
    unsigned kind = 0;
  };

  Mesh mesh;
  std::vector<ShardingRule> rules;
  std::vector<Tensor> tensors;
  std::vector<Op> ops;

  /// What a port has in a state of its op.
  Sharding getPortSharding(const Op &op, const Port &port,
                           const RunState &state) const;
};

/// A way to run each op and a closed sharding for each tensor.
struct ShardingSolution {
  std::vector<RunState> ops;
  std::vector<Sharding> tensors;
  /// For each op the operands that are moved for it alone though another op
  /// needs the same.
  std::vector<llvm::SmallVector<int64_t, 1>> apart;
  /// For each op the picoseconds that the best solution takes more, at least,
  /// in which it runs otherwise, and with it the ops that have its place in
  /// equal layers; search::kInfinite if there is none. Empty if it is not
  /// known.
  std::vector<int64_t> more;
  /// Picoseconds of the network, and what no solution costs less than.
  int64_t cost = 0, bound = 0;
};

} // namespace tessera

#endif // TESSERA_LIB_SHARDINGSEARCH_SHARDINGPROBLEM_H
