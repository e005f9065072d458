//===- LogicalDimsOpInterface.h - Dimensions by name ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_LOGICALDIMSOPINTERFACE_H
#define TESSERA_INTERFACES_LOGICALDIMSOPINTERFACE_H

#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace tessera {

/// A callback with a tensor, the number of a dimension, and that dimension's
/// name.
using DimNamer = llvm::function_ref<void(mlir::Value tensor, int64_t dim,
                                         llvm::StringRef name)>;

} // namespace tessera

#include "tessera/Interfaces/LogicalDimsOpInterface.h.inc"

#endif // TESSERA_INTERFACES_LOGICALDIMSOPINTERFACE_H
