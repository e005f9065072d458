//===- StepFunction.cpp - The function that a program runs ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Kernels/StepFunction.h"
#include "dialects/RT/RT.h"

using namespace mlir;
using namespace tessera;
using rt::RTDialect;

FailureOr<func::FuncOp> tessera::getStepFunction(ModuleOp module) {
  func::FuncOp step;
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.isExternal() || func.isPrivate() ||
        func->hasAttr(RTDialect::kKernelAttr))
      continue;
    if (step) {
      InFlightDiagnostic error =
          func.emitError("expects one public function but got a second, @")
          << func.getSymName();
      error.attachNote(step.getLoc()) << "the first, @" << step.getSymName();
      return error;
    }
    step = func;
  }
  if (!step)
    return module.emitError("expects a public function with a body");
  return step;
}
