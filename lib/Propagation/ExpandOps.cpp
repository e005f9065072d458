//===- ExpandOps.cpp - Meanings in place of foreign ops -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "tessera/Interfaces/Expansion.h"
#include "tessera/Propagation/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_EXPANDOPSPASS
#include "tessera/Propagation/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// Gives `value`, which replaces `result`, its seed and its names.
static void inheritAttributes(OpResult result, ArrayRef<Operation *> made,
                              Value &value) {
  Operation *op = result.getOwner(), *maker = value.getDefiningOp();
  bool isNew = maker && llvm::is_contained(made, maker);
  if (dist::ShardingAttr sharding = dist::getSharding(result)) {
    if (isNew && !dist::getSharding(value)) {
      dist::setSharding(value, sharding);
    } else {
      OpBuilder builder(op);
      value =
          dist::ConstraintOp::create(builder, op->getLoc(), value, sharding);
    }
  }
  if (!isNew || op->getNumResults() != 1 || maker->getNumResults() != 1)
    return;
  for (NamedAttribute attr : op->getDiscardableAttrs())
    if (attr.getName() != dist::DistDialect::kShardingsAttr &&
        !maker->hasAttr(attr.getName()))
      maker->setDiscardableAttr(attr.getName(), attr.getValue());
}

static bool isTrained(ModuleOp module) {
  auto plan =
      module->getAttrOfType<dist::PlanAttr>(dist::DistDialect::kPlanAttr);
  return plan && !plan.getPlan().forward;
}

namespace {
struct ExpandOpsPass : tessera::impl::ExpandOpsPassBase<ExpandOpsPass> {
  using ExpandOpsPassBase::ExpandOpsPassBase;
  void runOnOperation() override {
    if (withoutGradient && !isTrained(getOperation()))
      return;
    auto filter = [&](Operation *op) {
      return !(withoutRule && isa<ShardingRuleOpInterface>(op)) &&
             !(withoutGradient && isa<DifferentiableOpInterface>(op));
    };
    auto inherit = [](Operation *op, ArrayRef<Operation *> made,
                      MutableArrayRef<Value> values) {
      for (Operation *part : made)
        if (isa<UnknownLoc>(part->getLoc()))
          part->setLoc(op->getLoc());
      for (auto [result, value] : llvm::zip_equal(op->getResults(), values))
        inheritAttributes(result, made, value);
    };
    if (failed(expandOps(getOperation(), filter, inherit)))
      signalPassFailure();
  }
};
} // namespace
