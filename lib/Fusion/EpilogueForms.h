//===- EpilogueForms.h - Forms of epilogues of a matmul ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recognizes a linalg.generic as one of the epilogues that a library offers for
// a matmul, by the arithmetic of bodies and the strides of accesses. Casts
// between the type of tensors and a wider one are ignored.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_FUSION_EPILOGUEFORMS_H
#define TESSERA_LIB_FUSION_EPILOGUEFORMS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include <optional>

namespace tessera {

/// Tensors that a generic adds element by element, each once.
struct SumTerms {
  /// The tensors of the result's type, read in its order.
  llvm::SmallVector<mlir::Value> tensors;
  /// A tensor with an element for each column of consecutive rows; may be null.
  mlir::Value bias;
};

/// The value that a generic computes from one element of each of its tensors.
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

/// Returns the form of a generic with one result; none if it is no such form.
/// Biases have `columns` elements; 0 means unknown, and allows no bias.
std::optional<EpilogueMatch> matchEpilogue(mlir::linalg::GenericOp op,
                                           int64_t columns);

/// Returns the tensor whose columns a generic sums, from zero, in f32 or its
/// own type: result[j] = the sum over i of tensor[i][j]; null if it is no such
/// sum.
mlir::Value matchColumnReduction(mlir::linalg::GenericOp op);

} // namespace tessera

#endif // TESSERA_LIB_FUSION_EPILOGUEFORMS_H
