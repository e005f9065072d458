//===- PropagationProblem.h - The propagation of shardings ------*- C++ -*-===//
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
//  * An op passes the axes of a factor to every tensor that has the factor. If
//    tensors disagree, or two factors want one axis, the longest common part is
//    passed on. Once nothing more changes, an aggressive round picks the side
//    that makes the other side's reshards cheapest.
//  * A dimension that some op cannot pad gets only axes that divide it, except
//    from a seed.
//  * Seeds of a lower priority number go first: a dimension of priority p
//  passes
//    on no axes, and gets none, before the round of p. Within a round, ops that
//    pass their dimensions through go before those that contract some, and a
//    broadcast passes forward before it passes backward.
//
// Each axis of a solution has a `Step` with its origin. The algorithm is
// deterministic and takes time linear in the number of ops (each op is visited
// again only when one of its tensors has got an axis).
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

/// Cost of a collective of `bytes` on each device in groups over `axes`. Costs
/// are only compared, so any unit will do.
using TransferCost = std::function<double(CollectiveKind kind, double bytes,
                                          llvm::ArrayRef<AxisRef> axes)>;

/// The problem to solve. See the file comment.
struct PropagationProblem {
  /// Means "no tensor" in the lists of an op.
  static constexpr unsigned kNone = ~0u;

  /// A value of the program: its global shape and its seed.
  struct Tensor {
    llvm::SmallVector<int64_t, 4> shape;
    /// Bytes of the whole tensor.
    int64_t bytes = 0;
    /// The seed. An open dimension without axes may be sharded freely. No
    /// dimension uses the axes in `replicated` and `unreduced`.
    Sharding seed;
    /// Dimensions that some op cannot pad: an axis that does not divide one is
    /// not passed on to it. Empty: none.
    llvm::SmallBitVector exactDims;

    /// True if some op cannot pad dimension `dim`.
    bool isExact(unsigned dim) const {
      return dim < exactDims.size() && exactDims.test(dim);
    }
  };

  /// An op of the program: its rule and its tensors.
  struct Op {
    /// Index of its rule.
    unsigned rule = 0;
    /// Tensors, parallel to the rule's; kNone if there is none.
    llvm::SmallVector<unsigned, 4> operands;
    llvm::SmallVector<unsigned, 1> results;
    /// Axes that factors have from the start, whatever the tensors have: one
    /// list per factor, or no lists. The solution keeps them.
    llvm::SmallVector<AxisList, 8> pinned;
  };

  Mesh mesh;
  std::vector<ShardingRule> rules;
  std::vector<Tensor> tensors;
  /// In program order.
  std::vector<Op> ops;
  /// Cost of a collective; if empty, the bytes received.
  TransferCost transferCost;

  /// Appends a rule, or finds an equal one with the same letters, and returns
  /// its number.
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

  /// Fails if the problem is malformed.
  llvm::Error check() const;
};

/// The origin of an axis in a sharding.
struct PropagationStep {
  static constexpr unsigned kSeed = ~0u;
  unsigned dim;
  AxisRef axis;
  /// The op that passed it on, or kSeed.
  unsigned op = kSeed;
  unsigned factor = 0;
  /// The tensor that had it before.
  unsigned from = 0;
  /// The tensor with the seed.
  unsigned origin = 0;
  /// It won against other axes, or another factor, by cost.
  bool byCost = false;
  /// The compared costs: the winner's and the best alternative's. In seconds if
  /// the problem comes from a program.
  double cost = 0, otherCost = 0;
};

/// The axes of each factor of an op.
using FactorAxes = llvm::SmallVector<AxisList, 8>;

/// The shardings of all tensors, and their origins.
struct PropagationSolution {
  /// One closed sharding per tensor.
  std::vector<Sharding> shardings;
  /// The steps of each tensor, in the order in which they were taken.
  std::vector<llvm::SmallVector<PropagationStep, 2>> steps;
  /// For each op that has axes from the start, or at which seeds of a later
  /// priority want axes that earlier ones have: the axes that its factors had
  /// from the start and those from earlier priorities. The op must run with
  /// these, whatever the cost. Empty for other ops.
  std::vector<FactorAxes> pinned;
  /// Number of visits of ops; a measure of time.
  int64_t numVisits = 0;
};

/// Solves a problem that passes check().
PropagationSolution propagate(const PropagationProblem &problem);

/// Fails if this is not a solution: a seed is not kept, an axis is used twice,
/// or a stage axis is used.
llvm::Error verify(const PropagationProblem &problem,
                   const PropagationSolution &solution);

/// The cost of running an op with its factors sharded over `axes`, given the
/// shardings of its operands: reshards of operands that do not fit, and
/// reductions of results over the axes of reduced factors. A result that is
/// sharded further than the op computes it is sliced for free, by
/// reduce-scatter if the axes belong to a reduction; a result whose sharding is
/// closed is moved. Entries of `operands` and `results` may be null.
double getOpCost(const ShardingRule &rule, llvm::ArrayRef<AxisList> axes,
                 llvm::ArrayRef<const Sharding *> operands,
                 llvm::ArrayRef<int64_t> operandBytes,
                 llvm::ArrayRef<const Sharding *> results,
                 llvm::ArrayRef<int64_t> resultBytes,
                 const TransferCost &transferCost);

} // namespace tessera

#endif // TESSERA_PROPAGATION_PROPAGATIONPROBLEM_H
