//===- Phases.cpp - Phases and named pipelines -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Phases/Phases.h"
#include "ChooseShardings.h"
#include "FitRecompute.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassRegistry.h"
#include "tessera/Codegen/Passes.h"
#include "tessera/CollectiveLists/Passes.h"
#include "tessera/Collectives/Passes.h"
#include "tessera/Conversion/Passes.h"
#include "tessera/Fusion/Passes.h"
#include "tessera/Interfaces/Passes.h"
#include "tessera/Kernels/Passes.h"
#include "tessera/Memory/Passes.h"
#include "tessera/Partition/Passes.h"
#include "tessera/Proof/Passes.h"
#include "tessera/Proof/VerifyPartition.h"
#include "tessera/Propagation/Passes.h"
#include "tessera/Raise/Passes.h"
#include "tessera/Rings/Passes.h"
#include "tessera/ShardingSearch/Passes.h"
#include "tessera/SplitReductions/Passes.h"
#include "tessera/Stages/Passes.h"
#include "tessera/Support/Bytes.h"
#include "tessera/Support/Share.h"
#include "tessera/Training/Passes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// What each phase does
//===----------------------------------------------------------------------===//

static void addPlan(OpPassManager &pm, const PipelineOptions &options,
                    const Strategy &strategy) {
  GivenPlan given = options.plan;
  given.plan.forward = options.forward;
  pm.addPass(createPlanTrainingPass(given, options.mesh, strategy));
  if (options.mesh || !strategy.isNone())
    pm.addPass(createApplyStrategyPass(options.mesh, strategy));
  if (!options.cluster.empty()) {
    ApplyClusterPassOptions cluster;
    cluster.cluster = options.cluster;
    pm.addPass(createApplyClusterPass(cluster));
  }
  if (options.ordersSequence)
    pm.addPass(createOrderSequencePass());
}

static void addTrain(OpPassManager &pm, const Strategy &strategy) {
  pm.addPass(createBuildTrainStepPass());
  pm.addPass(createEraseStopGradientsPass());
  pm.addPass(createSplitBatchPass());
  ShardTrainingStatePassOptions state;
  state.freeState = strategy.isSearched;
  pm.addPass(createShardTrainingStatePass(state));
  pm.addPass(createPinContextPass());
  pm.addPass(createPinExpertsPass());
}

/// Returns the options with the mesh of a finished choice.
static PipelineOptions withChosenMesh(const PipelineOptions &options) {
  PipelineOptions chosen = options;
  if (options.choice->mesh)
    chosen.mesh = options.choice->mesh;
  return chosen;
}

/// Returns the strategy of a finished choice.
static Strategy getChosen(const PipelineOptions &options) {
  return options.choice->isMade ? options.choice->strategy : options.strategy;
}

static void buildPlan(OpPassManager &pm, const PipelineOptions &options) {
  if (!options.strategy.isSearched)
    return addPlan(pm, options, options.strategy);
  pm.addPass(createChooseShardingsPass(options));
  pm.addPass(createChosenPass([options](OpPassManager &chosen) {
    addPlan(chosen, withChosenMesh(options), getChosen(options));
  }));
}

static void buildTrain(OpPassManager &pm, const PipelineOptions &options) {
  if (!options.strategy.isSearched)
    return addTrain(pm, options.strategy);
  pm.addPass(createChosenPass([options](OpPassManager &chosen) {
    addTrain(chosen, getChosen(options));
  }));
}

/// Writes the chosen shardings; a phase on its own searches.
static void addSearch(OpPassManager &pm, const PipelineOptions &options) {
  const ShardingChoice &choice = *options.choice;
  if (choice.found.solution)
    return pm.addPass(createSearchShardingsPass(choice.found));
  SearchShardingsPassOptions search;
  if (choice.isMade && !choice.strategy.isSearched) {
    search.decisions = choice.decisions;
    if (!choice.decisions.empty())
      pm.addPass(createSearchShardingsPass(search));
    return;
  }
  search.dump = options.search.dump;
  search.memoryLimit = options.search.memoryLimit;
  search.decisions = options.decisions;
  pm.addPass(createSearchShardingsPass(search));
}

