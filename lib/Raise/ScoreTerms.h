//===- ScoreTerms.h - Ops between scores and their softmax ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The chain from the matmul of queries and keys to the weights of values:
//
//     q.k --scale, softcap, + bias, mask, column of sinks--> softmax -->
//     weights
//
// Everything but the products is a bias: it is the chain's value for products
// of 0. This is exact, since a mask's number absorbs every product.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RAISE_SCORETERMS_H
#define TESSERA_LIB_RAISE_SCORETERMS_H

#include "dialects/NN/NN.h"

namespace tessera {

/// The ops on products of queries and keys before their softmax.
struct ScoreTerms {
  nn::EinsumOp products;
  double scale = 1;
  /// The softcap of scaled products; 0 for none.
  double softcap = 0;
  /// Scores of sinks, one for each head: a vector, and the dimensions of the
  /// products that it is along, together. Null for none.
  mlir::Value sinks;
  llvm::SmallVector<int64_t> sinksDims;
  /// The ops of the chain, from the weights to the products; no value of it has
  /// a use outside.
  llvm::SmallVector<mlir::Operation *> ops;
  /// The ops that change a bias, from the softmax to the products, and for each
  /// the number of the operand that has the products.
  llvm::SmallVector<std::pair<mlir::Operation *, unsigned>> steps;
  /// The step, a select, whose hidden keys have weights of zero even where a
  /// query sees no other key; null if there is none.
  mlir::Operation *hides = nullptr;
  /// A mask replaces scores by a finite number: they have no gradient, which
  /// counts where a query sees no key, and is not that of a bias.
  bool replaces = false;

  /// The dimensions of the products along which the bias differs, in order, the
  /// last one among them; empty if there is no bias.
  llvm::SmallVector<int64_t> getBiasDims();

  /// Builds the bias, which has these dimensions.
  mlir::Value buildBias(mlir::OpBuilder &b, llvm::ArrayRef<int64_t> dims);
};

/// Reads the chain that ends at `weights`; none if it has an op that attention
/// does not have, or a bias that depends on a parameter of the function.
std::optional<ScoreTerms> readScoreTerms(mlir::Value weights);

} // namespace tessera

#endif // TESSERA_LIB_RAISE_SCORETERMS_H
