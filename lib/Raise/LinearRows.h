//===- LinearRows.h - Ops that are linear in rows of a tensor ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops between a tensor x and a value y of the same shape, where each row of
// y is a linear function of the same row of x: a sum of elements times numbers
// and table entries. The function is read from the ops, without a trial:
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

/// The term scale * x[.., source], times table[p, column] if there is a table.
struct LinearTerm {
  int64_t source;
  double scale = 1;
  /// A tensor of positions and columns that depends on constants alone; null if
  /// there is none.
  mlir::Value table;
  int64_t column = 0;
};

/// The terms of one element of a row.
using LinearForm = llvm::SmallVector<LinearTerm, 2>;

/// A region of ops and the function that it computes.
struct LinearRows {
  mlir::Value x, y;
  /// The ops in program order; the last one returns y.
  llvm::SmallVector<mlir::Operation *> ops;
  /// The dimension of x that indexes the rows of tables.
  int64_t positionDim = -1;
  /// The form of each element of a row of y.
  std::vector<LinearForm> forms;
};

/// Facts about values that depend on constants alone, for all regions of a
/// block.
class RowConstants {
public:
  /// Whether a value depends on constants alone.
  bool contains(mlir::Value value);
  /// The elements of such a value; null if they cannot be computed.
  interp::TensorRef evaluate(mlir::Value value);

private:
  llvm::DenseMap<mlir::Value, bool> known;
  llvm::DenseMap<mlir::Value, interp::TensorRef> numbers;
};

/// The regions of y that move and multiply row elements, the smallest first. No
/// value inside is used outside, and no op inside rounds to a float type
/// narrower than both x and y have.
std::vector<LinearRows> findLinearRows(mlir::Value y, RowConstants &constants);

} // namespace tessera

#endif // TESSERA_LIB_RAISE_LINEARROWS_H