static void buildPropagate(OpPassManager &pm, const PipelineOptions &options) {
  pm.addPass(createPrepareRegionsPass());
  pm.addPass(createRaiseArgReductionsPass());
  if (options.strategy.isSearched)
    pm.addPass(createChosenPass(
        [options](OpPassManager &chosen) { addSearch(chosen, options); }));
  pm.addPass(createReplayDecisionsPass());
  pm.addPass(createPropagateShardingsPass());
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
  pm.addPass(createKeepReferencePass(reference));
  // On global types: plain reductions, and dimensions that divide.
  pm.addPass(createDecomposeReductionsPass());
  PadFactorsPassOptions padding;
  if (options.pads())
    padding.multiple = options.padMultiple;
  pm.addPass(createPadFactorsPass(padding));
  // Insert a reshard where a use needs another sharding of a value.
  pm.addPass(createInsertReshardsPass());
  pm.addPass(createPlaceReductionsPass());
  pm.addPass(createMergeReshardsPass());
  pm.addPass(createReshardToCollectivesPass());
  CheckBudgetPassOptions budget;
  budget.maxBytes = options.maxBytes;
  budget.maxCollectives = options.maxCollectives;
  budget.noFullGather = options.noFullGather;
  pm.addPass(createCheckBudgetPass(budget));
  // From here on, the program of one device.
  pm.addPass(createGlobalToLocalPass());
  FuseCollectivesPassOptions fusion;
  fusion.sharedBytes = options.sharedBytes;
  pm.addPass(createFuseCollectivesPass(fusion));
  // The stages depend on the speed of the target's devices.
  setTarget(pm, options);
  addRecompute(pm, options);
  pm.addPass(createFormRingAttentionPass());
  addStages(pm, options);
  addCollectiveMatmuls(pm, options);
  addBuckets(pm, options);
  pm.addPass(createVerifyLocalPass());
  pm.addPass(createVerifyPartitionPass(reference));
  pm.addPass(createCheckPipelinesPass(reference));
  pm.addPass(createCheckBudgetPass(budget));
  if (!options.collectiveReport.empty())
    pm.addPass(createCountPairsPass());
  reportAt(Phase::Partition, pm, options);
  if (options.keepReference)
    pm.addPass(createAddReferencePass(reference));
}

