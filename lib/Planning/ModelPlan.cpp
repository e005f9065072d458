//===- ModelPlan.cpp - From a model and a plan to priced work -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A layer's shapes on one device do not depend on how many devices share the
// batch: two stand for all of them, and links are laid on the true number when
// the work is priced.
//
//===----------------------------------------------------------------------===//

#include "tessera/Planning/ModelPlan.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "tessera/Cost/TrainingWork.h"
#include "tessera/Import/ModelBuilder.h"
#include "tessera/Interfaces/CostOpInterface.h"
#include "tessera/Interfaces/DifferentiableOpInterface.h"
#include "tessera/Interfaces/ShardingRuleOpInterface.h"
#include "tessera/Pipelines/Pipelines.h"
#include "tessera/Planning/ReadWork.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cost;

double tessera::modelFlopsPerToken(const ModelConfig &config, int64_t seq) {
  // Entries of matrices: norms and biases multiply nothing.
  double parameters = 0;
  for (const Parameter &parameter : listParameters(config))
    if (parameter.init == ParameterInit::Normal)
      parameters += double(parameter.numElements());
  // Tables that are only looked up; a tied one is the head's too.
  if (config.family == ModelFamily::GPT2)
    parameters -= double(config.maxPositions) * config.hidden;
  if (!config.tiedHead)
    parameters -= double(config.vocab) * config.hidden;
  return 6 * parameters +
         12.0 * config.layers * config.heads * config.headDim * double(seq);
}

WorkReader::WorkReader() {
  DialectRegistry registry;
  registry.insert<arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect,
                  math::MathDialect, tensor::TensorDialect, dist::DistDialect,
                  nn::NNDialect>();
  registerUpstreamShardingRules(registry);
  registerUpstreamGradients(registry);
  context =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
}

WorkReader::~WorkReader() = default;

/// The strategy under which a layer is partitioned, and its mesh.
static PipelineOptions partitionOptions(const Plan &plan) {
  bool data = plan.zero == 3 && plan.dp * plan.cp > 1;
  PipelineOptions options;
  options.forward = true;
  options.bucketBytes = 0; // each collective is a record of its own
  auto add = [&](std::string &list, const std::string &entry) {
    list += (list.empty() ? "" : ",") + entry;
  };
  if (data) {
    add(options.mesh, "dp=2");
    add(options.strategy, "dp");
  }
  if (plan.tp > 1) {
    add(options.mesh, "tp=" + std::to_string(plan.tp));
    add(options.strategy, "tp");
    if (plan.sp)
      add(options.strategy, "sp");
  }
  if (data)
    add(options.strategy, "zero=3");
  return options;
}

/// All that the shapes of a layer on one device depend on.
static std::string keyOf(const ModelConfig &config, const Plan &plan) {
  PipelineOptions options = partitionOptions(plan);
  return llvm::formatv(
      "{0} {1} {2} {3} {4} {5} {6} {7} {8}{9}{10} {11} {12} "
      "{13} {14} {15} {16} {17}",
      static_cast<int>(config.family), config.vocab, config.hidden,
      config.heads, config.kvHeads, config.headDim, config.ffn,
      static_cast<int>(config.activation), config.tiedHead,
      config.attentionBias, config.mlpBias, options.mesh, options.strategy,
      plan.microBatch, plan.seq / plan.cp, plan.precision == Precision::F32,
      plan.eager, plan.keepGathered);
}

