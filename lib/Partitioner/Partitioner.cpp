//===- Partitioner.cpp - From seed shardings to a local program -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Partitioner/Partitioner.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/PassRegistry.h"
#include "tessera/Interfaces/Passes.h"
#include "tessera/LocalCollectives/Passes.h"
#include "tessera/Partition/Passes.h"
#include "tessera/Proof/Passes.h"
#include "tessera/Propagation/Passes.h"

using namespace mlir;
using namespace tessera;

void tessera::registerPartitionerDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect,
                  math::MathDialect, scf::SCFDialect, tensor::TensorDialect,
                  dist::DistDialect, nn::NNDialect>();
  registerUpstreamShardingRules(registry);
}

void tessera::registerPartitionerPasses() {
  registerInterfacesPasses();
  registerPropagationPasses();
  registerPartitionPasses();
  registerLocalCollectivesPasses();
  registerProofPasses();
  PassPipelineRegistration<>(
      "tessera-partitioner",
      "From a module with one mesh and seed shardings to the proven program of "
      "one device",
      [](OpPassManager &pm) { buildPartitioner(pm, {}); });
}

void tessera::buildInput(OpPassManager &pm) {
  pm.addPass(createVerifyInputPass());
  ExpandOpsPassOptions expansion;
  expansion.withoutRule = true;
  pm.addPass(createExpandOpsPass(expansion));
  pm.addPass(createWrapForeignPass());
  pm.addPass(createPrepareRegionsPass());
}

void tessera::buildPins(OpPassManager &pm) {
  pm.addPass(createPinContextPass());
  pm.addPass(createPinExpertsPass());
}

void tessera::buildPropagation(
    OpPassManager &pm, llvm::function_ref<void(OpPassManager &)> addSeeds) {
  pm.addPass(createPrepareRegionsPass());
  pm.addPass(createRaiseArgReductionsPass());
  if (addSeeds)
    addSeeds(pm);
  pm.addPass(createPropagateShardingsPass());
}

void tessera::buildBudget(OpPassManager &pm,
                          const PartitionerOptions &options) {
  CheckBudgetPassOptions budget;
  budget.maxBytes = options.maxBytes;
  budget.maxCollectives = options.maxCollectives;
  budget.noFullGather = options.noFullGather;
  pm.addPass(createCheckBudgetPass(budget));
}

void tessera::buildLocalProgram(OpPassManager &pm,
                                const PartitionerOptions &options,
                                std::shared_ptr<ReferenceProgram> reference) {
  pm.addPass(createKeepReferencePass(std::move(reference)));
  // On global types: plain reductions, and dimensions that divide.
  pm.addPass(createDecomposeReductionsPass());
  PadFactorsPassOptions padding;
  padding.multiple = options.padMultiple;
  pm.addPass(createPadFactorsPass(padding));
  // Insert a reshard where a use needs another sharding of a value.
  pm.addPass(createInsertReshardsPass());
  pm.addPass(createPlaceReductionsPass());
  pm.addPass(createMergeReshardsPass());
  pm.addPass(createReshardToCollectivesPass());
  buildBudget(pm, options);
  // From here on, the program of one device.
  pm.addPass(createGlobalToLocalPass());
  FuseCollectivesPassOptions fusion;
  fusion.sharedBytes = options.sharedBytes;
  pm.addPass(createFuseCollectivesPass(fusion));
}

void tessera::buildProof(OpPassManager &pm,
                         std::shared_ptr<ReferenceProgram> reference) {
  pm.addPass(createVerifyLocalPass());
  pm.addPass(createVerifyPartitionPass(std::move(reference)));
}

void tessera::buildPartitioner(OpPassManager &pm,
                               const PartitionerOptions &options) {
  auto reference = std::make_shared<ReferenceProgram>();
  pm.addPass(createExpectGlobalPass());
  buildInput(pm);
  buildPins(pm);
  buildPropagation(pm);
  buildLocalProgram(pm, options, reference);
  buildProof(pm, reference);
  buildBudget(pm, options);
  pm.addPass(createUnwrapForeignPass());
}
