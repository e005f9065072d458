//===- InlineCalls.cpp - Inlines the function calls of a step -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/RT/RT.h"
#include "tessera/Kernels/Passes.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SetVector.h"

namespace tessera {
#define GEN_PASS_DEF_INLINECALLSPASS
#include "tessera/Kernels/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

class Inliner {
public:
  explicit Inliner(ModuleOp module) : module(module) {}
  LogicalResult run();

private:
  LogicalResult inlineCall(func::CallOp call);
  LogicalResult inlineAll(Operation *op);

  ModuleOp module;
  SymbolTableCollection symbols;
  llvm::SetVector<func::FuncOp> callees;
  /// The functions whose bodies are being inlined into each other.
  SmallVector<func::FuncOp> active;
};

} // namespace

/// Puts the callee's body, without calls, before the call.
LogicalResult Inliner::inlineCall(func::CallOp call) {
  auto callee =
      symbols.lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
  if (!callee || callee.isExternal() ||
      !llvm::hasSingleElement(callee.getBody()))
    return call.emitError("expects a callee in this module with a body of one "
                          "block but got @")
           << call.getCallee();
  if (llvm::is_contained(active, callee))
    return call.emitError("expects calls that end but got @")
           << call.getCallee() << ", which calls itself";
  active.push_back(callee);
  llvm::scope_exit leave([&] { active.pop_back(); });
  if (failed(inlineAll(callee)))
    return failure();
  callees.insert(callee);
  IRMapping mapping;
  Block &body = callee.front();
  mapping.map(body.getArguments(), call.getOperands());
  OpBuilder builder(call);
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  for (auto [result, value] :
       llvm::zip(call.getResults(), body.getTerminator()->getOperands()))
    result.replaceAllUsesWith(mapping.lookupOrDefault(value));
  call.erase();
  return success();
}

LogicalResult Inliner::inlineAll(Operation *op) {
  SmallVector<func::CallOp> calls;
  op->walk([&](func::CallOp call) { calls.push_back(call); });
  for (func::CallOp call : calls)
    if (failed(inlineCall(call)))
      return failure();
  return success();
}

LogicalResult Inliner::run() {
  for (auto func : module.getOps<func::FuncOp>()) {
    active.assign(1, func);
    if (failed(inlineAll(func)))
      return failure();
  }
  // All callees have been inlined into their callers.
  for (func::FuncOp callee : callees)
    callee.erase();
  return success();
}

namespace {
struct InlineCallsPass : tessera::impl::InlineCallsPassBase<InlineCallsPass> {
  void runOnOperation() override {
    if (failed(Inliner(getOperation()).run()))
      signalPassFailure();
  }
};
} // namespace
