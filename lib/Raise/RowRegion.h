//===- RowRegion.h - Ops that compute a function of rows --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops between a value y and a tensor x from which alone it follows, beside
// constants, vectors along the last dimension and, where they are allowed,
// masks. Every op acts on each row of the last dimension by itself; constraints
// of shardings are looked through:
//
//     x [.., n] --> sum [..] --> broadcast [.., n] --> ... --> y [.., n] or
//     [..]
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RAISE_ROWREGION_H
#define TESSERA_LIB_RAISE_ROWREGION_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"
#include <vector>

namespace tessera {

/// A region of ops and what enters it.
struct RowRegion {
  mlir::Value x, y;
  /// In order; the last one gives y. Constants are not among them.
  llvm::SmallVector<mlir::Operation *> ops;
  /// Of the size of the last dimension; integers, one for each row; tensors of
  /// the last dimension and one other, broadcast along the rest.
  llvm::SmallVector<mlir::Value> vectors, indices, masks;
  /// The dimension of x that masks have beside the last one; -1 without masks.
  int64_t maskDim = -1;

  int64_t rank() const {
    return mlir::cast<mlir::RankedTensorType>(x.getType()).getRank();
  }
  int64_t size() const {
    return mlir::cast<mlir::RankedTensorType>(x.getType()).getShape().back();
  }
  /// True if an op of these is among the ops.
  template <typename... Ops> bool has() const {
    return llvm::any_of(
        ops, [](mlir::Operation *op) { return mlir::isa<Ops...>(op); });
  }
};

/// The regions of y, the smallest first: those of its dominators in the graph
/// of values. Masks enter where `allowsMasks`.
std::vector<RowRegion> findRowRegions(mlir::Value y, bool allowsMasks);

} // namespace tessera

#endif // TESSERA_LIB_RAISE_ROWREGION_H
