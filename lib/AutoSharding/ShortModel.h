//===- ShortModel.h - A model with fewer of its equal blocks ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of a model that follow each other and are equal take equally long. So
// the time of a program grows by one block's time with each, and two programs
// of few blocks tell that of a program of many.
//
//     embed  block 0  block 1  ...  block 92  block 93  head      the model
//     embed  block 0  block 1  block 2                  head      3 are kept
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_AUTOSHARDING_SHORTMODEL_H
#define TESSERA_LIB_AUTOSHARDING_SHORTMODEL_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tessera {

/// Returns the number of equal blocks that follow each other in the only
/// function of a module at phase input: the longest such run; 0 for a module
/// without one, or with several functions.
unsigned countEqualBlocks(mlir::ModuleOp module);

/// Returns a copy that keeps the first `kept` blocks of that run, without the
/// parameters of the others and without the results that they alone have. Null
/// if another op reads a value of a dropped block. Expects at least 2 blocks to
/// be kept, and fewer than there are.
mlir::OwningOpRef<mlir::ModuleOp> shortenModel(mlir::ModuleOp module,
                                               unsigned kept);

} // namespace tessera

#endif // TESSERA_LIB_AUTOSHARDING_SHORTMODEL_H
