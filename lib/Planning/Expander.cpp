//===- Expander.cpp - Expands the nodes of a search -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Expander.h"
#include "tessera/Cost/SplitByMemory.h"
#include "tessera/Schedule/Generators.h"
#include <cmath>

using namespace tessera;
using namespace tessera::cost;

Expander::Expander(const Subject &subject, llvm::ArrayRef<ClusterSpec> clusters,
                   const LayoutSpace &space, const SearchOptions &options)
    : clusters(clusters), space(space), options(options) {
  for (const ClusterSpec &cluster : clusters)
    pricers.push_back(std::make_unique<PlanPricer>(subject, cluster));
}

Expander::~Expander() = default;

/// A shape with its layers priced.
struct Expander::Opened {
  uint32_t index;
  const LayoutShape *shape;
  const LayoutSetting *setting;
  cost::ExecutedPlan plan;
  Machine machine;
  PlanPricer *pricer;
  const PlanPricer::Layers *layers = nullptr;
  MeshKey mesh = {};
};

/// One of the pipelines of a shape.
struct Expander::Staged {
  /// The plan with the blocks of each chunk.
  cost::ExecutedPlan plan;
  StagedModel model;
  /// True if blocks are split by time: a plan that does not fit may be split
  /// otherwise.
  bool isByTime = false;

  /// Returns a lower bound of the step of a plan with this pipeline, for any
  /// split.
  double leastSeconds(const Plan &plan, double pipelined) const {
    return (isByTime ? 1 - kFasterSplit : 1) *
           model.price(plan, pipelined).total;
  }
};

Expander::Staged Expander::stage(const Opened &opened,
                                 const PipelineChoice &pipeline) const {
  auto &pipelines = opened.pricer->getPipelines();
  const PricedModel &model = opened.layers->model;
  cost::ExecutedPlan plan = opened.plan;
  LayoutSpace::apply(plan, pipeline);
  bool isByTime = isSplitByTime(plan);
  plan.stageLayers =
      llvm::cantFail(splitByTime(model, plan, opened.machine, pipelines))
          .stageLayers;
  auto staged =
      llvm::cantFail(StagedModel::make(model, plan, opened.machine, pipelines));
  return {std::move(plan), std::move(staged), isByTime};
}

std::optional<Expander::Opened> Expander::open(uint32_t index,
                                               Expansion &result) {
  const LayoutShape &shape = space.getShapes()[index];
  const LayoutSetting &setting = space.getSettings()[shape.setting];
  cost::ExecutedPlan plan = space.makePlan(shape);
  Machine machine(clusters[setting.cluster], plan, plan.execution());
  PlanPricer &pricer = *pricers[setting.cluster];
  size_t before = pricer.numPricedModels();
  auto layers = pricer.getLayers(plan, machine);
  if (!layers) {
    llvm::consumeError(layers.takeError());
    result.counts.invalid += space.countLayouts(shape);
    return std::nullopt;
  }
  result.counts.shapes += pricer.numPricedModels() - before;
  MeshKey mesh = meshOf(plan, setting.cluster);
  return Opened{index,   &shape,  &setting, std::move(plan), std::move(machine),
                &pricer, *layers, mesh};
}

FoundPlan Expander::makeFound(const Opened &opened, double seconds,
                              double bytes) const {
  FoundPlan found;
  found.cluster = opened.setting->cluster;
  found.capacity = found.limit = opened.machine.device.memoryBytes;
  found.bytes = bytes;
  found.setPrice(seconds, opened.setting->tokens(), opened.setting->gpus,
                 options.priceOf(found.cluster));
  return found;
}

/// Returns the layers with all sequences of a step in one micro-batch.
const LayerBounds *Expander::findBounds(const LayoutShape &shape,
                                        bool context) {
  auto [it, isNew] = bounds.try_emplace(
      Key{shape.setting, shape.tp, context ? shape.cp : 1,
          context ? shape.cpMethod.kind : 0,
          context ? shape.cpMethod.headDevices : 0, shape.ep, shape.etp,
          shape.sp, int64_t(shape.recompute), shape.keepGathered});
  if (!isNew)
    return it->second.get();
  const LayoutSetting &setting = space.getSettings()[shape.setting];
  cost::ExecutedPlan plan = space.makePlan(shape);
  plan.cp = context ? shape.cp : 1;
  plan.dp = setting.gpus / plan.tp / plan.cp;
  plan.pp = 1;
  plan.zero = 0;
  plan.microBatch = setting.globalBatch;
  plan.microBatches = 1;
  PlanPricer &pricer = *pricers[setting.cluster];
  // Micro-batches have at least this many tokens, and experts get whole rows.
  Subject subject = pricer.getSubject();
  subject.experts.leastTokens = plan.seq / plan.cp;
  auto work = subject.readLayers(pricer.getReader(), plan);
  if (!work) {
    llvm::consumeError(work.takeError());
    return nullptr;
  }
  Machine machine(clusters[setting.cluster], plan, plan.execution());
  it->second = std::make_unique<LayerBounds>(*work, machine);
  return it->second.get();
}

