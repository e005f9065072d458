//===- RaiseChoices.h - Choices within groups as nn.top_k -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RAISE_RAISECHOICES_H
#define TESSERA_LIB_RAISE_RAISECHOICES_H

#include "mlir/IR/Block.h"

namespace tessera {

/// Raises an nn.top_k, whose scores outside of some groups a choice of groups
/// hides, to one nn.top_k with groups.
void raiseChoices(mlir::Block &block);

} // namespace tessera

#endif // TESSERA_LIB_RAISE_RAISECHOICES_H
