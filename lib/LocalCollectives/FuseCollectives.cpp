//===- FuseCollectives.cpp - Merges and cancels collectives ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Applies local rewrites to a local program. Each moves fewer bytes, or the
// same bytes in fewer collectives. The families are in Fuse*.cpp; this file
// runs them in turn until nothing changes.
//
//===----------------------------------------------------------------------===//

#include "FuseCollectives.h"
#include "mlir/IR/Remarks.h"
#include "tessera/LocalCollectives/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_FUSECOLLECTIVESPASS
#include "tessera/LocalCollectives/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

static remark::RemarkOpts getFusionRemark() {
  return remark::RemarkOpts::name("FuseCollectives").category("partition");
}

void FusionContext::passed(Operation *op, StringRef what) const {
  remark::passed(op->getLoc(), getFusionRemark())
      << remark::add("{0}", what.str());
}

void FusionContext::missed(Operation *op, StringRef what, StringRef why) const {
  if (tellMissed)
    remark::missed(op->getLoc(), getFusionRemark())
        << remark::add("{0}", what.str()) << remark::reason("{0}", why.str());
}

/// Runs one round of all families.
static bool fuse(Block &block, const FusionContext &context) {
  bool changed = mergeEqual(block, context);
  changed |= fuseMovements(block, context);
  changed |= moveThroughCasts(block, context);
  changed |= fuseReductions(block, context);
  return changed;
}

namespace {
struct FuseCollectivesPass
    : tessera::impl::FuseCollectivesPassBase<FuseCollectivesPass> {
  using FuseCollectivesPassBase::FuseCollectivesPassBase;
  void runOnOperation() override {
    if (getOperation().getOps<dist::MeshOp>().empty())
      return;
    FailureOr<dist::MeshOp> mesh = dist::getOnlyMesh(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    FusionContext context;
    context.mesh = mesh->getMesh().toMesh();
    context.meshSymbol = FlatSymbolRefAttr::get(mesh->getSymNameAttr());
    context.sharedBytes = sharedBytes;
    for (auto func : getOperation().getOps<FunctionOpInterface>()) {
      if (!func->hasAttr(dist::DistDialect::kLocalAttr) || func.isExternal())
        continue;
      for (Block *block : dist::getBlocks(func)) {
        context.tellMissed = false;
        while (fuse(*block, context)) {
        }
        context.tellMissed = true;
        fuse(*block, context);
      }
    }
  }
};
} // namespace
