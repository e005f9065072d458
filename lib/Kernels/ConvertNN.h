//===- ConvertNN.h - Patterns from nn to records and linalg -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_KERNELS_CONVERTNN_H
#define TESSERA_LIB_KERNELS_CONVERTNN_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/PatternMatch.h"
#include "tessera/Kernels/MatmulPlan.h"

namespace tessera {

struct GenericBuilder;

/// True if no element of an operand is used twice.
bool hasNoReuse(const Einsum &einsum);

/// A matmul in the form of a library call.
struct PreparedMatmul {
  MatmulPlan plan;
  /// Operands A and B of the call, copied if necessary.
  mlir::Value a, b;
  /// The type of C.
  mlir::RankedTensorType type;
};

/// Plans a matmul with a result of `type`, and copies operands that no call can
/// read as they are.
PreparedMatmul prepareMatmul(GenericBuilder &b, const Einsum &einsum,
                             mlir::Value lhs, mlir::Value rhs,
                             mlir::RankedTensorType type);
/// Returns the einsum's result from the call's result.
mlir::Value finishMatmul(GenericBuilder &b, const Einsum &einsum,
                         const PreparedMatmul &planned, mlir::Value matmul);

/// Builds the matmul of two tensors: rt.matmul and the copies that it needs, in
/// the wide type if the runtime does not support theirs.
mlir::Value buildMatmul(GenericBuilder &b, const Einsum &einsum,
                        mlir::Value lhs, mlir::Value rhs,
                        mlir::RankedTensorType type);

/// Lowers nn.einsum and linalg contractions to rt.matmul.
void populateMatmulPatterns(mlir::RewritePatternSet &patterns);
/// Lowers nn.quantize to linalg, and matmuls in 8 bits to rt.scaled_matmul, or
/// to matmuls in bf16 if they are not `inLibrary`.
void populateQuantizedPatterns(mlir::RewritePatternSet &patterns,
                               bool inLibrary);
/// Lowers nn.attention and its gradients to library calls. f64, which the
/// library does not support, becomes matmuls and row ops.
void populateAttentionPatterns(mlir::RewritePatternSet &patterns);
/// Lowers gradients of tables to library calls.
void populateTablePatterns(mlir::RewritePatternSet &patterns);
/// Lowers tensor ops and dist.all_slice that move data to rt.copy, rt.concat.
void populateMovementPatterns(mlir::RewritePatternSet &patterns);

} // namespace tessera

#endif // TESSERA_LIB_KERNELS_CONVERTNN_H
