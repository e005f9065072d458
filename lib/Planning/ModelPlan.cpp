//===- ModelPlan.cpp - From a model and a plan to priced work -------------===//
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
#include "tessera/Training/TrainingPlan.h"
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
  if (config.positionTable)
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

LayerShape::LayerShape(const ModelConfig &config, const Plan &plan)
    : model(config), gathersParameters(plan.zero == 3 && plan.dp * plan.cp > 1),
      tp(plan.tp), sp(plan.sp && plan.tp > 1), microBatch(plan.microBatch),
      seq(plan.seq / plan.cp), isF32(plan.precision == Precision::F32),
      eager(plan.eager), keepGathered(plan.keepGathered) {}

bool LayerShape::operator==(const LayerShape &o) const {
  auto tie = [](const LayerShape &s) {
    return std::tie(s.gathersParameters, s.tp, s.sp, s.microBatch, s.seq,
                    s.isF32, s.eager, s.keepGathered, s.model);
  };
  return tie(*this) == tie(o);
}

/// How a layer of this shape is partitioned.
static PipelineOptions partitionOptions(const LayerShape &shape) {
  Plan devices;
  devices.tp = shape.tp;
  devices.sp = shape.sp;
  if (shape.gathersParameters) {
    devices.dp = 2;
    devices.zero = 3;
  }
  PipelineOptions options;
  options.forward = true;
  options.bucketBytes = 0; // each collective is a record of its own
  options.mesh = getMesh(devices);
  options.strategy = getStrategy(devices);
  return options;
}

llvm::Expected<OwningOpRef<ModuleOp>>
WorkReader::partition(const ModelConfig &config, const LayerShape &shape,
                      PipelineOptions options, Phase last, int64_t layers) {
  ModelOptions model;
  model.batch = shape.microBatch * (shape.gathersParameters ? 2 : 1);
  // Only in kernels do more micro-batches than one leave a trace.
  if (last == Phase::Kernels) {
    model.batch *= 2;
    llvm::cantFail(options.plan.set("micro-batches", "2"));
  }
  model.seq = shape.seq;
  model.dtype = shape.isF32 ? ModelDType::F32 : ModelDType::BF16;
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
  if (options.mesh || last == Phase::Kernels)
    buildPhasesUpTo(pm, last, options);
  else if (!options.forward)
    buildPhasesUpTo(pm, Phase::Train, options);
  if (failed(pm.run(*module)))
    return fail("the layer cannot be partitioned");
  return module;
}

llvm::Expected<std::vector<LayerWork>>
WorkReader::readForward(const ModelConfig &config, const Plan &plan) {
  LayerShape shape(config, plan);
  auto *found = llvm::find_if(
      forward, [&](const auto &entry) { return entry.first == shape; });
  if (found != forward.end())
    return found->second;
  auto module = partition(config, shape, partitionOptions(shape),
                          Phase::Partition, /*layers=*/1);
  if (!module)
    return module.takeError();
  func::FuncOp func = *(*module)->getOps<func::FuncOp>().begin();
  forward.emplace_back(shape,
                       readForwardWork(func, plan.eager, plan.keepGathered));
  return forward.back().second;
}

llvm::Expected<LayerWork> WorkReader::readStep(const ModelConfig &config,
                                               const Plan &plan) {
  LayerShape shape(config, plan);
  PipelineOptions options = partitionOptions(shape);
  options.forward = false;
  auto module =
      partition(config, shape, options, Phase::Partition, config.layers);
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
  LayerShape shape(config, plan);
  PipelineOptions options = partitionOptions(shape);
  options.forward = false;
  auto module =
      partition(config, shape, options, Phase::Kernels, config.layers);
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
    work.layers.push_back({index, block ? double(config.layers) : 1});
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
