//===- RaiseAttention.h - Two matmuls around a softmax ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RAISE_RAISEATTENTION_H
#define TESSERA_LIB_RAISE_RAISEATTENTION_H

#include "mlir/IR/Block.h"

namespace tessera {

/// Scores of queries and keys, a function of their rows that is a masked
/// softmax, and the sum of values weighted by it become nn.attention. The
/// letters of the matmuls are the structure; the function is tried with the
/// mask as an input; the mask, which follows from constants, is computed in
/// full and must be that of causal attention, of a window, or none.
void raiseAttention(mlir::Block &block);

} // namespace tessera

#endif // TESSERA_LIB_RAISE_RAISEATTENTION_H
