//===- UpstreamPad.h - Rules of tensor.pad and alike ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_INTERFACES_UPSTREAMPAD_H
#define TESSERA_LIB_INTERFACES_UPSTREAMPAD_H

#include "tessera/Interfaces/ShardingRuleOpInterface.h"

namespace tessera {

/// Registers tensor.pad and tensor.generate, and linalg.softmax.
void registerPadModels(mlir::DialectRegistry &registry);

} // namespace tessera

#endif // TESSERA_LIB_INTERFACES_UPSTREAMPAD_H