double Expander::valueOf(const LayoutSetting &setting, double seconds) const {
  FoundPlan found;
  found.setPrice(seconds, setting.tokens(), setting.gpus,
                 options.priceOf(setting.cluster));
  return options.objective == SearchObjective::Time ? found.time
                                                    : found.dollars;
}

/// Returns whether some schedules overlap forwards with backwards, and whether
/// others do not.
static std::pair<bool, bool> findPairs(const LayoutSpace &space,
                                       const LayoutShape &shape) {
  std::pair<bool, bool> found(false, false);
  for (const PipelineChoice &pipeline : space.getPipelines(shape))
    (shape.pp > 1 && schedule::overlapsPairs(pipeline.schedule)
         ? found.first
         : found.second) = true;
  return found;
}

/// Returns a lower bound of the steps of a shape, from layers that do at least
/// its work; 0 if there is none. Without the context axis, experts may get no
/// row from a part of a sequence, so there is no bound for them.
double Expander::sketchSeconds(const LayoutShape &shape, bool context) {
  const LayoutSetting &setting = space.getSettings()[shape.setting];
  if (!context && pricers[setting.cluster]->getSubject().sparse)
    return 0;
  const LayerBounds *layers = findBounds(shape, context);
  if (!layers)
    return 0;
  Layout layout;
  layout.pp = shape.pp;
  layout.microBatches = shape.microBatches;
  double share = double(shape.microBatch) / double(setting.globalBatch) /
                 (context ? 1 : shape.cp);
  auto [pairs, alone] = findPairs(space, shape);
  return (1 + stragglerShare(setting.gpus)) *
         layers->leastStepSeconds(layout, share, pairs, alone);
}

double Expander::boundShape(uint32_t index) {
  const LayoutShape &shape = space.getShapes()[index];
  return valueOf(space.getSettings()[shape.setting],
                 sketchSeconds(shape, /*context=*/true));
}

void Expander::sketch(Node node, Expansion &result) {
  const LayoutShape &shape = space.getShapes()[node.shape];
  const LayoutSetting &setting = space.getSettings()[shape.setting];
  bool context = node.level == Level::Axes ||
                 pricers[setting.cluster]->getSubject().sparse.has_value();
  double seconds = sketchSeconds(shape, context);
  bool isLast = context || shape.cp == 1 || seconds == 0;
  node.level = isLast ? Level::Sequence : Level::Axes;
  node.bound = std::max(node.bound, valueOf(setting, seconds));
  result.children.push_back(node);
}

Expansion Expander::expand(const Node &node, const Incumbents &known) {
  Expansion result;
  if (node.level < Level::Sequence) {
    sketch(node, result);
    return result;
  }
  std::optional<Opened> opened = open(node.shape, result);
  if (!opened)
    return result;
  if (node.level == Level::Sequence)
    bound(*opened, node, result);
  else if (node.level == Level::Layers)
    branch(*opened, node, known, result);
  else
    price(*opened, space.getPipelines(*opened->shape)[node.pipeline],
          node.pipeline, &known, result);
  return result;
}

/// Bounds the layouts of a shape by its layers.
void Expander::bound(const Opened &opened, Node node, Expansion &result) {
  auto [pairs, alone] = findPairs(space, *opened.shape);
  double seconds = leastStepSeconds(opened.layers->model, opened.plan,
                                    opened.machine, pairs, alone);
  node.bound = std::max(node.bound, valueOf(*opened.setting, seconds));
  node.level = Level::Layers;
  result.children.push_back(node);
}

/// Returns the highest ZeRO stage of a shape.
static int highestZero(const LayoutSpace &space, const LayoutShape &shape) {
  int highest = 0;
  for (const ZeroChoice &zero : space.getZeros(shape, PipelineChoice()))
    highest = std::max<int>(highest, zero.zero);
  return highest;
}

