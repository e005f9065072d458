//===- TensorizeBoundary.cpp - Scalars at the boundary of a step ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs and outputs of a step are in memory, so scalars become tensors of rank
// 0.
//
//===----------------------------------------------------------------------===//

#include "ScalarTensors.h"
#include "dialects/RT/RT.h"
#include "tessera/Kernels/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_TENSORIZEBOUNDARYPASS
#include "tessera/Kernels/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {
struct TensorizeBoundaryPass
    : tessera::impl::TensorizeBoundaryPassBase<TensorizeBoundaryPass> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal() || func->hasAttr(rt::RTDialect::kKernelAttr))
      return;
    ImplicitLocOpBuilder b(func.getLoc(), func.getContext());
    b.setInsertionPointToStart(&func.front());
    for (BlockArgument argument : func.getArguments())
      if (argument.getType().isIntOrIndexOrFloat())
        passAsTensor(b, argument);
    Operation *terminator = func.front().getTerminator();
    b.setInsertionPoint(terminator);
    for (OpOperand &operand : terminator->getOpOperands())
      if (operand.get().getType().isIntOrIndexOrFloat())
        operand.set(storeScalar(b, operand.get()));
    func.setType(b.getFunctionType(func.front().getArgumentTypes(),
                                   terminator->getOperandTypes()));
  }

  static void passAsTensor(ImplicitLocOpBuilder &b, BlockArgument argument) {
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : argument.getUses())
      uses.push_back(&use);
    Type type = argument.getType();
    argument.setType(getTensorOfScalar(type));
    Value scalar = loadScalar(b, argument, type);
    for (OpOperand *use : uses)
      use->set(scalar);
  }
};
} // namespace
