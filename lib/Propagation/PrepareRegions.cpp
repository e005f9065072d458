//===- PrepareRegions.cpp - Regions that run whole on every device --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "tessera/Propagation/Passes.h"
#include "llvm/ADT/ScopeExit.h"

namespace tessera {
#define GEN_PASS_DEF_PREPAREREGIONSPASS
#include "tessera/Propagation/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

class RegionPreparer {
public:
  LogicalResult run(FunctionOpInterface func);

private:
  LogicalResult inlineCalls(Block &block);
  LogicalResult inlineCall(CallOpInterface call);
  void dropShardings(Operation *op);
  void remarkOnDropped(Operation *op, StringRef what);

  SymbolTableCollection symbols;
  /// The functions whose bodies are being inlined into each other.
  SmallVector<FunctionOpInterface> active;
  /// True once the dropped shardings have been reported.
  bool isReported = false;
};

} // namespace

/// Puts the callee's body before the call, and inlines what that calls.
LogicalResult RegionPreparer::inlineCall(CallOpInterface call) {
  auto callee = dyn_cast_or_null<FunctionOpInterface>(
      call.resolveCallableInTable(&symbols));
  if (!callee || !llvm::hasSingleElement(callee.getFunctionBody()))
    return call->emitOpError("expects a callee in this module with a body of "
                             "one block where it is in a region");
  if (llvm::is_contained(active, callee))
    return call->emitOpError("expects calls that end, but @")
           << callee.getName() << " calls itself";
  active.push_back(callee);
  llvm::scope_exit leave([&] { active.pop_back(); });
  IRMapping mapping;
  Block &body = callee.getFunctionBody().front();
  mapping.map(body.getArguments(), call.getArgOperands());
  OpBuilder builder(call);
  SmallVector<Operation *> calls;
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping)->walk([&](CallOpInterface inner) {
      calls.push_back(inner);
    });
  for (auto [result, value] :
       llvm::zip(call->getResults(), body.getTerminator()->getOperands()))
    result.replaceAllUsesWith(mapping.lookupOrDefault(value));
  call->erase();
  for (Operation *inner : calls)
    if (failed(inlineCall(cast<CallOpInterface>(inner))))
      return failure();
  return success();
}

void RegionPreparer::remarkOnDropped(Operation *op, StringRef what) {
  if (isReported)
    return;
  isReported = true;
  remark::missed(
      op->getLoc(),
      remark::RemarkOpts::name("ShardingInRegion").category("propagation"))
      << remark::add("{0} is dropped: {1}, in which it is, runs whole on every "
                     "device",
                     what.str(),
                     op->getParentOp()->getName().getStringRef().str());
}

void RegionPreparer::dropShardings(Operation *op) {
  if (op->removeAttr(dist::DistDialect::kShardingsAttr))
    remarkOnDropped(op, dist::DistDialect::kShardingsAttr);
  if (auto constraint = dyn_cast<dist::ConstraintOp>(op)) {
    remarkOnDropped(op, op->getName().getStringRef());
    constraint.getResult().replaceAllUsesWith(constraint.getInput());
    op->erase();
  } else if (isa<dist::GroupOp>(op)) {
    op->erase();
  }
}

LogicalResult RegionPreparer::run(FunctionOpInterface func) {
  SmallVector<Operation *> calls;
  SmallVector<Operation *> owners;
  for (Block *block : dist::getBlocks(func))
    for (Operation &op : *block)
      if (op.getNumRegions() != 0 &&
          op.getName().getDialectNamespace() !=
              dist::DistDialect::getDialectNamespace())
        owners.push_back(&op);
  active.assign(1, func);
  for (Operation *owner : owners) {
    owner->walk([&](CallOpInterface call) { calls.push_back(call); });
    for (Operation *call : calls)
      if (failed(inlineCall(cast<CallOpInterface>(call))))
        return failure();
    calls.clear();
    SmallVector<Operation *> inner;
    for (Region &region : owner->getRegions())
      region.walk([&](Operation *op) { inner.push_back(op); });
    llvm::for_each(inner, [&](Operation *op) { dropShardings(op); });
  }
  return success();
}

namespace {
struct PrepareRegionsPass
    : tessera::impl::PrepareRegionsPassBase<PrepareRegionsPass> {
  void runOnOperation() override {
    RegionPreparer preparer;
    for (auto func : getOperation().getOps<FunctionOpInterface>())
      if (!func.isExternal() && !func->hasAttr(dist::DistDialect::kLocalAttr) &&
          failed(preparer.run(func)))
        return signalPassFailure();
  }
};
} // namespace