/// Bounds each pipeline of a shape by its chunks.
void Expander::branch(const Opened &opened, const Node &node,
                      const Incumbents &known, Expansion &result) {
  const LayoutShape &shape = *opened.shape;
  double bytes = opened.layers->memory.leastBytes(
      opened.layers->model.layers, opened.plan, opened.plan.execution(),
      highestZero(space, shape));
  if (bytes > (1 + options.nearMiss) * opened.machine.device.memoryBytes) {
    result.counts.tooLarge += space.countLayouts(shape);
    return;
  }
  for (auto [index, pipeline] : llvm::enumerate(space.getPipelines(shape))) {
    llvm::ArrayRef<ZeroChoice> zeros = space.getZeros(shape, pipeline);
    Staged staged = stage(opened, pipeline);
    double pipelined = staged.model.leastSeconds(), seconds = INFINITY;
    for (const ZeroChoice &zero : zeros) {
      LayoutSpace::apply(staged.plan, zero);
      seconds = std::min(seconds, staged.leastSeconds(staged.plan, pipelined));
    }
    FoundPlan least = makeFound(opened, seconds, bytes);
    if (known.exclude(least, opened.mesh))
      result.counts.bounded += int64_t(zeros.size());
    else
      result.children.push_back({std::max(node.bound, known.valueOf(least)),
                                 opened.index, int32_t(index), Level::Chunks});
  }
}

double Expander::peakBytes(const Opened &opened, const StagedModel &staged,
                           const Plan &plan) {
  auto stages = opened.layers->memory.stages(
      staged.getChunks(), plan, staged.getExecution(), staged.getPipeline(),
      opened.pricer->getPipelines());
  double offloaded = 0;
  for (const StageMemory &stage : stages)
    offloaded = std::max(offloaded, stage.offloaded);
  const HostModel &host = opened.machine.host;
  if (offloaded >
      (plan.offload == Offload::NVMe ? host.diskBytes : host.memoryBytes))
    return INFINITY;
  return stages[fullestStage(stages)].bytes.total();
}

/// Returns stages that fit and take as long as a given split by time that does
/// not fit; none if there are none.
std::optional<StagedModel> Expander::fitStages(const Opened &opened,
                                               const StagedModel &byTime,
                                               const Plan &plan, double limit) {
  auto &pipelines = opened.pricer->getPipelines();
  const PlanPricer::Layers &layers = *opened.layers;
  std::optional<Plan> fitting =
      splitByMemory(layers.model, layers.memory, byTime, plan, opened.machine,
                    pipelines, limit);
  if (!fitting)
    return std::nullopt;
  return llvm::cantFail(StagedModel::make(layers.model, std::move(*fitting),
                                          opened.machine, pipelines));
}

/// Prices the layouts of a pipeline that fit; all of them without `known`.
void Expander::price(const Opened &opened, const PipelineChoice &pipeline,
                     size_t index, const Incumbents *known, Expansion &result) {
  Staged byTime = stage(opened, pipeline);
  double least = byTime.model.leastSeconds();
  std::optional<double> pipelined;
  auto zeros = space.getZeros(*opened.shape, pipeline);
  for (auto [way, zero] : llvm::enumerate(zeros)) {
    cost::ExecutedPlan plan = byTime.plan;
    LayoutSpace::apply(plan, zero);
    FoundPlan found =
        makeFound(opened, byTime.leastSeconds(plan, least), /*bytes=*/0);
    bool isNearMiss = known && !known->excludeNearMiss(found);
    if (known && !isNearMiss && known->exclude(found, opened.mesh)) {
      ++result.counts.bounded;
      continue;
    }
    found.bytes = peakBytes(opened, byTime.model, plan);
    found.order = uint64_t(opened.index) << 32 | index << 16 | way;
    found.limit = getMemoryLimit(plan, clusters[found.cluster], options.fit);
    std::optional<StagedModel> fitting;
    if (byTime.isByTime && !found.fits())
      fitting = fitStages(opened, byTime.model, plan, found.limit);
    if (fitting) {
      plan.stageLayers = fitting->getPlan().stageLayers;
      found.bytes = peakBytes(opened, *fitting, plan);
    }
    found.plan = plan;
    bool isNear = found.bytes <= (1 + options.nearMiss) * found.limit;
    isNearMiss &= isNear;
    if (known && !found.fits() && !isNearMiss) {
      ++result.counts.tooLarge;
      continue;
    }
    if (known && found.fits() && known->exclude(found, opened.mesh)) {
      ++result.counts.bounded;
      continue;
    }
    auto &pipelines = opened.pricer->getPipelines();
    if (!pipelined && !fitting)
      pipelined = byTime.model.pipelineSeconds(pipelines);
    double seconds =
        fitting
            ? fitting->price(plan, fitting->pipelineSeconds(pipelines)).total
            : byTime.model.price(plan, *pipelined).total;
    FoundPlan priced = makeFound(opened, seconds, found.bytes);
    priced.order = found.order;
    priced.plan = plan;
    priced.limit = found.limit;
    ++result.counts.priced;
    result.counts.fit += priced.fits();
    if (priced.fits())
      result.found.push_back(priced);
    else if (isNear)
      result.nearMisses.push_back(priced);
  }
}

