//===- LinearRows.h - Ops that are linear in rows of a tensor ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops between a value y and a tensor x of its shape of which each row of y
// is a linear function: sums of elements of the same row of x, times numbers
// and entries of tables. No trial is needed, the function is read:
//
//     x [.., p, 4] --slices--> a, b --> concat(a c - b s, b c + a s) = y
//     y[.., p, 0] = c[p, 0] x[.., p, 0] - s[p, 0] x[.., p, 2]
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RAISE_LINEARROWS_H
#define TESSERA_LIB_RAISE_LINEARROWS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "tessera/Interpreter/Tensor.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <vector>

namespace tessera {

/// scale * x[.., source], times entry (p, column) of a table if there is one.
struct LinearTerm {
  int64_t source;
  double scale = 1;
  /// A tensor of positions and columns that follows from constants; null: none.
  mlir::Value table;
  int64_t column = 0;
};

/// The terms of one element of a row.
using LinearForm = llvm::SmallVector<LinearTerm, 2>;

/// A region of ops and the function that it computes.
struct LinearRows {
  mlir::Value x, y;
  /// In order; the last one gives y.
  llvm::SmallVector<mlir::Operation *> ops;
  /// The dimension of x along which rows of tables are.
  int64_t positionDim = -1;
  /// Of each element of a row of y.
  std::vector<LinearForm> forms;
};

/// Facts about values that follow from constants, for all regions of a block.
class RowConstants {
public:
  /// Whether a value follows from constants.
  bool contains(mlir::Value value);
  /// Its elements; null where they cannot be computed.
  interp::TensorRef evaluate(mlir::Value value);

private:
  llvm::DenseMap<mlir::Value, bool> known;
  llvm::DenseMap<mlir::Value, interp::TensorRef> numbers;
};

/// The regions of y in which elements of a row are moved and multiplied, the
/// smallest first. Nothing inside is used outside, and no op inside rounds to a
/// narrower float than both x and y have.
std::vector<LinearRows> findLinearRows(mlir::Value y, RowConstants &constants);

} // namespace tessera

#endif // TESSERA_LIB_RAISE_LINEARROWS_H
