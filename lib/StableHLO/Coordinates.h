//===- Coordinates.h - Indices of several dimensions ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Common parts of gathers and scatters: indices with a coordinate for
// each of some dimensions of the operand become ids of the rows of a matrix. A
// row is a position in these dimensions, and its elements are the others.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_STABLEHLO_COORDINATES_H
#define TESSERA_LIB_STABLEHLO_COORDINATES_H

#include "Converter.h"

namespace tessera::stablehlo {

/// Names of the lists of IndexDims, for a gather and for a scatter.
struct IndexNames {
  llvm::StringRef dropped, operandBatch, indexBatch, map;
};

/// Dimensions of the operand and of the indices.
struct IndexDims {
  /// Dimensions of the operand of which a slice has one element, and lacks it.
  llvm::SmallVector<int64_t> dropped;
  /// Dimensions that the operand and the indices share.
  llvm::SmallVector<int64_t> operandBatch, indexBatch;
  /// The dimension of the operand of each coordinate.
  llvm::SmallVector<int64_t> map;
  /// The dimension of the coordinates in the indices.
  int64_t indexVector = 0;
  /// Elements of a slice along each dimension of the operand.
  llvm::SmallVector<int64_t> sizes;

  /// Whether slices lack a dimension of the operand.
  bool isDropped(int64_t dim) const {
    return llvm::is_contained(dropped, dim) ||
           llvm::is_contained(operandBatch, dim);
  }
  /// Whether the indices have a dimension of coordinates.
  bool hasVector(const OpConversion &c) const {
    return indexVector < c.operandType(1).getRank();
  }
  /// Reads all but the sizes. Fails unless the lists fit operands 0 and 1.
  mlir::LogicalResult read(OpConversion &c, const Fields &fields,
                           const IndexNames &names);
};

/// The positions of slices along one dimension of the operand.
struct Coordinate {
  /// The dimension, its size, and the elements of a slice.
  int64_t dim, size, count;
  /// The first element of each slice; the index as the source has it, if its
  /// wrapping was dropped or had no effect.
  Value start, wrapped;
};

/// Coordinate `i` of `count` in the indices, without their dimension
/// `indexVector`; indices of one coordinate may lack it.
Value takeCoordinate(GraphBuilder &b, Value indices, int64_t indexVector,
                     int64_t count, int64_t i);

/// A tensor whose dimensions have labels: `d` for dimension d of the operand,
/// -1 - k for dimension k of the indices without their coordinates.
struct Labelled {
  Value value;
  llvm::SmallVector<int64_t> labels;
};

/// Transposes a tensor to the order of `labels`, which it has all.
Value arrange(GraphBuilder &b, const Labelled &x,
              llvm::ArrayRef<int64_t> labels);

/// The sizes of the dimensions with these labels.
llvm::SmallVector<int64_t> sizesOf(const Labelled &x,
                                   llvm::ArrayRef<int64_t> labels);

/// The number of elements of a shape.
int64_t product(llvm::ArrayRef<int64_t> sizes);

/// The ids of rows of the indexed dimensions, each the sum of the coordinates
/// times their strides: the labels are those of `batch` and of the dimensions
/// of which several elements are taken.
Labelled joinCoordinates(GraphBuilder &b,
                         llvm::ArrayRef<Coordinate> coordinates,
                         llvm::ArrayRef<int64_t> batch);

} // namespace tessera::stablehlo

#endif // TESSERA_LIB_STABLEHLO_COORDINATES_H
