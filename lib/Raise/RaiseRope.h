//===- RaiseRope.h - Raises rotations of pairs in a row ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RAISE_RAISEROPE_H
#define TESSERA_LIB_RAISE_RAISEROPE_H

#include "mlir/IR/Block.h"

namespace tessera {

/// Raises a linear function of rows to nn.rope. It rotates the pairs (i, i +
/// n/2) of the first n elements of a row and keeps the others. Its tables
/// depend on constants alone and hold cosines and sines of positions times
/// frequencies. Every entry is compared.
void raiseRope(mlir::Block &block);

} // namespace tessera

#endif // TESSERA_LIB_RAISE_RAISEROPE_H
