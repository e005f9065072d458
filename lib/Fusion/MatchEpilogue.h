//===- MatchEpilogue.h - What a matmul may do besides -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads a linalg.generic as one of the forms that a library has as a part of a
// matmul. Forms are recognized by the arithmetic of bodies and the strides of
// accesses; casts between the type of tensors and a wider one do not count.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_FUSION_MATCHEPILOGUE_H
#define TESSERA_LIB_FUSION_MATCHEPILOGUE_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include <optional>

namespace tessera {

/// Tensors that a generic adds element by element, each once.
struct SumTerms {
  /// Of the result's type, read in its order.
  llvm::SmallVector<mlir::Value> tensors;
  /// An element for each column of rows that follow each other; may be null.
  mlir::Value bias;
};

/// What a generic makes of one element of each of its tensors.
struct EpilogueMatch {
  enum Kind {
    Sum,         ///< the sum of `terms`.
    Gelu,        ///< GELU by tanh of that sum.
    GeluGradient ///< `gradient` times the derivative of GELU at `argument`.
  };
  Kind kind = Sum;
  SumTerms terms;
  mlir::Value gradient, argument;
};

/// The form of a generic with one result; none if it is no such form. Biases
/// have `columns` elements, where that is known (0: there is none).
std::optional<EpilogueMatch> matchEpilogue(mlir::linalg::GenericOp op,
                                           int64_t columns);

/// The tensor whose columns a generic sums, from zero, in f32 or its own type:
/// result[j] = the sum over i of tensor[i][j]; null if it is no such sum.
mlir::Value matchColumnReduction(mlir::linalg::GenericOp op);

} // namespace tessera

#endif // TESSERA_LIB_FUSION_MATCHEPILOGUE_H
