//===- RowRegion.h - Ops that compute a function of rows --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops between a value y and a tensor x. y depends on x, constants, vectors
// along the last dimension and, where allowed, masks. Every op acts on each row
// of the last dimension separately; sharding constraints are looked through:
//
//     x [.., n] --> sum [..] --> broadcast [.., n] --> ... --> y [.., n]
//                                                           or y [..]
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RAISE_ROWREGION_H
#define TESSERA_LIB_RAISE_ROWREGION_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"
#include <vector>

namespace tessera {

/// A region of ops and its inputs.
struct RowRegion {
  mlir::Value x, y;
  /// The ops in program order; the last one returns y. Excludes constants.
  llvm::SmallVector<mlir::Operation *> ops;
  /// Inputs: vectors of the size of the last dimension; integers, one per row;
  /// masks of the last dimension and one other, broadcast along the rest.
  llvm::SmallVector<mlir::Value> vectors, indices, masks;
  /// The dimension of x that masks have besides the last one; -1 without masks.
  int64_t maskDim = -1;

  int64_t rank() const {
    return mlir::cast<mlir::RankedTensorType>(x.getType()).getRank();
  }
  int64_t size() const {
    return mlir::cast<mlir::RankedTensorType>(x.getType()).getShape().back();
  }
  /// True if the region contains one of these ops.
  template <typename... Ops> bool has() const {
    return llvm::any_of(
        ops, [](mlir::Operation *op) { return mlir::isa<Ops...>(op); });
  }
};

/// The regions of y, the smallest first, one per dominator of y in the graph of
/// values. Masks are inputs if `allowsMasks`.
std::vector<RowRegion> findRowRegions(mlir::Value y, bool allowsMasks);

} // namespace tessera

#endif // TESSERA_LIB_RAISE_ROWREGION_H
