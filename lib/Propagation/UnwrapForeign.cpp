//===- UnwrapForeign.cpp - Ops with a rule as text, again -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "tessera/Propagation/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_UNWRAPFOREIGNPASS
#include "tessera/Propagation/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

static void unwrap(dist::ForeignOp op) {
  NamedAttrList attributes(op->getDiscardableAttrDictionary());
  if (DictionaryAttr own = op.getOpAttributesAttr())
    attributes.append(own.getValue());
  attributes.set(dist::DistDialect::kRuleAttr, op.getRuleAttr());
  OpBuilder builder(op);
  OperationState state(op.getLoc(), op.getName(), op.getInputs(),
                       op.getResultTypes(), attributes.getAttrs());
  op->replaceAllUsesWith(builder.create(state));
  op->erase();
}

namespace {
struct UnwrapForeignPass
    : tessera::impl::UnwrapForeignPassBase<UnwrapForeignPass> {
  void runOnOperation() override {
    SmallVector<dist::ForeignOp> ops;
    getOperation()->walk([&](dist::ForeignOp op) { ops.push_back(op); });
    llvm::for_each(ops, unwrap);
  }
};
} // namespace
