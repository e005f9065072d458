//===- RaiseRope.h - Pairs of a row turned by tables ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RAISE_RAISEROPE_H
#define TESSERA_LIB_RAISE_RAISEROPE_H

#include "mlir/IR/Block.h"

namespace tessera {

/// A linear function of rows that turns the pairs (i, i + n/2) of their first n
/// elements, and leaves the others, becomes nn.rope if its tables, which follow
/// from constants, hold cosines and sines of positions times frequencies. Every
/// entry is compared.
void raiseRope(mlir::Block &block);

} // namespace tessera

#endif // TESSERA_LIB_RAISE_RAISEROPE_H
