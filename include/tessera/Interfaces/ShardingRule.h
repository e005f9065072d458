//===- ShardingRule.h - The factors of an op --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an op says about how it may be sharded, in the manner of an einsum:
// each dimension of each operand and result is made of factors, major to
// minor; a factor that occurs in several tensors ties their dimensions. Matmul
// is ([i,k],[k,j])->([i,j]) with k a reduction. The propagation, the
// partitioner and the verifier work on these and know no op by name.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_SHARDINGRULE_H
#define TESSERA_INTERFACES_SHARDINGRULE_H

#include "tessera/Interfaces/Axes.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>

namespace tessera {

/// What happens when a factor is sharded.
enum class FactorKind {
  /// Each device computes its own part of the result; nothing to do.
  Parallel,
  /// In each result that does not have the factor a device gets a partial
  /// value,
  /// combined by the factor's reduction; a result that has it is sharded.
  Reduction,
  /// A reduction of the op's own (softmax over its dimension, a norm over
  /// hidden): may be sharded once `decompose` has rewritten the op into ops
  /// with plain reductions.
  Decomposed,
  /// May not be sharded: every device needs the whole of it.
  Replicated,
};

/// A dimension of an op's iteration space.
struct Factor {
  int64_t size = 1;
  FactorKind kind = FactorKind::Parallel;
  /// Meaningful for `Reduction`.
  ReductionKind reduction = ReductionKind::Sum;
  /// The op's value depends on the position along this factor: where it is
  /// sharded, `setPositionOffset` gives the op the offset of a device's part.
  bool positional = false;
  /// The letter that the op's own text has for it; 0 without one. Says nothing
  /// of how the op may be sharded: factors of other letters are equal.
  char letter = 0;

  bool operator==(const Factor &o) const {
    return size == o.size && kind == o.kind && reduction == o.reduction &&
           positional == o.positional;
  }
};

/// The factors of one dimension, major to minor. A dimension of size 1 or one
/// that nothing ties may have none: it cannot be sharded.
using DimFactors = llvm::SmallVector<unsigned, 1>;
/// The dimensions of one tensor.
using TensorFactors = llvm::SmallVector<DimFactors, 4>;

/// True if `factor` is in some dimension of the tensor.
bool hasFactor(const TensorFactors &tensor, unsigned factor);

/// The factors of an op. `operands` has one entry per operand of the op, empty
/// for an operand that is no ranked tensor (and for a tensor of rank 0);
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
  /// True if no dimension of `factor` occurs in any result.
  bool isReduced(unsigned factor) const;
  /// True if sharding `factor` makes result `result` partial: it is a reduction
  /// and the result does not have it.
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
