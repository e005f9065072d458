//===- SourceAttributes.h - Attributes of StableHLO's ops -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No dialect is registered for StableHLO: its attributes are text, and an op
// has them as properties or, from older writers, as discardable attributes.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_STABLEHLO_SOURCEATTRIBUTES_H
#define TESSERA_LIB_STABLEHLO_SOURCEATTRIBUTES_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include <optional>

namespace tessera::stablehlo {

/// The numbers of `name<a = [0, 1], b = 2>`, by field; a single number is a
/// list of one.
using Fields = llvm::StringMap<llvm::SmallVector<int64_t>>;

/// Reads `text`, which must be the attribute `mnemonic` with fields in `known`
/// only. None otherwise.
std::optional<Fields> parseFields(llvm::StringRef text,
                                  llvm::StringRef mnemonic,
                                  llvm::ArrayRef<llvm::StringRef> known);

/// An attribute or a property of an op; null if it is missing.
mlir::Attribute getSourceAttr(mlir::Operation *op, llvm::StringRef name);

/// The text between the outer `<` and `>` of `#stablehlo<...>`, or after the
/// dot of `#stablehlo.x<...>`; empty for other attributes.
llvm::StringRef getText(mlir::Attribute attr);

/// The case of an enum: "LT" of `#stablehlo<comparison_direction LT>`. Empty if
/// it is not of `mnemonic`.
llvm::StringRef getCase(mlir::Attribute attr, llvm::StringRef mnemonic);

/// A list of integers, as array or dense elements; none for other attributes.
std::optional<llvm::SmallVector<int64_t>> getIntegers(mlir::Attribute attr);

} // namespace tessera::stablehlo

#endif // TESSERA_LIB_STABLEHLO_SOURCEATTRIBUTES_H
