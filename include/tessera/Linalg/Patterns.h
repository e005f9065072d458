//===- Patterns.h - Patterns from nn to linalg ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops of nn as a few linalg.generic, with statistics and sums in at least f32.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LINALG_PATTERNS_H
#define TESSERA_LINALG_PATTERNS_H

#include "mlir/IR/PatternMatch.h"
#include "tessera/Codegen/GenericBuilder.h"
#include "tessera/Linalg/Einsum.h"

namespace tessera {

namespace nn {
class AttentionBackwardOp;
class AttentionOp;
class EinsumOp;
} // namespace nn

/// Returns an einsum with numbers instead of letters.
Einsum getEinsum(nn::EinsumOp op);

/// Builds the contraction of two tensors; the result has `type`.
using ContractionBuilder = mlir::Value (*)(GenericBuilder &b,
                                           const Einsum &einsum,
                                           mlir::Value lhs, mlir::Value rhs,
                                           mlir::RankedTensorType type);

/// Builds a contraction as one linalg.generic.
mlir::Value buildContraction(GenericBuilder &b, const Einsum &einsum,
                             mlir::Value lhs, mlir::Value rhs,
                             mlir::RankedTensorType type);

/// Builds the results of attention from two contractions, which `contract`
/// builds, and a softmax over the keys that each query sees.
mlir::SmallVector<mlir::Value> buildAttention(GenericBuilder &b,
                                              nn::AttentionOp op,
                                              ContractionBuilder contract);

/// Builds the gradients of attention by the formulas of the op's description.
mlir::SmallVector<mlir::Value>
buildAttentionBackward(GenericBuilder &b, nn::AttentionBackwardOp op,
                       ContractionBuilder contract);

/// Lowers convolutions to einsums and loops.
void populateConvolutionPatterns(mlir::RewritePatternSet &patterns);
/// Lowers gradients of norms, loss and activations.
void populateGradientPatterns(mlir::RewritePatternSet &patterns);
/// Lowers the updates of parameters and their state.
void populateOptimizerPatterns(mlir::RewritePatternSet &patterns);
/// Lowers activations, norms, softmax, loss, reductions, broadcasts,
/// transposes.
void populateRowPatterns(mlir::RewritePatternSet &patterns);
/// Lowers ops that depend on a position or an index: rope, embedding,
/// take_along_axis, iota, mask_padding, dist.to_partial.
void populatePositionPatterns(mlir::RewritePatternSet &patterns);

} // namespace tessera

#endif // TESSERA_LINALG_PATTERNS_H
