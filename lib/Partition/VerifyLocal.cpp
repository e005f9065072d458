//===- VerifyLocal.cpp - Checks the boundary of the phase partition -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "tessera/Partition/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_VERIFYLOCALPASS
#include "tessera/Partition/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// Checks an op of a local function.
static LogicalResult verifyOp(Operation *op) {
  if (isa<dist::ReshardOp, dist::ConstraintOp, dist::GroupOp>(op))
    return op->emitOpError("expects to be gone from a local function");
  if (op->hasAttr(dist::DistDialect::kShardingsAttr))
    return op->emitOpError("expects no dist.shardings in a local function");
  auto collective = dyn_cast<dist::CollectiveOpInterface>(op);
  if (collective && collective.getFromAttr())
    return op->emitOpError("expects a collective of the local form in a local "
                           "function but got one with shardings");
  for (Type type : op->getResultTypes())
    if (auto shaped = dyn_cast<ShapedType>(type))
      if (!shaped.hasStaticShape())
        return op->emitOpError("expects static shapes but got ") << type;
  return success();
}

/// Checks that arguments and results keep the attributes for the runtime.
static LogicalResult verifyBoundary(FunctionOpInterface func) {
  auto check = [&](Type type, DictionaryAttr attrs, Twine where) {
    if (!isa<RankedTensorType>(type) ||
        (attrs && attrs.contains(dist::DistDialect::kShardingAttr) &&
         attrs.contains(dist::DistDialect::kGlobalShapeAttr)))
      return success();
    return LogicalResult(func->emitError()
                         << where
                         << ": expects dist.sharding and "
                            "dist.global_shape in a local function");
  };
  for (auto [i, type] : llvm::enumerate(func.getArgumentTypes()))
    if (failed(check(type, func.getArgAttrDict(i), "argument " + Twine(i))))
      return failure();
  for (auto [i, type] : llvm::enumerate(func.getResultTypes()))
    if (failed(check(type, func.getResultAttrDict(i), "result " + Twine(i))))
      return failure();
  return success();
}

namespace {
struct VerifyLocalPass : tessera::impl::VerifyLocalPassBase<VerifyLocalPass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<FunctionOpInterface>()) {
      if (!func->hasAttr(dist::DistDialect::kLocalAttr))
        continue;
      WalkResult result = func->walk([](Operation *op) {
        return failed(verifyOp(op)) ? WalkResult::interrupt()
                                    : WalkResult::advance();
      });
      if (result.wasInterrupted() || failed(verifyBoundary(func)))
        return signalPassFailure();
    }
  }
};
} // namespace
