//===- CheckPipelines.cpp - Checks pp ranks against each other ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Stages/Passes.h"
#include "tessera/Stages/PipelineProgram.h"
#include "tessera/Stages/VerifyPipeline.h"

namespace tessera {
#define GEN_PASS_DEF_CHECKPIPELINESPASS
#include "tessera/Stages/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {
struct CheckPipelinesPass
    : tessera::impl::CheckPipelinesPassBase<CheckPipelinesPass> {
  CheckPipelinesPass() = default;
  explicit CheckPipelinesPass(std::shared_ptr<ReferenceProgram> kept)
      : kept(std::move(kept)) {}

  /// The global function that a program computes; null if it is not available.
  func::FuncOp findReference(func::FuncOp function) {
    auto name = function->getAttrOfType<FlatSymbolRefAttr>(
        dist::DistDialect::kReferenceAttr);
    if (!name)
      return {};
    ModuleOp module = kept && kept->module ? *kept->module : getOperation();
    return module.lookupSymbol<func::FuncOp>(name.getValue());
  }

  void runOnOperation() override {
    llvm::SmallPtrSet<Attribute, 2> seen;
    SmallVector<func::FuncOp> functions(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp function : functions) {
      Attribute name = function->getAttr(dist::DistDialect::kReferenceAttr);
      if (!isPipelineFunction(function) || !seen.insert(name).second)
        continue;
      FailureOr<PipelineProgram> program = readPipelineProgram(function);
      if (failed(program))
        return signalPassFailure();
      func::FuncOp reference = findReference(function);
      if (reference && failed(verifyPipeline(*program, reference)))
        return signalPassFailure();
    }
  }

  std::shared_ptr<ReferenceProgram> kept;
};
} // namespace

std::unique_ptr<Pass>
tessera::createCheckPipelinesPass(std::shared_ptr<ReferenceProgram> reference) {
  return std::make_unique<CheckPipelinesPass>(std::move(reference));
}