static void buildKernels(OpPassManager &pm, const PipelineOptions &options) {
  setTarget(pm, options);
  pm.addPass(createDropReferencesPass());
  pm.addPass(createInlineCallsPass());
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
    pm.addPass(createVerifyInputPass());
    pm.addPass(createPrepareRegionsPass());
    pm.addPass(createBoundIdsPass());
    return;
  case Phase::Plan:
    return buildPlan(pm, options);
  case Phase::Train:
    return buildTrain(pm, options);
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

llvm::Expected<int64_t> tessera::parseMemoryLimit(StringRef name,
                                                  StringRef text) {
  constexpr int64_t kMost = 100'000'000'000'000'000;
  std::optional<int64_t> bytes = parseBytes(text);
  if (!bytes || *bytes < 1 || *bytes > kMost)
    return llvm::createStringError(
        name + " expects bytes above 0, as 450MB, but got '" + text + "'");
  return *bytes;
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

using ErrorHandler = llvm::function_ref<LogicalResult(const Twine &)>;

/// Parses `mesh=dp=2,tp=2` and the other options of phase plan; returns none
/// for other words.
static std::optional<LogicalResult>
parsePlanOption(StringRef word, PipelineOptions &options, ErrorHandler error) {
  auto take = [&](auto parsed, auto &field) -> LogicalResult {
    if (!parsed)
      return error(llvm::toString(parsed.takeError()));
    field = std::move(*parsed);
    return success();
  };
  if (word.consume_front("mesh="))
    return take(parseMesh(word), options.mesh);
  if (word.consume_front("strategy="))
    return take(parseStrategy(word), options.strategy);
  if (word.consume_front("cluster="))
    return take(resolveShared("clusters", word, "cluster="), options.cluster);
  if (word.consume_front("ranks=")) {
    options.ranks = parseCount(word).value_or(0);
    if (options.ranks < 1)
      return error("ranks= expects a number of devices but got '" + word + "'");
    return success();
  }
  if (word.consume_front("memory-limit="))
    return take(parseMemoryLimit("memory-limit=", word), options.memoryLimit);
  if (word.consume_front("training=")) {
    if (llvm::Error found = options.plan.parse(word))
      return error(llvm::toString(std::move(found)));
    return success();
  }
  if (word != "forward")
    return std::nullopt;
  options.forward = true;
  return success();
}

/// Parses `partition mesh=dp=2,tp=2 strategy=dp,tp`.
static LogicalResult parseCompileTo(StringRef text, Phase &last,
                                    PipelineOptions &options,
                                    ErrorHandler error) {
  SmallVector<StringRef> words;
  text.split(words, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  bool hasPhase = false;
  for (StringRef word : words) {
    if (std::optional<LogicalResult> parsed =
            parsePlanOption(word, options, error)) {
      if (failed(*parsed))
        return failure();
    } else if (word.consume_front("target=")) {
      options.target = word.str();
    } else if (word.consume_front("pad=")) {
      std::optional<int64_t> multiple = parseCount(word);
      options.padMultiple = multiple.value_or(0);
      if (!multiple)
        return error("--compile-to expects an integer as pad but got '" + word +
                     "'");
    } else if (std::optional<Phase> phase = parsePhase(word)) {
      last = *phase;
      hasPhase = true;
    } else {
      return error("--compile-to expects a phase (" + listPhases() +
                   "), mesh=..., strategy=..., training=..., cluster=..., "
                   "ranks=..., memory-limit=..., target=..., pad=... or "
                   "forward but got '" +
                   word + "'");
    }
  }
  if (!hasPhase)
    return error("--compile-to expects a phase (" + listPhases() + ")");
  return success();
}

/// Parses `mesh=dp=2,tp=2 strategy=dp,tp training=lr=0.5`.
static LogicalResult parsePlanOptions(StringRef text, PipelineOptions &options,
                                      ErrorHandler error) {
  SmallVector<StringRef> words;
  text.split(words, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef word : words) {
    std::optional<LogicalResult> parsed = parsePlanOption(word, options, error);
    if (!parsed)
      return error("--tessera-plan expects mesh=..., strategy=..., "
                   "training=..., cluster=..., ranks=..., memory-limit=... or "
                   "forward but got '" +
                   word + "'");
    if (failed(*parsed))
      return failure();
  }
  return success();
}

void tessera::registerPipelines() {
  registerPassPipeline(
      "tessera-plan",
      "Phase plan: the mesh, seed shardings and the plan of training: "
      "\"mesh=dp=2,tp=2 strategy=dp,tp training=lr=0.5\"",
      [](OpPassManager &pm, StringRef text, ErrorHandler error) {
        PipelineOptions options;
        if (failed(parsePlanOptions(text, options, error)))
          return failure();
        buildPhase(pm, Phase::Plan, options);
        return success();
      },
      [](auto) {});
  for (int i = 0; i <= static_cast<int>(Phase::LLVM); ++i) {
    Phase phase = static_cast<Phase>(i);
    if (phase == Phase::Plan)
      continue;
    PassPipelineRegistration<>(
        ("tessera-" + phaseNames[i]).str(), ("Phase " + phaseNames[i]).str(),
        [phase](OpPassManager &pm) {
          // The input of a phase on its own comes from outside.
          if (phase == Phase::Train || phase == Phase::Propagate ||
              phase == Phase::Partition)
            pm.addPass(createVerifyInputPass());
          buildPhase(pm, phase, PipelineOptions());
        });
  }
  registerPassPipeline(
      "compile-to",
      "All phases up to one: \"partition mesh=dp=2,tp=2 strategy=dp,tp\"",
      [](OpPassManager &pm, StringRef text,
         llvm::function_ref<LogicalResult(const Twine &)> error) {
        Phase last = Phase::Input;
        PipelineOptions options;
        if (failed(parseCompileTo(text, last, options, error)))
          return failure();
        buildPhasesUpTo(pm, last, options);
        return success();
      },
      [](auto) {});
}
