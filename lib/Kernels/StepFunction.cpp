//===- StepFunction.cpp - The step functions of a program -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Kernels/StepFunction.h"
#include "dialects/Dist/Dist.h"
#include "dialects/RT/RT.h"

using namespace mlir;
using namespace tessera;
using rt::RTDialect;

static IntegerAttr getPPRank(func::FuncOp func) {
  return func->getAttrOfType<IntegerAttr>(dist::DistDialect::kPPRankAttr);
}

SmallVector<func::FuncOp> tessera::getFunctionsOfStep(ModuleOp module) {
  SmallVector<func::FuncOp> functions;
  for (auto func : module.getOps<func::FuncOp>())
    if (!func.isExternal() && !func->hasAttr(RTDialect::kKernelAttr))
      functions.push_back(func);
  return functions;
}

FailureOr<SmallVector<func::FuncOp>>
tessera::getStepFunctions(ModuleOp module) {
  SmallVector<func::FuncOp> steps;
  for (func::FuncOp func : getFunctionsOfStep(module)) {
    if (func.isPrivate())
      continue;
    if (!steps.empty() && (!getPPRank(func) || !getPPRank(steps.front()))) {
      InFlightDiagnostic error =
          func.emitError("expects one public function but got a second, @")
          << func.getSymName();
      error.attachNote(steps.front().getLoc())
          << "the first, @" << steps.front().getSymName();
      return error;
    }
    steps.push_back(func);
  }
  if (steps.empty())
    return module.emitError("expects a public function with a body");
  if (!getPPRank(steps.front()))
    return steps;
  llvm::sort(steps, [](func::FuncOp lhs, func::FuncOp rhs) {
    return getPPRank(lhs).getInt() < getPPRank(rhs).getInt();
  });
  for (auto [rank, step] : llvm::enumerate(steps))
    if (getPPRank(step).getInt() != static_cast<int64_t>(rank))
      return step.emitError("expects a function for pp rank ")
             << rank << " but got one for " << getPPRank(step).getInt();
  return steps;
}
