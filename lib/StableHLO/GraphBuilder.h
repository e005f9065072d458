//===- GraphBuilder.h - Builds and folds ops on tensors ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants are folded while they are built: the trips of a loop and the
// offsets of a slice must be known. Operands and shapes have been checked.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_STABLEHLO_GRAPHBUILDER_H
#define TESSERA_LIB_STABLEHLO_GRAPHBUILDER_H

#include "dialects/NN/NN.h"
#include "tessera/Interfaces/ElementwiseBuilder.h"

namespace tessera::stablehlo {

using mlir::Value;

/// Builds ops of the graph at one location.
struct GraphBuilder : ElementwiseBuilder {
  GraphBuilder(mlir::OpBuilder &b, mlir::Location loc)
      : ElementwiseBuilder{b, loc} {}

  static mlir::RankedTensorType typeOf(Value v) {
    return mlir::cast<mlir::RankedTensorType>(v.getType());
  }

  /// Builds an op, or the constant that it folds to.
  template <typename Op, typename... Args> Value fold(Args &&...args) {
    return b.createOrFold<Op>(loc, std::forward<Args>(args)...);
  }
  /// Drops dimensions of size 1 or adds others, in the same order of elements.
  Value reshape(Value x, llvm::ArrayRef<int64_t> shape);
  /// Dimension i of `x` becomes dimension `dims[i]`, ascending and of the same
  /// size.
  Value broadcast(Value x, llvm::ArrayRef<int64_t> shape,
                  llvm::ArrayRef<int64_t> dims);
  /// Dimension i of the result is dimension `permutation[i]`.
  Value transpose(Value x, llvm::ArrayRef<int64_t> permutation);
  /// The elements at `offsets` + i * `strides`, all in range.
  Value slice(Value x, llvm::ArrayRef<int64_t> offsets,
              llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> strides);
  /// A splat constant.
  Value constant(mlir::RankedTensorType type, mlir::Attribute element);
};

/// Pads `x` with `count` elements of `value` before or after it along `dim`; a
/// negative count removes elements.
Value padSide(GraphBuilder &b, Value x, Value value, int64_t dim, int64_t count,
              bool before);
/// Puts `count` elements of `value` between any two of `x` along `dim`.
Value dilate(GraphBuilder &b, Value x, Value value, int64_t dim, int64_t count);

/// The value of a constant; null for other values.
mlir::DenseElementsAttr getConstant(Value value);
/// The element of a splat constant; null for other values.
mlir::Attribute getSplat(Value value);
/// The element of a constant integer with a single element.
std::optional<int64_t> getInteger(Value value);
/// The element of an integer with a single element that follows from constants.
std::optional<int64_t> evaluateInteger(Value value);
/// Strips reshapes and casts of shape that keep every element.
Value stripShape(Value x);

} // namespace tessera::stablehlo

#endif // TESSERA_LIB_STABLEHLO_GRAPHBUILDER_H
