//===- KernelRows.h - The rows that ops of a kernel share -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel runs row by row. The rows of an op are its leading loops: all
// parallel, and used unchanged to index the leading dimensions of each result.
// An op with loops [4, 8, 16] can be seen as 1, 4, 32 or 512 rows. Ops with
// equally many rows fit together if each value between them is read only in the
// row that computed it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_KERNELROWS_H
#define TESSERA_CODEGEN_KERNELROWS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include <optional>

namespace tessera {

/// The fewest leading loops of `op` that form `rows` rows; none if the op
/// cannot be split so. A fused column reduction (ColumnReductions.h) has the
/// rows that it adds, and no other number.
std::optional<unsigned> getRowLoops(mlir::linalg::GenericOp op, int64_t rows);

/// All numbers of rows that `op` can be split into, ascending; they include 1,
/// except for a fused column reduction.
llvm::SmallVector<int64_t> getRowCounts(mlir::linalg::GenericOp op);

/// The number of rows that suits `op` best: all its parallel loops but the last
/// dimension, which is one loop of vectors. On a host short rows are merged; a
/// GPU has a few threads for each row.
int64_t getPreferredRows(mlir::linalg::GenericOp op, bool onGPU);

/// True if the first `rowLoops` results of `map` are the first loops, and no
/// other result uses one of them: an access stays in its row.
bool staysInRow(mlir::AffineMap map, unsigned rowLoops);

/// True if the body of `op` reads `tensor` at computed positions.
bool readsByIndex(mlir::linalg::GenericOp op, mlir::Value tensor);

/// Whether each element of a result belongs to one iteration of the parallel
/// loops: maps are these loops, in some order. A scan, or a sum over diagonals,
/// reads and writes results at each iteration instead.
bool hasPlainResults(mlir::linalg::GenericOp op);

} // namespace tessera

#endif // TESSERA_CODEGEN_KERNELROWS_H
