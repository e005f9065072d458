//===- Phases.cpp - Phases ----------------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Phases/Phases.h"
#include "FitRecompute.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "tessera/Codegen/Passes.h"
#include "tessera/CollectiveLists/Passes.h"
#include "tessera/Collectives/Passes.h"
#include "tessera/Conversion/Passes.h"
#include "tessera/Experts/Passes.h"
#include "tessera/Fusion/Passes.h"
#include "tessera/Kernels/Passes.h"
#include "tessera/Memory/Passes.h"
#include "tessera/Partition/Passes.h"
#include "tessera/Proof/Passes.h"
#include "tessera/Proof/VerifyPartition.h"
#include "tessera/Propagation/Passes.h"
#include "tessera/Raise/Passes.h"
#include "tessera/Rings/Passes.h"
#include "tessera/ShardingFile/Passes.h"
#include "tessera/ShardingSearch/Passes.h"
#include "tessera/SplitReductions/Passes.h"
#include "tessera/Stages/Passes.h"
#include "tessera/Training/Passes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// What each phase does
//===----------------------------------------------------------------------===//

static void buildPlan(OpPassManager &pm, const PipelineOptions &options) {
  GivenLayout layout = options.layout;
  layout.plan.plan.forward = options.forward;
  if (options.shardings)
    pm.addPass(createSeedShardingsPass(options.shardings, layout.strategy.pp));
  pm.addPass(createPlanTrainingPass(layout));
  if (layout.mesh || !layout.strategy.isNone())
    pm.addPass(createApplyStrategyPass(layout));
  if (options.shardingsOut)
    pm.addPass(createKeepStrategyPass(options.shardingsOut, layout.strategy));
  if (!options.cluster.empty()) {
    ApplyClusterPassOptions cluster;
    cluster.cluster = options.cluster;
    pm.addPass(createApplyClusterPass(cluster));
  }
  if (options.ordersSequence)
    pm.addPass(createOrderSequencePass());
  pm.addPass(createGatherLatentsPass());
}

static void buildTrain(OpPassManager &pm) {
  ExpandOpsPassOptions expansion;
  expansion.withoutGradient = true;
  pm.addPass(createExpandOpsPass(expansion));
  pm.addPass(createBuildTrainStepPass());
  pm.addPass(createEraseStopGradientsPass());
  pm.addPass(createSplitBatchPass());
  pm.addPass(createShardTrainingStatePass());
  buildPins(pm);
}

static void buildPropagate(OpPassManager &pm, const PipelineOptions &options) {
  if (options.shardingsOut)
    pm.addPass(createKeepSeedsPass(options.shardingsOut));
  buildPropagation(pm, [](OpPassManager &seeds) {
    seeds.addPass(createReplayDecisionsPass());
  });
  if (options.shardings)
    pm.addPass(createCheckShardingsPass(options.shardings));
  if (options.shardingsOut)
    pm.addPass(createWriteShardingFilePass(options.shardingsOut));
}

static void addCollectiveMatmuls(OpPassManager &pm,
                                 const PipelineOptions &options) {
  if (options.collectiveMatmul == CollectiveMatmul::Off)
    return;
  FormCollectiveMatmulPassOptions rings;
  rings.always = options.collectiveMatmul == CollectiveMatmul::On;
  pm.addPass(createFormCollectiveMatmulPass(rings));
}

static void buildKernels(OpPassManager &pm, const PipelineOptions &options);
static void buildSchedule(OpPassManager &pm, const PipelineOptions &options);

static void addBuckets(OpPassManager &pm, const PipelineOptions &options) {
  BucketCollectivesPassOptions buckets;
  buckets.maxBytes = options.bucketBytes;
  pm.addPass(createBucketCollectivesPass(buckets));
}

static void addStages(OpPassManager &pm, const PipelineOptions &options) {
  SplitStagesPassOptions stages;
  stages.bucketBytes = options.bucketBytes;
  pm.addPass(createSplitStagesPass(stages));
}

