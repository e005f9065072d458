//===- ShardingRule.h - The factors of an op --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An op's rule for sharding, in the manner of an einsum: each dimension of each
// operand and result consists of factors, major to minor; a factor that occurs
// in several tensors ties their dimensions. Matmul is ([i,k],[k,j])->([i,j])
// with k a reduction. The propagation, the partitioner and the verifier work on
// these rules and know no op by name.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_SHARDINGRULE_H
#define TESSERA_INTERFACES_SHARDINGRULE_H

#include "tessera/Interfaces/Axes.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>

namespace tessera {

/// The effect of sharding a factor.
enum class FactorKind {
  /// Each device computes its own part of the result; nothing else to do.
  Parallel,
  /// In each result without the factor a device gets a partial value, to be
  /// combined by the factor's reduction; a result with the factor is sharded.
  Reduction,
  /// An internal reduction of the op (softmax over its dimension, a norm over
  /// hidden): may be sharded once `decompose` has rewritten the op into ops
  /// with plain reductions.
  Decomposed,
  /// May not be sharded: every device needs all of it.
  Replicated,
};

/// A dimension of an op's iteration space.
struct Factor {
  int64_t size = 1;
  FactorKind kind = FactorKind::Parallel;
  /// Meaningful for `Reduction`.
  ReductionKind reduction = ReductionKind::Sum;
  /// The op's value depends on the position along this factor: if it is
  /// sharded, `setPositionOffset` gives the op the offset of a device's shard.
  bool positional = false;
  /// The factor's letter in the op's own text; 0 without one. It does not
  /// affect sharding: factors that differ only in the letter are equal.
  char letter = 0;

  bool operator==(const Factor &o) const {
    return size == o.size && kind == o.kind && reduction == o.reduction &&
           positional == o.positional;
  }
};

/// The word of a factor's kind: "parallel", "sum", "max", "min", "decomposed"
/// or "replicated".
llvm::StringRef stringifyFactorKind(const Factor &factor);

/// The factors of one dimension, major to minor. A dimension of size 1, or one
/// that is not tied, may have none: it cannot be sharded.
using DimFactors = llvm::SmallVector<unsigned, 1>;
/// The dimensions of one tensor.
using TensorFactors = llvm::SmallVector<DimFactors, 4>;

/// True if `factor` is in some dimension of the tensor.
bool hasFactor(const TensorFactors &tensor, unsigned factor);

/// The factors of an op. `operands` has one entry per operand of the op, empty
/// for an operand that is not a ranked tensor (and for a tensor of rank 0);
/// `results` likewise.
struct ShardingRule {
  llvm::SmallVector<Factor, 8> factors;
  llvm::SmallVector<TensorFactors, 4> operands;
  llvm::SmallVector<TensorFactors, 1> results;

  /// Appends a factor and returns its number.
  unsigned addFactor(int64_t size, FactorKind kind = FactorKind::Parallel,
                     ReductionKind reduction = ReductionKind::Sum) {
    factors.push_back({size, kind, reduction});
    return factors.size() - 1;
  }
  /// True if no dimension of any result has `factor`.
  bool isReduced(unsigned factor) const;
  /// True if sharding `factor` makes result `result` partial: the factor is a
  /// reduction and the result does not have it.
  bool isReducedIn(unsigned factor, unsigned result) const;
  bool operator==(const ShardingRule &o) const {
    return factors == o.factors && operands == o.operands &&
           results == o.results;
  }
  /// Prints the factor's letter: the op's own, else one of i, j, ... by number.
  void printName(llvm::raw_ostream &os, unsigned factor) const;
  /// Prints `([i,k],[k,j])->([i,j]) {i=8, j=4, k=16 sum}`.
  void print(llvm::raw_ostream &os) const;
};

} // namespace tessera

#endif // TESSERA_INTERFACES_SHARDINGRULE_H
