//===- SourceBodies.h - Bodies of reductions, sorts and windows -*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_STABLEHLO_SOURCEBODIES_H
#define TESSERA_LIB_STABLEHLO_SOURCEBODIES_H

#include "GraphBuilder.h"

namespace tessera::stablehlo {

/// The results of a body, separated by "; ": an argument is its number, the
/// constants 0 and NaN are 0 and nan, an op is its name and its operands, and a
/// comparison its direction, with a T before it in total order.
///
///     select(GT(0,1),0,1)
///
/// Empty if the body has other ops or constants, or its text is long.
std::string spellBody(mlir::Region &body);

/// A reduction by the op of its body.
struct Reduction {
  llvm::StringRef body;
  nn::ReduceKind kind;
  /// Whether it supports booleans; numbers.
  bool forBools, forNumbers;
};

/// The reduction whose body is one op on both arguments; null if there is none.
const Reduction *matchReduction(mlir::Region &body, bool isBool);

/// Whether a reduction's initial value changes no result.
bool isNeutral(mlir::Attribute start, nn::ReduceKind kind);

/// The reduction of two tensors, element by element.
Value combine(GraphBuilder &b, nn::ReduceKind kind, Value x, Value y);

/// The product of two tensors of numbers, element by element.
Value multiply(GraphBuilder &b, Value x, Value y);
/// Whether a body multiplies its arguments.
bool isProduct(mlir::Region &body);

} // namespace tessera::stablehlo

#endif // TESSERA_LIB_STABLEHLO_SOURCEBODIES_H
