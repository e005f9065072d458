//===- ConvertNN.h - Patterns from nn to records and linalg -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_CONVERTNN_H
#define TESSERA_LIB_CONVERSION_CONVERTNN_H

#include "mlir/IR/PatternMatch.h"

namespace tessera {

/// nn.einsum and linalg contractions to rt.matmul.
void populateMatmulPatterns(mlir::RewritePatternSet &patterns);
/// nn.attention to rt.attention, or to its parts where keys are padded.
void populateAttentionPatterns(mlir::RewritePatternSet &patterns);
/// Activations, norms, softmax, loss, reductions, broadcasts, transposes.
void populateRowPatterns(mlir::RewritePatternSet &patterns);
/// What depends on a position or an index: rope, embedding, pick, iota,
/// mask_padding, dist.to_partial.
void populatePositionPatterns(mlir::RewritePatternSet &patterns);
/// tensor ops and dist.slice that move data: rt.copy, rt.concat.
void populateMovementPatterns(mlir::RewritePatternSet &patterns);

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_CONVERTNN_H
