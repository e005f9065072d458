//===- CheckPipelines.cpp - Do all pp ranks fit each other? ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Stages/Passes.h"
#include "tessera/Stages/PipelineProgram.h"

namespace tessera {
#define GEN_PASS_DEF_CHECKPIPELINESPASS
#include "tessera/Stages/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {
struct CheckPipelinesPass
    : tessera::impl::CheckPipelinesPassBase<CheckPipelinesPass> {
  void runOnOperation() override {
    llvm::SmallPtrSet<Attribute, 2> seen;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      Attribute reference =
          function->getAttr(dist::DistDialect::kReferenceAttr);
      if (!isPipelineFunction(function) || !seen.insert(reference).second)
        continue;
      if (failed(readPipelineProgram(function)))
        return signalPassFailure();
    }
  }
};
} // namespace
