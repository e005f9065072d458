//===- MaskedReductions.h - Reductions that end before padding --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CODEGEN_MASKEDREDUCTIONS_H
#define TESSERA_LIB_CODEGEN_MASKEDREDUCTIONS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tessera {

/// The end of a reduction loop: iterations from there on leave the accumulators
/// unchanged.
struct ReductionEnd {
  /// A reduction loop; its index plus `offset` (null for 0) stays below `end`.
  unsigned loop = 0;
  mlir::Value offset;
  int64_t end = 0;
  /// Comparisons of the body that are true before the end.
  llvm::SmallVector<mlir::arith::CmpIOp, 1> masks;
};

/// Returns the end of a reduction whose values are all masked by one position
/// with a neutral element; none for any other op.
std::optional<ReductionEnd> findReductionEnd(mlir::linalg::GenericOp op);

} // namespace tessera

#endif // TESSERA_LIB_CODEGEN_MASKEDREDUCTIONS_H
