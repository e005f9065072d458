//===- Passes.h - Few collectives in a local program ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LOCALCOLLECTIVES_PASSES_H
#define TESSERA_LOCALCOLLECTIVES_PASSES_H

#include "mlir/Pass/Pass.h"

namespace tessera {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tessera/LocalCollectives/Passes.h.inc"

} // namespace tessera

#endif // TESSERA_LOCALCOLLECTIVES_PASSES_H
