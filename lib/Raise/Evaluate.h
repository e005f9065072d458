//===- Evaluate.h - Interprets a few ops of a function ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RAISE_EVALUATE_H
#define TESSERA_LIB_RAISE_EVALUATE_H

#include "dialects/Dist/Dist.h"
#include "mlir/IR/Operation.h"
#include "tessera/Interpreter/Tensor.h"

namespace tessera {

/// The value of `root`, which follows from `ops` alone: these are pure, in
/// order, and `root` is a result of one. Null where the interpreter refuses.
interp::TensorRef evaluate(llvm::ArrayRef<mlir::Operation *> ops,
                           mlir::Value root);

/// A constraint among the ops that a value follows from, if it follows from
/// constants; null: none.
dist::ConstraintOp findConstraint(mlir::Value value);

/// Whether a value follows from constants by a few ops.
bool followsFromConstants(mlir::Value value);

/// The value of a tensor that follows from constants; null of another one, and
/// of one of more than 2^24 elements.
interp::TensorRef evaluateConstant(mlir::Value value);

/// A tensor as an attribute.
mlir::DenseElementsAttr toAttribute(const interp::Tensor &tensor);

} // namespace tessera

#endif // TESSERA_LIB_RAISE_EVALUATE_H