/// Adds the passes from a partitioned module to a planned arena.
static void addUpToArena(OpPassManager &pm, const PipelineOptions &options) {
  pm.addPass(createFormRingAttentionPass());
  addStages(pm, options);
  addCollectiveMatmuls(pm, options);
  addBuckets(pm, options);
  buildKernels(pm, options);
  buildSchedule(pm, options);
}

/// Decides which values the backward recomputes.
static void addRecompute(OpPassManager &pm, PipelineOptions options) {
  // Trials report nothing.
  options.collectiveReport.clear();
  pm.addPass(createFitRecomputePass(
      [options](OpPassManager &trial) { addUpToArena(trial, options); }));
}

/// Adds the report of collectives if it is requested after this phase.
static void reportAt(Phase phase, OpPassManager &pm,
                     const PipelineOptions &options) {
  if (options.collectiveReport.empty() || options.reportPhase != phase)
    return;
  ReportCollectivesPassOptions report;
  report.output = options.collectiveReport;
  report.command = options.command;
  pm.addPass(createReportCollectivesPass(report));
}

/// Sets the target of the options; none: the module keeps its own.
static void setTarget(OpPassManager &pm, const PipelineOptions &options) {
  if (options.target.empty())
    return;
  SetTargetPassOptions target;
  target.target = options.target;
  pm.addPass(createSetTargetPass(target));
}

static void buildPartition(OpPassManager &pm, const PipelineOptions &options) {
  auto reference = std::make_shared<ReferenceProgram>();
  PartitionerOptions partitioner = options;
  if (!options.pads())
    partitioner.padMultiple = 0;
  buildLocalProgram(pm, partitioner, reference);
  pm.addPass(createPackRowsPass());
  // The stages depend on the speed of the target's devices.
  setTarget(pm, options);
  addRecompute(pm, options);
  pm.addPass(createFormRingAttentionPass());
  addStages(pm, options);
  addCollectiveMatmuls(pm, options);
  addBuckets(pm, options);
  buildProof(pm, reference);
  pm.addPass(createCheckPipelinesPass(reference));
  buildBudget(pm, options);
  if (!options.collectiveReport.empty())
    pm.addPass(createCountPairsPass());
  reportAt(Phase::Partition, pm, options);
  if (options.keepReference)
    pm.addPass(createAddReferencePass(reference));
  pm.addPass(createUnwrapForeignPass());
}

static void buildKernels(OpPassManager &pm, const PipelineOptions &options) {
  setTarget(pm, options);
  pm.addPass(createDropReferencesPass());
  pm.addPass(createExpandOpsPass());
  pm.addPass(createInlineCallsPass());
  FormDispatchPassOptions dispatch;
  dispatch.dispatch = options.dispatch;
  pm.addNestedPass<func::FuncOp>(createFormDispatchPass(dispatch));
  pm.addPass(createExpandPipelinePass());
  pm.addPass(createListCollectivesPass());
  pm.addPass(createExpandExchangePass());
  pm.addNestedPass<func::FuncOp>(createLowerControlFlowPass());
  pm.addNestedPass<func::FuncOp>(createTensorizeBoundaryPass());
  pm.addNestedPass<func::FuncOp>(createReduceBoundaryPass());
  pm.addPass(createExpandRingAttentionPass());
  pm.addPass(createExpandOrderPass());
  pm.addPass(createExpandCollectiveMatmulPass());
  pm.addNestedPass<func::FuncOp>(createExpandBucketsPass());
  pm.addNestedPass<func::FuncOp>(createExpandAccumulatePass());
  pm.addNestedPass<func::FuncOp>(createFoldEmptyPass());
  pm.addNestedPass<func::FuncOp>(createWidenCollectivesPass());
  pm.addNestedPass<func::FuncOp>(createLowerExpertsPass());
  ConvertNNPassOptions conversion;
  conversion.widenF8 = options.widenF8;
  pm.addNestedPass<func::FuncOp>(createConvertNNPass(conversion));
  pm.addNestedPass<func::FuncOp>(createIsolateGenericsPass());
  pm.addNestedPass<func::FuncOp>(createFuseMatmulBetaPass());
  pm.addNestedPass<func::FuncOp>(createFuseElementwisePass());
  if (options.epilogues)
    pm.addNestedPass<func::FuncOp>(createFuseEpiloguesPass());
  pm.addNestedPass<func::FuncOp>(createSplitReductionsPass());
  pm.addPass(createOutlineKernelsPass());
  pm.addPass(createFuseHorizontallyPass());
  pm.addPass(createVerifyKernelsPass());
  pm.addPass(createCheckCollectivesPass());
}

