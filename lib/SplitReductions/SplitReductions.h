//===- SplitReductions.h - Ways to split a sum over threads -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the pass of this name splits column reductions; chunks and blocks depend
// on the shape alone.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_SPLITREDUCTIONS_SPLITREDUCTIONS_H
#define TESSERA_LIB_SPLITREDUCTIONS_SPLITREDUCTIONS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tessera {

/// Rows that balance the threads of a host, and rows that keep a GPU busy.
constexpr int64_t kEnoughRows = 64, kRowsOfGPU = 512;

/// Splits a sum whose last loop is parallel and whose first one is not into
/// rows: blocks of columns. False, without a change, if there is no good size.
bool splitColumns(mlir::linalg::GenericOp op);

/// Splits a column reduction into sums of adjacent rows, which a kernel of
/// these rows can compute as well, and the sum over them, which is returned;
/// null if there is no such kernel.
mlir::linalg::GenericOp fuseChunks(mlir::linalg::GenericOp op);

/// Splits a column reduction into sums of chunks and the sum over these, which
/// is returned; null if that would not make rows.
mlir::linalg::GenericOp splitIntoChunks(mlir::linalg::GenericOp op);

} // namespace tessera

#endif // TESSERA_LIB_SPLITREDUCTIONS_SPLITREDUCTIONS_H
