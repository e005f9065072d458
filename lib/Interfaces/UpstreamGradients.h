//===- UpstreamGradients.h - Gradients of upstream ops ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_INTERFACES_UPSTREAMGRADIENTS_H
#define TESSERA_LIB_INTERFACES_UPSTREAMGRADIENTS_H

#include "mlir/IR/DialectRegistry.h"

namespace tessera {

/// arith and math.
void registerArithGradients(mlir::DialectRegistry &registry);
/// tensor: ops that change shapes.
void registerTensorGradients(mlir::DialectRegistry &registry);

} // namespace tessera

#endif // TESSERA_LIB_INTERFACES_UPSTREAMGRADIENTS_H