Expansion Expander::priceAll(uint32_t shape) {
  Expansion result;
  std::optional<Opened> opened = open(shape, result);
  if (!opened)
    return result;
  for (auto [index, pipeline] :
       llvm::enumerate(space.getPipelines(*opened->shape)))
    price(*opened, pipeline, index, /*known=*/nullptr, result);
  return result;
}

std::optional<double> Expander::leastBytes(uint32_t shape) {
  Expansion result;
  std::optional<Opened> opened = open(shape, result);
  if (!opened)
    return std::nullopt;
  return opened->layers->memory.leastBytes(
      opened->layers->model.layers, opened->plan, opened->plan.execution(),
      highestZero(space, *opened->shape));
}

FoundPlan Expander::findSmallest(uint32_t shape) {
  Expansion result;
  Opened opened = *open(shape, result);
  FoundPlan smallest;
  smallest.bytes = INFINITY;
  for (auto [index, pipeline] :
       llvm::enumerate(space.getPipelines(*opened.shape))) {
    auto [plan, staged, isByTime] = stage(opened, pipeline);
    auto zeros = space.getZeros(*opened.shape, pipeline);
    for (auto [way, zero] : llvm::enumerate(zeros)) {
      LayoutSpace::apply(plan, zero);
      double bytes = peakBytes(opened, staged, plan);
      if (bytes >= smallest.bytes)
        continue;
      double seconds = staged.price(plan, staged.leastSeconds()).total;
      smallest = makeFound(opened, seconds, bytes);
      smallest.plan = plan;
      smallest.order = uint64_t(shape) << 32 | index << 16 | way;
    }
  }
  return smallest;
}

std::optional<LayoutBounds> Expander::measure(uint32_t index, size_t pipeline,
                                              size_t zero) {
  Expansion result;
  std::optional<Opened> opened = open(index, result);
  if (!opened)
    return std::nullopt;
  const LayoutShape &shape = *opened->shape;
  auto [pairs, alone] = findPairs(space, shape);
  PipelineChoice choice = space.getPipelines(shape)[pipeline];
  Staged byTime = stage(*opened, choice);
  const StagedModel &staged = byTime.model;
  cost::ExecutedPlan plan = byTime.plan;
  LayoutSpace::apply(plan, space.getZeros(shape, choice)[zero]);
  LayoutBounds bounds;
  bounds.axes = sketchSeconds(shape, /*context=*/false);
  bounds.sequence = sketchSeconds(shape, /*context=*/true);
  bounds.layers = leastStepSeconds(opened->layers->model, opened->plan,
                                   opened->machine, pairs, alone);
  bounds.chunks =
      std::max(bounds.layers, byTime.leastSeconds(plan, staged.leastSeconds()));
  bounds.bytes = *leastBytes(index);
  auto price = [&](const StagedModel &model) {
    double pipelined = model.pipelineSeconds(opened->pricer->getPipelines());
    return makeFound(*opened, model.price(plan, pipelined).total,
                     peakBytes(*opened, model, plan));
  };
  bounds.priced = price(staged);
  if (byTime.isByTime && !bounds.priced.fits())
    if (auto fitting = fitStages(*opened, staged, plan, bounds.priced.limit)) {
      plan.stageLayers = fitting->getPlan().stageLayers;
      bounds.priced = price(*fitting);
    }
  bounds.priced.plan = plan;
  bounds.priced.order = uint64_t(index) << 32 | pipeline << 16 | zero;
  return bounds;
}
