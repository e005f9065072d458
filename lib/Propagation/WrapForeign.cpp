//===- WrapForeign.cpp - Ops with a rule as text --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "tessera/Propagation/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_WRAPFOREIGNPASS
#include "tessera/Propagation/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using dist::DistDialect;

static dist::ForeignOp wrap(Operation *op, dist::RuleAttr rule) {
  NamedAttrList own(op->getAttrDictionary());
  own.erase(DistDialect::kRuleAttr);
  Attribute seeds = own.erase(DistDialect::kShardingsAttr);
  OpBuilder builder(op);
  auto made = dist::ForeignOp::create(
      builder, op->getLoc(), op->getResultTypes(), op->getName().getStringRef(),
      op->getOperands(), rule,
      own.empty() ? DictionaryAttr() : own.getDictionary(op->getContext()));
  if (seeds)
    made->setAttr(DistDialect::kShardingsAttr, seeds);
  return made;
}

void tessera::wrapForeignOps(
    Operation *root,
    llvm::function_ref<void(Operation *, Operation *)> onReplace) {
  SmallVector<std::pair<Operation *, dist::RuleAttr>> ops;
  root->walk([&](Operation *op) {
    if (auto rule = op->getAttrOfType<dist::RuleAttr>(DistDialect::kRuleAttr))
      ops.push_back({op, rule});
  });
  for (auto [op, rule] : ops) {
    dist::ForeignOp made = wrap(op, rule);
    if (onReplace)
      onReplace(op, made);
    op->replaceAllUsesWith(made->getResults());
    op->erase();
  }
}

namespace {
struct WrapForeignPass : tessera::impl::WrapForeignPassBase<WrapForeignPass> {
  void runOnOperation() override {
    wrapForeignOps(getOperation());
    WalkResult result = getOperation()->walk([](Operation *op) {
      if (op->isRegistered())
        return WalkResult::advance();
      op->emitOpError(
          "expects a sharding rule (dist.rule) of an op that is not "
          "registered");
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
