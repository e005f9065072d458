//===- MatrixUses.h - What reads parameters ---------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to lib/Training: what a parameter is follows from its uses, not from
// the names of its dimensions.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRAINING_MATRIXUSES_H
#define TESSERA_LIB_TRAINING_MATRIXUSES_H

#include "mlir/IR/Value.h"

namespace tessera {

/// Whether a matmul or a lookup of rows reads a parameter, or a tensor that is
/// computed of parameters and constants alone, such as its transpose. A bias
/// and the scale of a norm, which are added to and multiplied with what inputs
/// give, are no matrices; nor is a vector.
bool isMatrix(mlir::BlockArgument parameter);

/// Whether `value` becomes the classes of a loss by elementwise ops and changes
/// of shape.
bool becomesClasses(mlir::Value value);

} // namespace tessera

#endif // TESSERA_LIB_TRAINING_MATRIXUSES_H
