//===- ModelPlan.cpp - The priced work of a model and a plan --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A layer's shapes on one device do not depend on the number of devices that
// share the batch: graphs are built for two of them, and pricing uses the links
// of the true number.
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
#include "tessera/Phases/Phases.h"
#include "tessera/Planning/ReadWork.h"
#include "tessera/Training/TrainingPlan.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cost;

double tessera::modelFlopsPerToken(const ModelConfig &config, int64_t seq) {
  // Count only entries of matrices: norms and biases need no matmul.
  double parameters = 0;
  for (const Parameter &parameter : listParameters(config))
    if (parameter.init == ParameterInit::Normal)
      parameters += double(parameter.numElements());
  // Subtract tables that are only looked up; a tied one is also the head's.
  if (config.positionTable)
    parameters -= double(config.maxPositions) * config.hidden;
  if (!config.tiedHead)
    parameters -= double(config.vocab) * config.hidden;
  double keys = 0;
  for (int64_t i = 0; i < config.layers; ++i) {
    double window = std::min(config.windowOf(i).value_or(seq), seq);
    // A causal mask leaves half of seq keys, but seq is counted. So a window
    // counts twice the keys that it leaves.
    keys += 2 * window - window * window / double(seq);
  }
  return 6 * parameters + 12.0 * keys * config.heads * config.headDim;
}

WorkReader::WorkReader(bool scales) : scales(scales) {
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

LayerShape::LayerShape(const ModelConfig &config,
                       const cost::ExecutedPlan &plan)
    : model(config), gathersParameters(plan.zero == 3 && plan.dp * plan.cp > 1),
      tp(plan.tp), sp(plan.sp && plan.tp > 1), microBatch(plan.microBatch),
      seq(plan.seq / plan.cp), isF32(plan.precision == Precision::F32),
      eager(plan.eager), keepGathered(plan.keepGathered),
      padMultiple(plan.padMultiple) {}

bool LayerShape::operator==(const LayerShape &o) const {
  auto tie = [](const LayerShape &s) {
    return std::tie(s.gathersParameters, s.tp, s.sp, s.microBatch, s.seq,
                    s.isF32, s.eager, s.keepGathered, s.padMultiple, s.model);
  };
  return tie(*this) == tie(o);
}

/// Returns the options to partition a layer of this shape.
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
  options.padMultiple = shape.padMultiple;
  options.bucketBytes = 0; // Each collective is a record of its own.
  options.layout.mesh = getMesh(devices);
  options.layout.strategy = getStrategy(devices);
  return options;
}

