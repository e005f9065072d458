//===- Evaluate.h - Interprets a few ops of a function ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RAISE_EVALUATE_H
#define TESSERA_RAISE_EVALUATE_H

#include "dialects/Dist/Dist.h"
#include "mlir/IR/Operation.h"
#include "tessera/Interpreter/Tensor.h"

namespace tessera {

/// Computes `root` from `ops` alone: these are pure, in order, and `root` is a
/// result of one of them. Null if the interpreter fails.
interp::TensorRef evaluate(llvm::ArrayRef<mlir::Operation *> ops,
                           mlir::Value root);

/// A constraint among the ops that a value is computed from, if it depends on
/// constants alone; null if there is none.
dist::ConstraintOp findConstraint(mlir::Value value);

/// Whether a value is computed from constants by a few ops.
bool followsFromConstants(mlir::Value value);

/// The value of a tensor that depends on constants alone; null for other
/// tensors, and for tensors of more than 2^24 elements.
interp::TensorRef evaluateConstant(mlir::Value value);

/// Converts a tensor to an attribute.
mlir::DenseElementsAttr toAttribute(const interp::Tensor &tensor);

} // namespace tessera

#endif // TESSERA_RAISE_EVALUATE_H
