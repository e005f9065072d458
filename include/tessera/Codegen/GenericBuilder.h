//===- GenericBuilder.h - Builds linalg.generic on tensors ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A short way to write the linalg form of an op: tensors with the loops that
// index them, and a body on scalars. Arithmetic is in f32 or wider.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_GENERICBUILDER_H
#define TESSERA_CODEGEN_GENERICBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tessera {

/// f32 for narrower floats, otherwise the type itself.
mlir::Type getWideType(mlir::Type element);

/// The operation that combines the elements of a reduction.
enum class Combiner { Sum, Max, Min };

/// Scalars and generics at one insertion point.
struct GenericBuilder : mlir::ImplicitLocOpBuilder {
  using mlir::ImplicitLocOpBuilder::ImplicitLocOpBuilder;
  using Body = llvm::function_ref<mlir::Value(mlir::ValueRange)>;

  /// A tensor and the expression over the loops that indexes each of its
  /// dimensions.
  struct Input {
    mlir::Value tensor;
    mlir::AffineMap map;
  };

  /// The map from `numLoops` loops to the loops in `dims`.
  mlir::AffineMap project(unsigned numLoops, llvm::ArrayRef<unsigned> dims);
  mlir::AffineMap identity(unsigned numLoops);
  /// Maps to all loops but one.
  mlir::AffineMap dropLoop(unsigned numLoops, unsigned loop);
  /// Maps to the first `count` loops.
  mlir::AffineMap leading(unsigned numLoops, unsigned count);

  /// result[i...] = body(inputs) over loops of the result's shape.
  mlir::Value map(llvm::ArrayRef<int64_t> shape, mlir::Type element,
                  llvm::ArrayRef<Input> inputs, Body body);
  /// Builds several results at once: one for each value that the body returns,
  /// with these element types.
  mlir::SmallVector<mlir::Value>
  mapMany(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<mlir::Type> elements,
          llvm::ArrayRef<Input> inputs,
          llvm::function_ref<mlir::SmallVector<mlir::Value>(mlir::ValueRange)>
              body);
  /// Casts the elements of the tensor `value` to `element`.
  mlir::Value castTensor(mlir::Value value, mlir::Type element);
  /// result = the body's values combined over the loops that `resultMap` drops.
  mlir::Value reduce(Combiner combiner, llvm::ArrayRef<int64_t> loops,
                     mlir::AffineMap resultMap, mlir::Type element,
                     llvm::ArrayRef<Input> inputs, Body body);

  /// Scalar helpers, for bodies.
  mlir::Value constant(mlir::Type type, double value);
  mlir::Value index(int64_t value);
  /// Casts to a wider or narrower float; returns the value itself if it has the
  /// type.
  mlir::Value cast(mlir::Value value, mlir::Type type);
  mlir::Value widen(mlir::Value value);
  mlir::Value loop(unsigned number);
  /// Loop number plus offset, if there is one.
  mlir::Value position(unsigned number, mlir::Value offset);
  mlir::Value combine(Combiner combiner, mlir::Value a, mlir::Value b);
  /// The neutral element of `combiner`.
  mlir::TypedAttr neutral(Combiner combiner, mlir::Type element);
};

} // namespace tessera

#endif // TESSERA_CODEGEN_GENERICBUILDER_H