llvm::Expected<OwningOpRef<ModuleOp>>
WorkReader::partition(const ModelConfig &config, const Plan &plan,
                      PipelineOptions options, Phase last, int64_t layers) {
  ModelOptions model;
  model.batch = plan.microBatch * (options.strategy.find("dp") == 0 ? 2 : 1);
  // Only in kernels do more micro-batches than one leave a trace.
  if (last == Phase::Kernels) {
    model.batch *= 2;
    options.training = "micro-batches=2";
  }
  model.seq = plan.seq / plan.cp;
  model.dtype =
      plan.precision == Precision::F32 ? ModelDType::F32 : ModelDType::BF16;
  model.layers = layers;
  model.train = true;
  if (llvm::Error error = checkOptions(applyOptions(config, model), model))
    return std::move(error);

  std::string message;
  ScopedDiagnosticHandler handler(context.get(), [&](Diagnostic &diagnostic) {
    if (message.empty() &&
        diagnostic.getSeverity() == DiagnosticSeverity::Error)
      message = diagnostic.str();
    return success();
  });
  auto fail = [&](StringRef what) {
    return createStringError(what + ": " + message);
  };
  OwningOpRef<ModuleOp> module = buildModel(*context, config, model);
  if (!module)
    return fail("the graph cannot be built");
  PassManager pm(context.get());
  pm.enableVerifier(false);
  // On one device the global program is the local one.
  if (!options.mesh.empty() || last == Phase::Kernels)
    buildPhasesUpTo(pm, last, options);
  else if (!options.forward)
    buildPhasesUpTo(pm, Phase::Train, options);
  if (failed(pm.run(*module)))
    return fail("the layer cannot be partitioned");
  return module;
}

llvm::Expected<std::vector<LayerWork>>
WorkReader::readForward(const ModelConfig &config, const Plan &plan) {
  std::string key = keyOf(config, plan);
  auto found = forward.find(key);
  if (found != forward.end())
    return found->second;
  auto module =
      partition(config, plan, partitionOptions(plan), Phase::Partition,
                /*layers=*/1);
  if (!module)
    return module.takeError();
  func::FuncOp func = *(*module)->getOps<func::FuncOp>().begin();
  return forward[key] = readForwardWork(func, plan.eager, plan.keepGathered);
}

llvm::Expected<LayerWork> WorkReader::readStep(const ModelConfig &config,
                                               const Plan &plan) {
  PipelineOptions options = partitionOptions(plan);
  options.forward = false;
  options.training = "micro-batches=1";
  auto module =
      partition(config, plan, options, Phase::Partition, config.layers);
  if (!module)
    return module.takeError();
  func::FuncOp func = *(*module)->getOps<func::FuncOp>().begin();
  std::optional<LayerWork> step = readStepWork(func);
  if (!step)
    return llvm::createStringError("the program has no training step");
  return std::move(*step);
}

llvm::Expected<double> WorkReader::readKernelBytes(const ModelConfig &config,
                                                   const Plan &plan) {
  PipelineOptions options = partitionOptions(plan);
  options.forward = false;
  auto module = partition(config, plan, options, Phase::Kernels, config.layers);
  if (!module)
    return module.takeError();
  double bytes = 0;
  // The one loop of the step is that over micro-batches.
  (*module)->walk([&](rt::KernelOp kernel) {
    if (!kernel->getParentOfType<LoopLikeOpInterface>())
      return;
    for (Type type : kernel->getOperandTypes())
      bytes += getTensorBytes(type);
    for (Type type : kernel->getResultTypes())
      bytes += getTensorBytes(type);
  });
  return bytes;
}

llvm::Expected<ModelWork> WorkReader::read(const ModelConfig &config,
                                           const Plan &plan) {
  llvm::Expected<std::vector<LayerWork>> layers = readForward(config, plan);
  if (!layers)
    return layers.takeError();
  ModelWork work;
  work.kinds = std::move(*layers);
  for (auto [index, layer] : llvm::enumerate(work.kinds)) {
    bool block = layer.name == "block";
    work.layers.push_back({index, block ? config.layers : 1});
    // One block stands for all, whatever its number.
    for (ParameterWork &parameter : layer.parameters)
      parameter.dataRanks = plan.dp * plan.cp;
    for (CommWork &comm : layer.comms)
      if (comm.parameter) {
        comm.axes = {"dp", "cp"};
        comm.ranks = plan.dp * plan.cp;
      }
  }
  // A tied table is stored where rows are looked up and where logits are made.
  if (config.tiedHead && plan.pp > 1)
    for (const ParameterWork &parameter : work.kinds.front().parameters)
      if (parameter.name == "wte")
        work.kinds.back().parameters.push_back(parameter);
  work.modelParameters = countParameters(config);
  work.modelFlopsPerToken = modelFlopsPerToken(config, plan.seq);
  buildTrainingWork(work, plan);
  return work;
}
