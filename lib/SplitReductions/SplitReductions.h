//===- SplitReductions.h - Ways to split a sum over threads -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the pass of this name does with column reductions; chunks and blocks
// depend on the shape alone.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_SPLITREDUCTIONS_SPLITREDUCTIONS_H
#define TESSERA_LIB_SPLITREDUCTIONS_SPLITREDUCTIONS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tessera {

/// Rows that make shares of a host's threads even, and that keep a GPU busy.
constexpr int64_t kEnoughRows = 64, kRowsOfGPU = 512;

/// Makes rows of a sum whose last loop is parallel and whose first one is not:
/// blocks of columns. False, and nothing is changed, where there is no good
/// size.
bool splitColumns(mlir::linalg::GenericOp op);

/// Splits a column reduction into sums of rows that follow each other, which a
/// kernel of these rows can carry along, and the sum over them, which is given;
/// null where there is no such kernel.
mlir::linalg::GenericOp fuseChunks(mlir::linalg::GenericOp op);

/// Splits a column reduction into sums of chunks and the sum over these, which
/// is given; null where that would not make rows.
mlir::linalg::GenericOp splitIntoChunks(mlir::linalg::GenericOp op);

} // namespace tessera

#endif // TESSERA_LIB_SPLITREDUCTIONS_SPLITREDUCTIONS_H
