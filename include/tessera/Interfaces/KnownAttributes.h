//===- KnownAttributes.h - A dialect's discardable attributes ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each of our dialects has one table of the attributes with its prefix that
// other ops may carry. An attribute that is not in the table, or not allowed at
// its position, is an error: a misspelt one would otherwise be ignored.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_KNOWNATTRIBUTES_H
#define TESSERA_INTERFACES_KNOWNATTRIBUTES_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"

namespace tessera {

/// Holders of an attribute; a set of bits.
enum AttributeHolder : unsigned {
  kOnModule = 1,
  kOnFunction = 2,
  /// An op that is neither a module nor a function.
  kOnOperation = 4,
  kOnArgument = 8,
  kOnResult = 16,
};

/// The position of an attribute: on an op, or on an argument or a result of a
/// function.
struct AttributePosition {
  mlir::Operation *op;
  AttributeHolder holder;
  /// Number of the argument or result.
  unsigned index = 0;
  /// Type of the argument or result; null on an op.
  mlir::Type type;

  /// The op itself: a module, a function or any other op.
  static AttributePosition onOp(mlir::Operation *op);
  /// None if `op` is not a function.
  static std::optional<AttributePosition> onArgument(mlir::Operation *op,
                                                     unsigned index);
  static std::optional<AttributePosition> onResult(mlir::Operation *op,
                                                   unsigned index);
};

/// An attribute of a dialect; the name includes the prefix.
struct KnownAttribute {
  llvm::StringRef name;
  /// Bits of AttributeHolder.
  unsigned holders;
  /// Checks the value and reports errors in it.
  mlir::LogicalResult (*verify)(const AttributePosition &position,
                                mlir::NamedAttribute attr);
};

/// Reports an attribute that no entry of `known` allows at `position`, and
/// suggests the nearest name; checks the value of an allowed one.
mlir::LogicalResult
verifyKnownAttribute(llvm::ArrayRef<KnownAttribute> known,
                     const std::optional<AttributePosition> &position,
                     mlir::NamedAttribute attr);

/// True if no earlier argument (or result) has one of these attributes: a
/// condition on all arguments is checked at the first one, once.
bool isFirstWith(const AttributePosition &position,
                 llvm::ArrayRef<llvm::StringRef> names);

/// For tables: checks for values of one kind, "<name>: expects <kind> but got
/// <value>".
mlir::LogicalResult expectUnit(const AttributePosition &position,
                               mlir::NamedAttribute attr);
mlir::LogicalResult expectString(const AttributePosition &position,
                                 mlir::NamedAttribute attr);
mlir::LogicalResult expectInteger(const AttributePosition &position,
                                  mlir::NamedAttribute attr);

} // namespace tessera

#endif // TESSERA_INTERFACES_KNOWNATTRIBUTES_H
