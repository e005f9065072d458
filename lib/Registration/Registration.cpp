//===- Registration.cpp - Everything that a tool registers ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Registration/Registration.h"
#include "PhasePipelines.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tessera/Codegen/ConvertGPUToNVVM.h"
#include "tessera/Codegen/Passes.h"
#include "tessera/CollectiveLists/Passes.h"
#include "tessera/Collectives/Passes.h"
#include "tessera/Conversion/Passes.h"
#include "tessera/Experts/Passes.h"
#include "tessera/Fusion/Passes.h"
#include "tessera/Interfaces/DifferentiableOpInterface.h"
#include "tessera/Interfaces/Passes.h"
#include "tessera/Kernels/Passes.h"
#include "tessera/Memory/Passes.h"
#include "tessera/Partition/Passes.h"
#include "tessera/Phases/ImportPipeline.h"
#include "tessera/Proof/Passes.h"
#include "tessera/Propagation/Passes.h"
#include "tessera/Raise/Passes.h"
#include "tessera/Recompute/Passes.h"
#include "tessera/Rings/Passes.h"
#include "tessera/ShardingSearch/Passes.h"
#include "tessera/SplitReductions/Passes.h"
#include "tessera/StableHLO/Passes.h"
#include "tessera/Stages/Passes.h"
#include "tessera/Training/Passes.h"

using namespace mlir;

void tessera::registerDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect,
                  math::MathDialect, scf::SCFDialect, tensor::TensorDialect,
                  dist::DistDialect, nn::NNDialect, rt::RTDialect>();
  registerUpstreamShardingRules(registry);
  registerUpstreamGradients(registry);
  registerConversionInterfaces(registry);
}

void tessera::registerPasses() {
  registerInterfacesPasses();
  registerPropagationPasses();
  registerPartitionPasses();
  registerTrainingPasses();
  registerCollectiveListsPasses();
  registerCollectivesPasses();
  registerProofPasses();
  registerRecomputePasses();
  registerStagesPasses();
  registerShardingSearchPasses();
  registerCodegenPasses();
  registerExpertsPasses();
  registerSplitReductionsPasses();
  registerFusionPasses();
  registerRingsPasses();
  registerKernelsPasses();
  registerConversionPasses();
  registerMemoryPasses();
  registerStableHLOPasses();
  registerRaisePasses();
  registerPhasePipelines();
  registerImportPipeline();
}
