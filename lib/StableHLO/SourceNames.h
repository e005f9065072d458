//===- SourceNames.h - Names of arguments and results -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_STABLEHLO_SOURCENAMES_H
#define TESSERA_LIB_STABLEHLO_SOURCENAMES_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/SmallVector.h"
#include <string>

namespace tessera::stablehlo {

/// The spelling of argument `index` in a source: the name of its location, or
/// "arg<index>".
std::string getSpelling(mlir::Location loc, unsigned index);

/// A unique name for each spelling: the path of keys and indices to a leaf of a
/// tree, without the tree's own name if names are unique without it.
///
///     p['blocks'][0]['w'], t   ->   blocks.0.w, t
llvm::SmallVector<std::string> makeNames(llvm::ArrayRef<std::string> spelled);

} // namespace tessera::stablehlo

#endif // TESSERA_LIB_STABLEHLO_SOURCENAMES_H
