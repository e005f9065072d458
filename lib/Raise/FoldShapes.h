//===- FoldShapes.h - Patterns that fold changes of shape -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RAISE_FOLDSHAPES_H
#define TESSERA_LIB_RAISE_FOLDSHAPES_H

#include "dialects/NN/NN.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace tessera {

/// The position of each dimension of the smaller tensor in the larger one, if a
/// reshape only drops or adds dimensions of size 1. None for other reshapes.
std::optional<llvm::SmallVector<int64_t>>
matchUnits(mlir::tensor::CollapseShapeOp op);
std::optional<llvm::SmallVector<int64_t>>
matchUnits(mlir::tensor::ExpandShapeOp op);

/// Drops the dimensions of `x` that are not in `kept`; they have size 1.
mlir::Value dropUnits(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                      llvm::ArrayRef<int64_t> kept);

/// Builds a transpose of `x`.
mlir::Value buildTranspose(mlir::OpBuilder &b, mlir::Location loc,
                           mlir::Value x, llvm::ArrayRef<int64_t> permutation);

/// The reshape that made `x` by merging dimensions; null if there is none.
mlir::tensor::CollapseShapeOp findMerged(mlir::Value x);

/// Whether the op is a slice without a rank reduction and with steps of 1.
bool isPlainSlice(mlir::tensor::ExtractSliceOp op);

/// The first of the collapse_shapes that `find` returns for operands of an
/// elementwise op, if they are all alike and the other operands are splats or
/// broadcasts; else null.
mlir::tensor::CollapseShapeOp
findAlike(mlir::Operation *op,
          llvm::function_ref<mlir::tensor::CollapseShapeOp(mlir::Value)> find);

/// Merges broadcasts, and moves broadcasts and added dimensions of size 1 after
/// elementwise ops, reductions and embeddings.
void populateBroadcastPatterns(mlir::RewritePatternSet &patterns);
/// Moves constraints before broadcasts, merges of dimensions and transposes.
void populateConstraintShapePatterns(mlir::RewritePatternSet &patterns);
/// Merges transposes, moves them before broadcasts, elementwise ops and merges
/// of dimensions, and merges them, and broadcasts of operands, into matmuls.
void populateTransposePatterns(mlir::RewritePatternSet &patterns);
/// Moves transposes, splits and broadcasts before ropes, and drops separations
/// of neighbours that queries and keys share.
void populateRopeShapePatterns(mlir::RewritePatternSet &patterns);
/// Moves merges of dimensions after matmuls, softmaxes, norms, choices of
/// elements, reductions, elementwise ops, concatenations and slices of blocks.
void populateMergedDimPatterns(mlir::RewritePatternSet &patterns);

} // namespace tessera

#endif // TESSERA_LIB_RAISE_FOLDSHAPES_H
