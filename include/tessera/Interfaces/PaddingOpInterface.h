//===- PaddingOpInterface.h - Requirements of ops on padding ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_PADDINGOPINTERFACE_H
#define TESSERA_INTERFACES_PADDINGOPINTERFACE_H

#include "tessera/Interfaces/ShardingRuleOpInterface.h"

namespace tessera {

/// The factors of `op`, whose rule is `rule`, that cannot be padded: replicated
/// factors; factors on the minor side of another one in some dimension, where
/// padding would separate true elements; reductions over padding that may not
/// be neutral; all factors, if the op says so or its body reads elements of
/// outside tensors.
llvm::SmallBitVector getUnpaddable(mlir::Operation *op,
                                   const ShardingRule &rule);

/// True if the op can be told of padding of all `factors`; tries it on a copy.
bool absorbsPadding(mlir::Operation *op, const ShardingRule &rule,
                    const llvm::SmallBitVector &factors);

/// Attaches the interface to arith, math and linalg ops.
void registerUpstreamPadding(mlir::DialectRegistry &registry);

} // namespace tessera

#include "tessera/Interfaces/PaddingOpInterface.h.inc"

#endif // TESSERA_INTERFACES_PADDINGOPINTERFACE_H