static void buildSchedule(OpPassManager &pm, const PipelineOptions &options) {
  if (options.overlap) {
    pm.addPass(createPairTasksPass());
    OverlapCollectivesPassOptions overlap;
    overlap.slackBytes = options.overlapBytes;
    pm.addPass(createOverlapCollectivesPass(overlap));
  }
  reportAt(Phase::Schedule, pm, options);
  pm.addNestedPass<func::FuncOp>(createStartCollectivesPass());
  pm.addPass(createCheckDeadlockPass());
  PlanArenaPassOptions memory;
  memory.reuse = options.memory != MemoryUse::Apart;
  memory.check = options.memory == MemoryUse::Watched;
  pm.addNestedPass<func::FuncOp>(createPlanArenaPass(memory));
  PlanPipelinePassOptions pipelines;
  pipelines.reuse = memory.reuse;
  pipelines.check = memory.check;
  pm.addPass(createPlanPipelinePass(pipelines));
  pm.addPass(createCheckCollectivesPass());
}

static void buildRT(OpPassManager &pm, const PipelineOptions &options) {
  pm.addPass(createCheckCollectivesPass());
  pm.addPass(createFenceStatePass());
  LowerToRTPassOptions lowering;
  lowering.program = options.program;
  pm.addPass(createLowerToRTPass(lowering));
}

static void buildLLVM(OpPassManager &pm) {
  pm.addPass(createConvertGPUToNVVMPass());
  pm.addPass(createEmulateGPUPass());
  pm.addPass(createConvertRTToLLVMPass());
}

void tessera::buildPhase(OpPassManager &pm, Phase phase,
                         const PipelineOptions &options) {
  switch (phase) {
  case Phase::Input:
    buildInput(pm);
    pm.addPass(createBoundIdsPass());
    return;
  case Phase::Plan:
    return buildPlan(pm, options);
  case Phase::Train:
    return buildTrain(pm);
  case Phase::Propagate:
    return buildPropagate(pm, options);
  case Phase::Partition:
    return buildPartition(pm, options);
  case Phase::Kernels:
    return buildKernels(pm, options);
  case Phase::Schedule:
    return buildSchedule(pm, options);
  case Phase::RT:
    return buildRT(pm, options);
  case Phase::LLVM:
    return buildLLVM(pm);
  }
}

LogicalResult tessera::runPhase(ModuleOp module, Phase phase,
                                const PipelineOptions &options) {
  PassManager pm(module.getContext());
  buildPhase(pm, phase, options);
  pm.enableVerifier(options.verifyEach);
  return success(succeeded(pm.run(module)) &&
                 (options.verifyEach || succeeded(mlir::verify(module))));
}

void tessera::buildPhasesUpTo(OpPassManager &pm, Phase last,
                              const PipelineOptions &options) {
  for (int phase = 0; phase <= static_cast<int>(last); ++phase)
    buildPhase(pm, static_cast<Phase>(phase), options);
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral phaseNames[] = {
    "input",   "plan",     "train", "propagate", "partition",
    "kernels", "schedule", "rt",    "llvm"};

llvm::StringRef tessera::stringifyPhase(Phase phase) {
  return phaseNames[static_cast<int>(phase)];
}

std::optional<Phase> tessera::parsePhase(llvm::StringRef name) {
  for (auto [i, phaseName] : llvm::enumerate(phaseNames))
    if (name == phaseName)
      return static_cast<Phase>(i);
  return std::nullopt;
}

std::string tessera::listPhases() {
  return llvm::join(std::begin(phaseNames), std::end(phaseNames), ", ");
}
