//===- Passes.h - Collectives of local programs -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COLLECTIVES_PASSES_H
#define TESSERA_COLLECTIVES_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "tessera/Collectives/OverlapSchedule.h"

namespace tessera {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tessera/Collectives/Passes.h.inc"

} // namespace tessera

#endif // TESSERA_COLLECTIVES_PASSES_H
