//===- ExpectGlobal.cpp - Refuses local functions -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "tessera/Partition/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_EXPECTGLOBALPASS
#include "tessera/Partition/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {
struct ExpectGlobalPass
    : tessera::impl::ExpectGlobalPassBase<ExpectGlobalPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    for (auto func : getOperation().getOps<FunctionOpInterface>()) {
      if (!func->hasAttr(dist::DistDialect::kLocalAttr))
        continue;
      func.emitError("expects a global function to partition but got a local "
                     "one (dist.local): @")
          << func.getName();
      return signalPassFailure();
    }
  }
};
} // namespace
