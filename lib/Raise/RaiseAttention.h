//===- RaiseAttention.h - Raises two matmuls around a softmax ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RAISE_RAISEATTENTION_H
#define TESSERA_LIB_RAISE_RAISEATTENTION_H

#include "mlir/IR/Block.h"

namespace tessera {

/// Raises scores of queries and keys, a masked softmax of their rows, and the
/// sum of values weighted by it, to nn.attention. The letters of the matmuls
/// give the structure. The function is tried with the mask as an input, where
/// that depends on constants alone: it is computed in full and must be causal,
/// a window, or hide nothing. Anything else that is added to scores and depends
/// on no parameter is a bias, and there may be a softcap and sinks.
void raiseAttention(mlir::Block &block);

} // namespace tessera

#endif // TESSERA_LIB_RAISE_RAISEATTENTION_H
