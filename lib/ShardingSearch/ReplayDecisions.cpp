//===- ReplayDecisions.cpp - The pass that takes recorded shardings -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "tessera/ShardingSearch/Decisions.h"
#include "tessera/ShardingSearch/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_REPLAYDECISIONSPASS
#include "tessera/ShardingSearch/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {
struct ReplayDecisionsPass
    : tessera::impl::ReplayDecisionsPassBase<ReplayDecisionsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto decisions =
        module->getAttrOfType<StringAttr>(dist::DistDialect::kDecisionsAttr);
    if (!decisions)
      return;
    module->removeAttr(dist::DistDialect::kDecisionsAttr);
    if (failed(replayDecisions(module, decisions.getValue())))
      signalPassFailure();
  }
};
} // namespace
