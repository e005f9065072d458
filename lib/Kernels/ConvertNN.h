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
namespace nn {
class EinsumOp;
} // namespace nn

/// An einsum by numbers.
Einsum getEinsum(nn::EinsumOp op);
/// Whether no element of an operand is used twice.
bool hasNoReuse(const Einsum &einsum);

/// A matmul in the form of a library call.
struct PreparedMatmul {
  MatmulPlan plan;
  /// A and B of the call, copied where that is needed.
  mlir::Value a, b;
  /// Of C.
  mlir::RankedTensorType type;
};

/// Plans a matmul with a result of `type`, and copies operands that no call can
/// read as they are.
PreparedMatmul prepareMatmul(GenericBuilder &b, const Einsum &einsum,
                             mlir::Value lhs, mlir::Value rhs,
                             mlir::RankedTensorType type);
/// The result of the einsum from the call's.
mlir::Value finishMatmul(GenericBuilder &b, const Einsum &einsum,
                         const PreparedMatmul &planned, mlir::Value matmul);

/// The matmul of two tensors, in the wide type where the runtime does not have
/// theirs: rt.matmul and the copies that it needs.
mlir::Value buildMatmul(GenericBuilder &b, const Einsum &einsum,
                        mlir::Value lhs, mlir::Value rhs,
                        mlir::RankedTensorType type);

/// An element that is read by index.
struct Lookup {
  /// Within the tensor; 0 where `inside` is false.
  mlir::Value position;
  /// Whether the index is an element of this tensor.
  mlir::Value inside;
  /// Whether it is an element of the tensor of all devices.
  mlir::Value isKnown;
};

/// Builds the position of `id - offset` in a dimension of `size`. Without an
/// offset the position is `id`. Ids are known below `limit`, all are without
/// one.
Lookup lookUp(GenericBuilder &b, mlir::Value id, mlir::Value offset,
              int64_t size, std::optional<int64_t> limit);

/// Builds what a lookup gives: `read` where the index is in this tensor, 0
/// where it is on another device, and NaN where it is nowhere.
mlir::Value chooseRead(GenericBuilder &b, const Lookup &lookup,
                       mlir::Value read);

/// nn.einsum and linalg contractions to rt.matmul.
void populateMatmulPatterns(mlir::RewritePatternSet &patterns);
/// nn.quantize to linalg, and matmuls in 8 bits to rt.scaled_matmul; or, where
/// not even `inLibrary`, to matmuls in bf16.
void populateQuantizedPatterns(mlir::RewritePatternSet &patterns,
                               bool inLibrary);
/// nn.attention and its gradients to library calls; f64, which the library does
/// not have, to matmuls and row ops.
void populateAttentionPatterns(mlir::RewritePatternSet &patterns);
/// Gradients of norms, loss, activations, tables.
void populateGradientPatterns(mlir::RewritePatternSet &patterns);
/// The updates of parameters and their state.
void populateOptimizerPatterns(mlir::RewritePatternSet &patterns);
/// Activations, norms, softmax, loss, reductions, broadcasts, transposes.
void populateRowPatterns(mlir::RewritePatternSet &patterns);
/// What depends on a position or an index: rope, embedding, take_along_axis,
/// iota, mask_padding, dist.to_partial.
void populatePositionPatterns(mlir::RewritePatternSet &patterns);
/// tensor ops and dist.all_slice that move data: rt.copy, rt.concat.
void populateMovementPatterns(mlir::RewritePatternSet &patterns);

} // namespace tessera

#endif // TESSERA_LIB_KERNELS_CONVERTNN_H
