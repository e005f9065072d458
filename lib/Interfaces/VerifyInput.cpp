//===- VerifyInput.cpp - Checks the border behind the phase input ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tessera/Interfaces/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_VERIFYINPUTPASS
#include "tessera/Interfaces/Passes.h.inc"
} // namespace tessera

using namespace mlir;

/// Checks one list of types of an op or a function.
static LogicalResult verifyStatic(Operation *op, TypeRange types,
                                  StringRef what) {
  for (auto [i, type] : llvm::enumerate(types))
    if (auto shaped = dyn_cast<ShapedType>(type))
      if (!shaped.hasStaticShape())
        return op->emitError() << what << " " << i
                               << ": expects a static shape but got " << type;
  return success();
}

namespace {
struct VerifyInputPass : tessera::impl::VerifyInputPassBase<VerifyInputPass> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](Operation *op) {
      auto func = dyn_cast<FunctionOpInterface>(op);
      if (func && failed(verifyStatic(op, func.getArgumentTypes(), "argument")))
        return WalkResult::interrupt();
      return failed(verifyStatic(op, op->getResultTypes(), "result"))
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
