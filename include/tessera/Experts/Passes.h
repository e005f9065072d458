//===- Passes.h - Mixtures of experts on a device ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_EXPERTS_PASSES_H
#define TESSERA_EXPERTS_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "tessera/Experts/Dispatch.h"

namespace tessera {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tessera/Experts/Passes.h.inc"

} // namespace tessera

#endif // TESSERA_EXPERTS_PASSES_H
