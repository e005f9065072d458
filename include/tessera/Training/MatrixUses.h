//===- MatrixUses.h - Parameters used as matrices ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Classifies parameters by their uses, not by the names of their dimensions.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TRAINING_MATRIXUSES_H
#define TESSERA_TRAINING_MATRIXUSES_H

#include "mlir/IR/Value.h"

namespace tessera {

/// Whether an operand of an op is a matrix: one of its dimensions is summed
/// over, and no other operand has another one of them. True for a weight of a
/// matmul, for those of experts, and for a table of a row lookup, which is a
/// sum over all rows selected by id.
bool readsMatrix(mlir::OpOperand &use);

/// Whether a matmul or a row lookup reads a parameter, or a tensor computed
/// from parameters and constants alone, such as its transpose. False for a bias
/// and the scale of a norm, which are added to or multiplied with activations,
/// and for vectors.
bool isMatrix(mlir::BlockArgument parameter);

/// Whether `value` becomes the classes of a loss by elementwise ops and
/// reshapes.
bool becomesClasses(mlir::Value value);

} // namespace tessera

#endif // TESSERA_TRAINING_MATRIXUSES_H
