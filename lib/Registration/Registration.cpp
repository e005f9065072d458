//===- Registration.cpp - Everything that a tool registers ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Registration/Registration.h"
#include "PhasePipelines.h"
#include "dialects/RT/RT.h"
#include "tessera/Codegen/ConvertGPUToNVVM.h"
#include "tessera/Codegen/Passes.h"
#include "tessera/CollectiveLists/Passes.h"
#include "tessera/Collectives/Passes.h"
#include "tessera/Conversion/Passes.h"
#include "tessera/Experts/Passes.h"
#include "tessera/Fusion/Passes.h"
#include "tessera/Interfaces/DifferentiableOpInterface.h"
#include "tessera/Kernels/Passes.h"
#include "tessera/Linalg/Passes.h"
#include "tessera/Memory/Passes.h"
#include "tessera/Naming/Passes.h"
#include "tessera/Partitioner/Partitioner.h"
#include "tessera/Phases/ImportPipeline.h"
#include "tessera/Phases/LinalgPipeline.h"
#include "tessera/Raise/Passes.h"
#include "tessera/Recompute/Passes.h"
#include "tessera/Rings/Passes.h"
#include "tessera/Rings/RingSteps.h"
#include "tessera/ShardingSearch/Passes.h"
#include "tessera/SplitReductions/Passes.h"
#include "tessera/StableHLO/Passes.h"
#include "tessera/Stages/Passes.h"
#include "tessera/Training/Passes.h"

using namespace mlir;

void tessera::registerDialects(DialectRegistry &registry) {
  registerPartitionerDialects(registry);
  registry.insert<rt::RTDialect>();
  registerUpstreamGradients(registry);
  registerRingTransfers(registry);
  registerConversionInterfaces(registry);
}

void tessera::registerPasses() {
  registerPartitionerPasses();
  registerTrainingPasses();
  registerCollectiveListsPasses();
  registerCollectivesPasses();
  registerRecomputePasses();
  registerStagesPasses();
  registerShardingSearchPasses();
  registerCodegenPasses();
  registerExpertsPasses();
  registerSplitReductionsPasses();
  registerFusionPasses();
  registerRingsPasses();
  registerLinalgPasses();
  registerKernelsPasses();
  registerConversionPasses();
  registerMemoryPasses();
  registerStableHLOPasses();
  registerRaisePasses();
  registerNamingPasses();
  registerPhasePipelines();
  registerImportPipeline();
  registerToLinalgPipeline();
}
