//===- Backward.h - Reverse-mode differentiation ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the backward of a block of ops on global tensors from what each op
// says about itself (DifferentiableOpInterface).
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
/// All ops to differentiate are in the builder's block, before that.
/// `outputs` are values of that block or from outside it, each with a seed of
/// its shape (null: no part in the sum; another element type is cast). `wrt`
/// are float values that the differentiation starts from: block arguments,
/// values from outside the block, or results whose own operands then do not
/// matter. `elementTypes` has one entry for each: the element type of its
/// gradient, its own or a wider one; all that is summed into the gradient is
/// summed in it.
///
/// Sets `gradients` to one value for each of `wrt`; null where the gradient is
/// zero. Ops whose gradient needs them return statistics as well, in place:
/// such an op is replaced, so values of the block that the caller holds must be
/// read again from a use of theirs (`outputs` is read before). Nothing is built
/// that no gradient needs. Contributions of several uses are added from the
/// last use to the first. A gradient of a value that has `nn.dims` is given
/// them too.
///
/// Failure, with an error at the op: one that the gradient runs through cannot
/// be differentiated.
mlir::LogicalResult
buildBackward(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Value> outputs,
              llvm::ArrayRef<mlir::Value> seeds,
              llvm::ArrayRef<mlir::Value> wrt,
              llvm::ArrayRef<mlir::Type> elementTypes,
              llvm::SmallVectorImpl<mlir::Value> &gradients);

} // namespace tessera

#endif // TESSERA_TRAINING_BACKWARD_H
