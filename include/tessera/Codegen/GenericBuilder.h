//===- GenericBuilder.h - Builds linalg.generic on tensors ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A short way to write the linalg form of an op: tensors with the loops that
// index them, and a body on scalars. Arithmetic is in f32 at least.
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

/// What combines the elements of a reduction.
enum class Combiner { Sum, Max, Min };

/// Scalars and generics at one insertion point.
struct GenericBuilder : mlir::ImplicitLocOpBuilder {
  using mlir::ImplicitLocOpBuilder::ImplicitLocOpBuilder;
  using Body = llvm::function_ref<mlir::Value(mlir::ValueRange)>;

  /// A tensor and, per dimension of it, the expression over the loops that
  /// indexes it.
  struct Input {
    mlir::Value tensor;
    mlir::AffineMap map;
  };

  /// The map of `numLoops` loops to the loops in `dims`.
  mlir::AffineMap project(unsigned numLoops, llvm::ArrayRef<unsigned> dims);
  mlir::AffineMap identity(unsigned numLoops);
  /// All loops but one.
  mlir::AffineMap dropLoop(unsigned numLoops, unsigned loop);
  /// The first loops.
  mlir::AffineMap leading(unsigned numLoops, unsigned count);

  /// result[i...] = body(inputs) over loops of the result's shape.
  mlir::Value map(llvm::ArrayRef<int64_t> shape, mlir::Type element,
                  llvm::ArrayRef<Input> inputs, Body body);
  /// As `map`, with one result for each value that the body gives, of these
  /// element types.
  mlir::SmallVector<mlir::Value>
  mapMany(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<mlir::Type> elements,
          llvm::ArrayRef<Input> inputs,
          llvm::function_ref<mlir::SmallVector<mlir::Value>(mlir::ValueRange)>
              body);
  /// `value`, a tensor, with elements of `element`.
  mlir::Value castTensor(mlir::Value value, mlir::Type element);
  /// result = the body's values combined over the loops that `resultMap` drops.
  mlir::Value reduce(Combiner combiner, llvm::ArrayRef<int64_t> loops,
                     mlir::AffineMap resultMap, mlir::Type element,
                     llvm::ArrayRef<Input> inputs, Body body);

  /// Scalar helpers, for bodies.
  mlir::Value constant(mlir::Type type, double value);
  mlir::Value index(int64_t value);
  /// To a wider or narrower float, or the value itself.
  mlir::Value cast(mlir::Value value, mlir::Type type);
  mlir::Value widen(mlir::Value value);
  mlir::Value loop(unsigned number);
  /// Loop number plus offset, where there is one.
  mlir::Value position(unsigned number, mlir::Value offset);
  mlir::Value combine(Combiner combiner, mlir::Value a, mlir::Value b);
  /// The value that `combiner` leaves alone.
  mlir::TypedAttr neutral(Combiner combiner, mlir::Type element);
};

} // namespace tessera

#endif // TESSERA_CODEGEN_GENERICBUILDER_H
