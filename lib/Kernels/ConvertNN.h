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

/// Returns an einsum with numbers instead of letters.
Einsum getEinsum(nn::EinsumOp op);
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

/// An element that is read by index.
struct Lookup {
  /// The position in the tensor; 0 if `inside` is false.
  mlir::Value position;
  /// True if the index is an element of this tensor.
  mlir::Value inside;
  /// True if it is an element of the tensor across all devices.
  mlir::Value isKnown;
};

/// Builds the position of `id - offset` in a dimension of `size`. Without an
/// offset the position is `id`. Ids are valid below `limit`; without a limit
/// all are.
Lookup lookUp(GenericBuilder &b, mlir::Value id, mlir::Value offset,
              int64_t size, std::optional<int64_t> limit);

/// Builds the result of a lookup: `read` if the index is in this tensor, 0 if
/// it is on another device, and NaN if it is invalid.
mlir::Value chooseRead(GenericBuilder &b, const Lookup &lookup,
                       mlir::Value read);

/// Lowers nn.einsum and linalg contractions to rt.matmul.
void populateMatmulPatterns(mlir::RewritePatternSet &patterns);
/// Lowers nn.quantize to linalg, and matmuls in 8 bits to rt.scaled_matmul, or
/// to matmuls in bf16 if they are not `inLibrary`.
void populateQuantizedPatterns(mlir::RewritePatternSet &patterns,
                               bool inLibrary);
/// Lowers nn.attention and its gradients to library calls. f64, which the
/// library does not support, becomes matmuls and row ops.
void populateAttentionPatterns(mlir::RewritePatternSet &patterns);
/// Lowers gradients of norms, loss, activations, tables.
void populateGradientPatterns(mlir::RewritePatternSet &patterns);
/// Lowers the updates of parameters and their state.
void populateOptimizerPatterns(mlir::RewritePatternSet &patterns);
/// Lowers activations, norms, softmax, loss, reductions, broadcasts,
/// transposes.
void populateRowPatterns(mlir::RewritePatternSet &patterns);
/// Lowers ops that depend on a position or an index: rope, embedding,
/// take_along_axis, iota, mask_padding, dist.to_partial.
void populatePositionPatterns(mlir::RewritePatternSet &patterns);
/// Lowers tensor ops and dist.all_slice that move data to rt.copy, rt.concat.
void populateMovementPatterns(mlir::RewritePatternSet &patterns);

} // namespace tessera

#endif // TESSERA_LIB_KERNELS_CONVERTNN_H
