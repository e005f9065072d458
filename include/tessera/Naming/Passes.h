//===- Passes.h - Passes that name dimensions and inputs --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_NAMING_PASSES_H
#define TESSERA_NAMING_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace tessera {

#define GEN_PASS_DECL
#include "tessera/Naming/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tessera/Naming/Passes.h.inc"

} // namespace tessera

#endif // TESSERA_NAMING_PASSES_H
