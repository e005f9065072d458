//===- Backward.h - Reverse-mode differentiation ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the backward of a block of ops on global tensors from the
// DifferentiableOpInterface of each op.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TRAINING_BACKWARD_H
#define TESSERA_TRAINING_BACKWARD_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace tessera {

/// Appends, at the builder's insertion point, the ops that compute the
/// gradients of sum_i <outputs[i], seeds[i]> with respect to `wrt`.
///
/// All ops to differentiate are in the builder's block, before the insertion
/// point. `outputs` are values of that block or from outside it, each with a
/// seed of its shape (null: not part of the sum; another element type is cast).
/// `wrt` are float values at which the differentiation ends: block arguments,
/// values from outside the block, or results whose own operands then do not
/// matter. `elementTypes` has one entry for each of them: the element type of
/// its gradient, its own or a wider one; the gradient's terms are summed in
/// this type.
///
/// Sets `gradients` to one value for each of `wrt`; null if the gradient is
/// zero. Ops whose gradient needs statistics return these as well, in place:
/// such an op is replaced, so the caller must read values of the block again
/// from one of their uses (`outputs` is read before). Builds only what some
/// gradient needs. Contributions of several uses are added from the last use to
/// the first. The gradient of a value with `nn.dims` gets them too.
///
/// Fails, with an error at the op, if an op on a gradient's path cannot be
/// differentiated.
mlir::LogicalResult
buildBackward(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Value> outputs,
              llvm::ArrayRef<mlir::Value> seeds,
              llvm::ArrayRef<mlir::Value> wrt,
              llvm::ArrayRef<mlir::Type> elementTypes,
              llvm::SmallVectorImpl<mlir::Value> &gradients);

} // namespace tessera

#endif // TESSERA_TRAINING_BACKWARD_H