llvm::Expected<OwningOpRef<ModuleOp>>
WorkReader::partition(const ModelConfig &config, const LayerShape &shape,
                      PipelineOptions options, Phase last, int64_t layers) {
  ModelOptions model;
  model.batch = shape.microBatch * (shape.gathersParameters ? 2 : 1);
  // Only in phase kernels does the number of micro-batches matter.
  if (last == Phase::Kernels) {
    model.batch *= 2;
    llvm::cantFail(options.layout.plan.set("micro-batches", "2"));
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
  // On one device the global program equals the local one, except for padding.
  if (options.layout.mesh || options.padMultiple > 0 || last == Phase::Kernels)
    buildPhasesUpTo(pm, last, options);
  else if (!options.forward)
    buildPhasesUpTo(pm, Phase::Train, options);
  if (failed(pm.run(*module)))
    return fail("the layer cannot be partitioned");
  return module;
}

//===----------------------------------------------------------------------===//
// Micro-batches
//===----------------------------------------------------------------------===//

/// The numbers of a record that depend on the micro-batch.
static auto numbersOf(OpWork &op) {
  return std::tie(op.flops, op.bytesRead, op.bytesWritten, op.parameterSum,
                  op.matmul.batch, op.matmul.m, op.matmul.n, op.matmul.k,
                  op.secondColumns);
}
static auto numbersOf(CommWork &comm) { return std::tie(comm.bytes); }
static auto numbersOf(SavedTensor &tensor) { return std::tie(tensor.bytes); }
static auto numbersOf(ParameterWork &parameter) {
  return std::tie(parameter.elements);
}
static auto numbersOf(LayerWork &layer) {
  return std::tie(layer.outputBytes, layer.modelFlops, layer.workspaceBytes);
}

static bool isSame(const OpWork &a, const OpWork &b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.kernels == b.kernels &&
         a.weight == b.weight && a.linear == b.linear &&
         a.attentionCore == b.attentionCore && a.name == b.name;
}
static bool isSame(const CommWork &a, const CommWork &b) {
  return a.kind == b.kind && a.axes == b.axes && a.parameter == b.parameter &&
         a.overlappable == b.overlappable;
}
template <typename T> static bool isSame(const T &a, const T &b) {
  return a.name == b.name;
}

template <typename TupleT, size_t... index>
static void moveAlong(TupleT to, TupleT one, TupleT two, int64_t steps,
                      std::index_sequence<index...>) {
  ((std::get<index>(to) =
        std::get<index>(one) +
        (std::get<index>(two) - std::get<index>(one)) * steps),
   ...);
}

/// Extrapolates the numbers of `record`, which equal those in `one`, linearly
/// through `two`.
template <typename RecordT>
static void moveAlong(RecordT &record, RecordT &one, RecordT &two,
                      int64_t steps) {
  auto to = numbersOf(record);
  moveAlong(to, numbersOf(one), numbersOf(two), steps,
            std::make_index_sequence<std::tuple_size_v<decltype(to)>>());
}

/// Extrapolates each record of a list. Returns false if the lists differ
/// otherwise.
template <typename RecordT>
static bool moveAll(std::vector<RecordT> &records, std::vector<RecordT> &one,
                    std::vector<RecordT> &two, int64_t steps) {
  if (one.size() != two.size())
    return false;
  for (size_t i = 0; i < one.size(); ++i) {
    if (!isSame(one[i], two[i]))
      return false;
    moveAlong(records[i], one[i], two[i], steps);
  }
  return true;
}

std::optional<std::vector<LayerWork>>
tessera::scaleMicroBatch(std::vector<LayerWork> one, std::vector<LayerWork> two,
                         int64_t size) {
  std::vector<LayerWork> layers = one;
  int64_t steps = size - 1;
  if (!moveAll(layers, one, two, steps))
    return std::nullopt;
  for (size_t i = 0; i < layers.size(); ++i)
    if (!moveAll(layers[i].ops, one[i].ops, two[i].ops, steps) ||
        !moveAll(layers[i].comms, one[i].comms, two[i].comms, steps) ||
        !moveAll(layers[i].saved, one[i].saved, two[i].saved, steps) ||
        !moveAll(layers[i].keptResults, one[i].keptResults, two[i].keptResults,
                 steps) ||
        !moveAll(layers[i].parameters, one[i].parameters, two[i].parameters,
                 steps))
      return std::nullopt;
  return layers;
}

//===----------------------------------------------------------------------===//
// Forward passes
//===----------------------------------------------------------------------===//

const WorkReader::Layers *WorkReader::find(const LayerShape &shape) const {
  for (const auto &[known, layers] : forward)
    if (known == shape)
      return &layers;
  return nullptr;
}

llvm::Error WorkReader::readGraph(const ModelConfig &config, LayerShape shape) {
  auto module = partition(config, shape, partitionOptions(shape),
                          Phase::Partition, /*layers=*/1);
  if (!module)
    return module.takeError();
  ++graphs;
  func::FuncOp func = *(*module)->getOps<func::FuncOp>().begin();
  // The kept tensors do not affect the graph.
  for (bool kept : {false, true}) {
    shape.keepGathered = kept;
    forward.emplace_back(shape, readForwardWork(func, shape.eager, kept));
  }
  return llvm::Error::success();
}

llvm::Expected<const WorkReader::Layers *>
WorkReader::readForward(const ModelConfig &config, const LayerShape &shape) {
  if (const Layers *known = find(shape))
    return known;
  if (scales && shape.microBatch > 2) {
    const Layers *read[2];
    for (int64_t size : {1, 2}) {
      LayerShape smaller = shape;
      smaller.microBatch = size;
      llvm::Expected<const Layers *> layers = readForward(config, smaller);
      if (!layers)
        return layers.takeError();
      read[size - 1] = *layers;
    }
    if (auto layers = scaleMicroBatch(*read[0], *read[1], shape.microBatch)) {
      forward.emplace_back(shape, std::move(*layers));
      return &forward.back().second;
    }
  }
  if (llvm::Error error = readGraph(config, shape))
    return std::move(error);
  return find(shape);
}

llvm::Expected<LayerWork> WorkReader::readStep(const ModelConfig &config,
                                               const cost::ExecutedPlan &plan) {
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

llvm::Expected<double>
WorkReader::readKernelBytes(const ModelConfig &config,
                            const cost::ExecutedPlan &plan) {
  LayerShape shape(config, plan);
  PipelineOptions options = partitionOptions(shape);
  options.forward = false;
  auto module =
      partition(config, shape, options, Phase::Kernels, config.layers);
  if (!module)
    return module.takeError();
  double bytes = 0;
  // The only loop of the step is over micro-batches.
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

/// Moves the FLOPs of `sum` by `share` towards `layer`, which has the same ops
/// with another mask.
static void addShare(LayerWork &sum, const LayerWork &layer, double share) {
  for (auto [to, from] : llvm::zip_equal(sum.ops, layer.ops))
    to.flops += share * (from.flops - to.flops);
}

llvm::Expected<WorkReader::Layers>
WorkReader::readMeanForward(const ModelConfig &config,
                            const cost::ExecutedPlan &plan) {
  int64_t windows = 0;
  for (int64_t i = 0; i < config.layers; ++i)
    windows += config.windowOf(i).has_value();
  ModelConfig windowed = config, full = config;
  windowed.windowLayers.clear();
  full.windowLayers.clear();
  full.window.reset();
  auto read = [&](const ModelConfig &one) {
    return readForward(one, LayerShape(one, plan));
  };
  llvm::Expected<const Layers *> layers = read(windows > 0 ? windowed : full);
  if (!layers)
    return layers.takeError();
  Layers mean = **layers;
  if (windows == 0 || windows == config.layers)
    return mean;
  llvm::Expected<const Layers *> others = read(full);
  if (!others)
    return others.takeError();
  double share = double(config.layers - windows) / double(config.layers);
  for (auto [layer, other] : llvm::zip_equal(mean, **others))
    addShare(layer, other, share);
  return mean;
}

llvm::Expected<ModelWork>
WorkReader::readLayers(const ModelConfig &config,
                       const cost::ExecutedPlan &plan) {
  llvm::Expected<Layers> layers = readMeanForward(config, plan);
  if (!layers)
    return layers.takeError();
  ModelWork work;
  work.kinds = std::move(*layers);
  for (auto [index, layer] : llvm::enumerate(work.kinds)) {
    bool block = layer.name == "block";
    work.layers.push_back({index, block ? double(config.layers) : 1});
    // One block represents all of them; if some have a window, it represents
    // their mean.
    for (CommWork &comm : layer.comms)
      if (comm.parameter) {
        comm.axes = {PlanAxis::DP, PlanAxis::CP};
        comm.ranks = plan.dp * plan.cp;
      }
  }
  // A tied table is stored on the stages of the embedding and of the head.
  if (config.tiedHead && plan.pp > 1)
    for (const ParameterWork &parameter : work.kinds.front().parameters)
      if (parameter.name == "wte")
        work.kinds.back().parameters.push_back(parameter);
  buildTrainingWork(work, plan, plan.execution());
  return work;
}

llvm::Expected<ModelWork> WorkReader::read(const ModelConfig &config,
                                           const cost::ExecutedPlan &plan) {
  llvm::Expected<ModelWork> work = readLayers(config, plan);
  if (!work)
    return work.takeError();
  work->modelParameters = countParameters(config);
  work->modelFlopsPerToken = modelFlopsPerToken(config, plan.seq);
  return work;
}
