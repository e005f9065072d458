//===- SetTarget.cpp - Sets the target of a program -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/RT/RT.h"
#include "mlir/IR/Builders.h"
#include "tessera/Kernels/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_SETTARGETPASS
#include "tessera/Kernels/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using rt::RTDialect;

namespace {
struct SetTargetPass : tessera::impl::SetTargetPassBase<SetTargetPass> {
  using SetTargetPassBase::SetTargetPassBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::optional<rt::Target> parsed = rt::parseTarget(target);
    if (!parsed) {
      module.emitError("expects target host, cuda or cuda-emulated but got '")
          << target << "'";
      return signalPassFailure();
    }
    if (*parsed == rt::Target::Host)
      module->removeAttr(RTDialect::kTargetAttr);
    else
      module->setAttr(RTDialect::kTargetAttr,
                      Builder(module.getContext())
                          .getStringAttr(rt::stringifyTarget(*parsed)));
  }
};
} // namespace
