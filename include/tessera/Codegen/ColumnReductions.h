//===- ColumnReductions.h - Fused column reductions -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_COLUMNREDUCTIONS_H
#define TESSERA_CODEGEN_COLUMNREDUCTIONS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include <optional>

namespace tessera {

/// A column reduction by chunks: the first `rowLoops` loops count `rows` rows,
/// and `rowsPerSum` consecutive rows add to one row of the result. The result's
/// map divides the last of these loops, the only reduction:
///   (b, s, c) -> (b, s floordiv 32, c).
struct FusedColumnReduction {
  unsigned rowLoops = 0;
  int64_t rows = 1, rowsPerSum = 0;
};

/// None if `op` is not such a reduction.
std::optional<FusedColumnReduction>
getFusedColumnReduction(mlir::linalg::GenericOp op);

/// The map of the result that turns a sum over leading loops into such a sum;
/// none if no op works on the same rows, or chunks would be too few, too short
/// or too wide. The loops before the divided one become parallel.
std::optional<mlir::AffineMap>
planFusedColumnReduction(mlir::linalg::GenericOp op);

/// Whether both ops traverse one tensor element by element.
bool readsSameRows(mlir::linalg::GenericOp a, mlir::linalg::GenericOp other);

} // namespace tessera

#endif // TESSERA_CODEGEN_COLUMNREDUCTIONS_H
