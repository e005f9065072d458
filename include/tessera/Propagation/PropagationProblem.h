//===- PropagationProblem.h - What propagation solves -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sharding propagation in plain C++. A problem is a set of tensors, some with a
// seed sharding, and a set of ops that tie their dimensions by factors
// (ShardingRule.h). A solution gives each tensor a closed sharding:
//
//  * A seed's axes stay where they are. A closed dimension gets no others, an
//    open one may get more after them.
//  * An op hands the axes of a factor to every tensor that has the factor.
//    Where tensors disagree, or one axis is wanted by two factors, the longest
//    common part goes on; once nothing more moves, an aggressive round lets the
//    side win that makes the other side's reshards cheapest.
//  * A dimension that some op cannot pad gets no axes that do not divide it,
//    but by a seed.
//  * Seeds of a lower priority number go first: a dimension of priority p keeps
//    its axes to itself, and gets none, before the round of p. Within a round,
//    ops that pass their dimensions through go before those that contract some,
//    and a broadcast passes forward before it passes backward.
//
// Each axis of a solution has a `Step` that says where it came from. The
// algorithm is deterministic and takes time linear in the number of ops (each
// op is visited again only when a tensor at it has got an axis).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PROPAGATION_PROPAGATIONPROBLEM_H
#define TESSERA_PROPAGATION_PROPAGATIONPROBLEM_H

#include "tessera/Cluster/CollectiveTime.h"
#include "tessera/Interfaces/ShardingRule.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <vector>

namespace tessera {

/// Cost of a collective of `bytes` on each device in groups over `axes`. Any
/// unit; only compared.
using TransferCost = std::function<double(CollectiveKind kind, double bytes,
                                          llvm::ArrayRef<AxisRef> axes)>;

/// What is to be propagated. See the file comment.
struct PropagationProblem {
  /// Stands for "no tensor" in the lists of an op.
  static constexpr unsigned kNone = ~0u;

  /// A value of the program: its global shape and its seed.
  struct Tensor {
    llvm::SmallVector<int64_t, 4> shape;
    /// Bytes of the whole tensor.
    int64_t bytes = 0;
    /// A dimension without axes that is open may be sharded freely. Axes in
    /// `replicated` and `unreduced` are used by no dimension.
    Sharding seed;
    /// Dimensions that some op cannot pad: an axis that does not divide them is
    /// not passed on to them. None where it is empty.
    llvm::SmallBitVector exactDims;

    /// True if some op cannot pad dimension `dim`.
    bool isExact(unsigned dim) const {
      return dim < exactDims.size() && exactDims.test(dim);
    }
  };

  /// An op of the program: its rule and the tensors at it.
  struct Op {
    /// Number of its rule.
    unsigned rule = 0;
    /// Tensors, parallel to the rule's; kNone where there is none.
    llvm::SmallVector<unsigned, 4> operands;
    llvm::SmallVector<unsigned, 1> results;
    /// Axes that factors are given beforehand, whatever the tensors have: one
    /// list a factor, or none at all. The solution keeps them.
    llvm::SmallVector<AxisList, 8> pinned;
  };

  Mesh mesh;
  std::vector<ShardingRule> rules;
  std::vector<Tensor> tensors;
  /// In program order.
  std::vector<Op> ops;
  /// Bytes received where it is empty.
  TransferCost transferCost;

  /// Appends a rule, or finds one that is equal, and has the same letters, and
  /// returns its number.
  unsigned addRule(ShardingRule rule);
  unsigned addTensor(llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
                     Sharding seed);
  unsigned addTensor(llvm::ArrayRef<int64_t> shape, int64_t elementBytes = 1) {
    return addTensor(shape, elementBytes,
                     Sharding::replicatedOf(shape.size(), /*open=*/true));
  }
  void addOp(unsigned rule, llvm::ArrayRef<unsigned> operands,
             llvm::ArrayRef<unsigned> results);
  /// Ties two tensors of one shape, dimension by dimension.
  void addIdentity(unsigned from, unsigned to);

  /// An error if this is no problem.
  llvm::Error check() const;
};

/// Why an axis is where it is.
struct PropagationStep {
  static constexpr unsigned kSeed = ~0u;
  unsigned dim;
  AxisRef axis;
  /// The op through which it came, or kSeed.
  unsigned op = kSeed;
  unsigned factor = 0;
  /// The tensor that had it.
  unsigned from = 0;
  /// The tensor on which it was a seed.
  unsigned origin = 0;
  /// It won against other axes, or another factor, by cost.
  bool byCost = false;
  /// The costs that were compared: of the winner and of the best other. Seconds
  /// where the problem comes from a program.
  double cost = 0, otherCost = 0;
};

/// What each factor of an op is sharded over.
using FactorAxes = llvm::SmallVector<AxisList, 8>;

/// The shardings of all tensors, and what explains them.
struct PropagationSolution {
  /// A closed sharding a tensor.
  std::vector<Sharding> shardings;
  /// The steps of each tensor, in the order in which they were taken.
  std::vector<llvm::SmallVector<PropagationStep, 2>> steps;
  /// For each op that has axes beforehand, or at which seeds of a later
  /// priority want what earlier ones have: the axes that its factors had
  /// beforehand and those that the earlier ones gave them. The op is to run
  /// with these, whatever it costs. No entries for other ops.
  std::vector<FactorAxes> pinned;
  /// How often an op was looked at; a measure of time.
  int64_t numVisits = 0;
};

/// Solves a problem that passes check().
PropagationSolution propagate(const PropagationProblem &problem);

/// An error if this is no solution: a seed that is not kept, an axis used
/// twice, a stage axis.
llvm::Error verify(const PropagationProblem &problem,
                   const PropagationSolution &solution);

/// The cost of running an op with its factors sharded over `axes`, given the
/// shardings that its operands have: reshards of operands that do not fit, and
/// reductions of results over the axes of reduced factors. A result that is
/// sharded further than the op makes it is sliced for free, by reduce-scatter
/// where the axes are those of a reduction; one that is closed to what the op
/// makes is moved. Entries of `operands` and `results` may be null.
double getOpCost(const ShardingRule &rule, llvm::ArrayRef<AxisList> axes,
                 llvm::ArrayRef<const Sharding *> operands,
                 llvm::ArrayRef<int64_t> operandBytes,
                 llvm::ArrayRef<const Sharding *> results,
                 llvm::ArrayRef<int64_t> resultBytes,
                 const TransferCost &transferCost);

} // namespace tessera

#endif // TESSERA_PROPAGATION_PROPAGATIONPROBLEM_H
