//===- LinalgPipeline.cpp - From a local program to linalg ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Phases/LinalgPipeline.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "tessera/Collectives/Passes.h"
#include "tessera/Kernels/Passes.h"
#include "tessera/Linalg/Passes.h"
#include "tessera/Proof/Passes.h"
#include "tessera/Propagation/Passes.h"
#include "tessera/Rings/Passes.h"

using namespace mlir;
using namespace tessera;

void tessera::buildToLinalg(OpPassManager &pm) {
  pm.addPass(createDropReferencesPass());
  pm.addPass(createExpandOpsPass());
  pm.addPass(createExpandRingAttentionPass());
  pm.addPass(createExpandOrderPass());
  pm.addPass(createExpandCollectiveMatmulPass());
  pm.addNestedPass<func::FuncOp>(createExpandBucketsPass());
  pm.addNestedPass<func::FuncOp>(createExpandAccumulatePass());
  pm.addPass(createNNToLinalgPass());
  pm.addNestedPass<func::FuncOp>(createCSEPass());
}

void tessera::registerToLinalgPipeline() {
  PassPipelineRegistration<>(
      "tessera-to-linalg",
      "From a local program to upstream's dialects and collectives",
      buildToLinalg);
}
