//===- MatrixUses.h - Parameters used as matrices ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to lib/Training: classifies parameters by their uses, not by the
// names of their dimensions.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRAINING_MATRIXUSES_H
#define TESSERA_LIB_TRAINING_MATRIXUSES_H

#include "mlir/IR/Value.h"

namespace tessera {

/// Whether a matmul or a row lookup reads a parameter, or a tensor computed
/// from parameters and constants alone, such as its transpose. False for a bias
/// and the scale of a norm, which are added to or multiplied with activations,
/// and for vectors.
bool isMatrix(mlir::BlockArgument parameter);

/// Whether `value` becomes the classes of a loss by elementwise ops and
/// reshapes.
bool becomesClasses(mlir::Value value);

} // namespace tessera

#endif // TESSERA_LIB_TRAINING_MATRIXUSES_H
