//===- LayoutSearch.cpp - The best layouts of a space ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Planning/LayoutSearch.h"
#include "Incumbents.h"
#include "tessera/Schedule/Generators.h"
#include "llvm/ADT/Hashing.h"
#include <cmath>
#include <memory>
#include <queue>
#include <thread>

using namespace tessera;
using namespace tessera::cost;

SearchCounts &SearchCounts::operator+=(const SearchCounts &o) {
  layouts += o.layouts;
  invalid += o.invalid;
  bounded += o.bounded;
  tooLarge += o.tooLarge;
  priced += o.priced;
  fit += o.fit;
  shapes += o.shapes;
  return *this;
}

namespace {

/// Layouts that are decided together: those of a shape, or of one of its
/// pipelines.
struct Node {
  /// Of any of its layouts, in what is minimized.
  double bound = 0;
  uint32_t shape = 0;
  /// -1: all of the shape.
  int32_t pipeline = -1;
  /// The bound is that of the layers, as they are priced.
  bool isPriced = false;

  /// True if `o` comes first.
  bool operator<(const Node &o) const {
    return std::tie(bound, shape, pipeline) >
           std::tie(o.bound, o.shape, o.pipeline);
  }
};

/// What became of a node.
struct Expansion {
  SearchCounts counts;
  std::vector<Node> children;
  std::vector<FoundPlan> found, nearMisses;
};

/// What one thread prices with.
class Expander {
public:
  Expander(const Subject &subject, llvm::ArrayRef<ClusterSpec> clusters,
           const LayoutSpace &space, const SearchOptions &options)
      : clusters(clusters), space(space), options(options) {
    for (const ClusterSpec &cluster : clusters)
      pricers.push_back(std::make_unique<PlanPricer>(subject, cluster));
  }

  Expansion expand(const Node &node, const Incumbents &known);
  /// Prices all layouts of a shape.
  Expansion priceAll(uint32_t shape);
  /// The bytes of a shape's layouts, at least; none if it cannot be.
  std::optional<double> leastBytes(uint32_t shape);
  /// The layout of a shape that needs the least memory.
  FoundPlan findSmallest(uint32_t shape);

private:
  struct Opened;
  struct Staged;
  std::optional<Opened> open(uint32_t shape, Expansion &result);
  void bound(const Opened &opened, Node node, Expansion &result);
  void branch(const Opened &opened, const Incumbents &known,
              Expansion &result);
  void price(const Opened &opened, const PipelineChoice &pipeline,
             size_t index, const Incumbents *known, Expansion &result);
  Staged stage(const Opened &opened, const PipelineChoice &pipeline) const;
  FoundPlan makeFound(const Opened &opened, double seconds, double bytes) const;
  double peakBytes(const Opened &opened, const StagedModel &staged,
                   const Plan &plan);

  llvm::ArrayRef<ClusterSpec> clusters;
  const LayoutSpace &space;
  const SearchOptions &options;
  std::vector<std::unique_ptr<PlanPricer>> pricers;
};

/// A shape with its layers priced.
struct Expander::Opened {
  uint32_t index;
  const LayoutShape *shape;
  const LayoutSetting *setting;
  Plan plan;
  Machine machine;
  PlanPricer *pricer;
  const PlanPricer::Layers *layers = nullptr;
  MeshKey mesh = {};
};

/// One of its pipelines.
struct Expander::Staged {
  /// With the blocks of each chunk.
  Plan plan;
  StagedModel model;
};

Expander::Staged Expander::stage(const Opened &opened,
                                 const PipelineChoice &pipeline) const {
  auto &pipelines = opened.pricer->getPipelines();
  const PricedModel &model = opened.layers->model;
  Plan plan = opened.plan;
  LayoutSpace::apply(plan, pipeline);
  plan = llvm::cantFail(splitByTime(model, plan, opened.machine, pipelines));
  return {plan, llvm::cantFail(StagedModel::make(model, plan, opened.machine,
                                                 pipelines))};
}

std::optional<Expander::Opened> Expander::open(uint32_t index,
                                               Expansion &result) {
  const LayoutShape &shape = space.getShapes()[index];
  const LayoutSetting &setting = space.getSettings()[shape.setting];
  Plan plan = space.makePlan(shape);
  Machine machine(clusters[setting.cluster], plan);
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
  found.capacity = opened.machine.device.memoryBytes;
  found.seconds = seconds;
  found.bytes = bytes;
  found.time = seconds / double(opened.setting->globalBatch);
  double price = found.cluster < options.prices.size()
                     ? options.prices[found.cluster]
                     : 1;
  found.dollars = found.time * double(opened.setting->gpus) * price / 3600;
  return found;
}

Expansion Expander::expand(const Node &node, const Incumbents &known) {
  Expansion result;
  std::optional<Opened> opened = open(node.shape, result);
  if (!opened)
    return result;
  if (!node.isPriced)
    bound(*opened, node, result);
  else if (node.pipeline < 0)
    branch(*opened, known, result);
  else
    price(*opened, space.getPipelines(*opened->shape)[node.pipeline],
          node.pipeline, &known, result);
  return result;
}

/// Bounds the layouts of a shape by its layers.
void Expander::bound(const Opened &opened, Node node, Expansion &result) {
  bool pairs = false, alone = false;
  for (const PipelineChoice &pipeline : space.getPipelines(*opened.shape))
    (schedule::overlapsPairs(pipeline.schedule) && opened.shape->pp > 1
         ? pairs
         : alone) = true;
  double seconds = leastStepSeconds(opened.layers->model, opened.plan,
                                    opened.machine, pairs, alone);
  FoundPlan least = makeFound(opened, seconds, 0);
  node.bound =
      options.objective == SearchObjective::Time ? least.time : least.dollars;
  node.isPriced = true;
  result.children.push_back(node);
}

/// The highest stage of ZeRO of a shape.
static int highestZero(const LayoutSpace &space, const LayoutShape &shape) {
  int highest = 0;
  for (const ZeroChoice &zero : space.getZeros(shape, PipelineChoice()))
    highest = std::max<int>(highest, zero.zero);
  return highest;
}

/// Bounds each pipeline of a shape by its chunks.
void Expander::branch(const Opened &opened, const Incumbents &known,
                      Expansion &result) {
  const LayoutShape &shape = *opened.shape;
  double bytes = opened.layers->memory.leastBytes(
      opened.layers->model.layers, opened.plan, highestZero(space, shape));
  if (bytes > (1 + options.nearMiss) * opened.machine.device.memoryBytes) {
    result.counts.tooLarge += space.countLayouts(shape);
    return;
  }
  for (auto [index, pipeline] : llvm::enumerate(space.getPipelines(shape))) {
    llvm::ArrayRef<ZeroChoice> zeros = space.getZeros(shape, pipeline);
    auto [plan, staged] = stage(opened, pipeline);
    double pipelined = staged.leastSeconds(), seconds = INFINITY;
    for (const ZeroChoice &zero : zeros) {
      LayoutSpace::apply(plan, zero);
      seconds = std::min(seconds, staged.price(plan, pipelined).total);
    }
    FoundPlan least = makeFound(opened, seconds, bytes);
    if (known.exclude(least, opened.mesh))
      result.counts.bounded += int64_t(zeros.size());
    else
      result.children.push_back(
          {known.valueOf(least), opened.index, int32_t(index), true});
  }
}

double Expander::peakBytes(const Opened &opened, const StagedModel &staged,
                           const Plan &plan) {
  auto stages = opened.layers->memory.stages(staged.getChunks(), plan,
                                             opened.pricer->getPipelines());
  return stages[fullestStage(stages)].bytes.total();
}

/// Prices the layouts of a pipeline: those that fit, and without `known` all.
void Expander::price(const Opened &opened, const PipelineChoice &pipeline,
                     size_t index, const Incumbents *known, Expansion &result) {
  auto [plan, staged] = stage(opened, pipeline);
  double least = staged.leastSeconds();
  std::optional<double> pipelined;
  auto zeros = space.getZeros(*opened.shape, pipeline);
  for (auto [way, zero] : llvm::enumerate(zeros)) {
    LayoutSpace::apply(plan, zero);
    FoundPlan found =
        makeFound(opened, staged.price(plan, least).total, /*bytes=*/0);
    bool isNearMiss = known && !known->excludeNearMiss(found);
    if (known && !isNearMiss && known->exclude(found, opened.mesh)) {
      ++result.counts.bounded;
      continue;
    }
    found.bytes = peakBytes(opened, staged, plan);
    found.order = uint64_t(opened.index) << 32 | index << 16 | way;
    found.plan = plan;
    isNearMiss &= found.bytes <= (1 + options.nearMiss) * found.capacity;
    if (known && !found.fits() && !isNearMiss) {
      ++result.counts.tooLarge;
      continue;
    }
    if (known && found.fits() && known->exclude(found, opened.mesh)) {
      ++result.counts.bounded;
      continue;
    }
    if (!pipelined)
      pipelined = staged.pipelineSeconds(opened.pricer->getPipelines());
    FoundPlan priced = makeFound(opened, staged.price(plan, *pipelined).total,
                                 found.bytes);
    priced.order = found.order;
    priced.plan = plan;
    ++result.counts.priced;
    result.counts.fit += priced.fits();
    (priced.fits() ? result.found : result.nearMisses).push_back(priced);
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
  return opened->layers->memory.leastBytes(opened->layers->model.layers,
                                           opened->plan,
                                           highestZero(space, *opened->shape));
}

FoundPlan Expander::findSmallest(uint32_t shape) {
  Expansion result;
  Opened opened = *open(shape, result);
  FoundPlan smallest;
  smallest.bytes = INFINITY;
  for (auto [index, pipeline] :
       llvm::enumerate(space.getPipelines(*opened.shape))) {
    auto [plan, staged] = stage(opened, pipeline);
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

/// Nodes of a batch: enough for two threads, few enough that what is found in
/// one still decides on most others.
constexpr size_t kBatch = 128;

class Search {
public:
  Search(const Subject &subject, llvm::ArrayRef<ClusterSpec> clusters,
         const LayoutSpace &space, const SearchOptions &options)
      : space(space), options(options), known(options) {
    for (unsigned i = 0; i < std::max(1u, options.threads); ++i)
      expanders.push_back(
          std::make_unique<Expander>(subject, clusters, space, options));
    result.counts.invalid = space.numInvalid();
    result.counts.layouts = space.numLayouts();
  }

  SearchResult run();
  SearchResult runAll();

private:
  std::vector<Node> takeBatch();
  std::vector<Expansion> expandBatch(const std::vector<Node> &batch);
  void merge(Expansion &expansion);
  int64_t countLayouts(const Node &node) const;
  size_t expanderOf(uint32_t shape) const;
  void findSmallest();
  void finish();

  const LayoutSpace &space;
  const SearchOptions &options;
  std::vector<std::unique_ptr<Expander>> expanders;
  Incumbents known;
  std::priority_queue<Node> queue;
  SearchResult result;
};

int64_t Search::countLayouts(const Node &node) const {
  const LayoutShape &shape = space.getShapes()[node.shape];
  if (node.pipeline < 0)
    return space.countLayouts(shape);
  return int64_t(
      space.getZeros(shape, space.getPipelines(shape)[node.pipeline]).size());
}

/// The nodes that come first. One that is not worth its turn is counted; from
/// where none is, all are.
std::vector<Node> Search::takeBatch() {
  std::vector<Node> batch;
  while (!queue.empty() && batch.size() < kBatch) {
    Node node = queue.top();
    queue.pop();
    if (known.excludeFrom(node.bound))
      result.counts.bounded += countLayouts(node);
    else
      batch.push_back(node);
  }
  return batch;
}

/// Shapes with the same graphs are priced by the same thread.
size_t Search::expanderOf(uint32_t index) const {
  const LayoutShape &shape = space.getShapes()[index];
  return llvm::hash_combine(shape.tp, shape.cp, shape.sp, shape.ep,
                            shape.gathers) %
         expanders.size();
}

std::vector<Expansion> Search::expandBatch(const std::vector<Node> &batch) {
  std::vector<Expansion> expansions(batch.size());
  auto work = [&](size_t thread) {
    for (size_t i = 0; i < batch.size(); ++i)
      if (expanderOf(batch[i].shape) == thread)
        expansions[i] = expanders[thread]->expand(batch[i], known);
  };
  std::vector<std::thread> threads;
  for (size_t thread = 1; thread < expanders.size(); ++thread)
    threads.emplace_back(work, thread);
  work(0);
  for (std::thread &thread : threads)
    thread.join();
  return expansions;
}

void Search::merge(Expansion &expansion) {
  result.counts += expansion.counts;
  for (const FoundPlan &found : expansion.found)
    known.offer(found);
  for (const FoundPlan &found : expansion.nearMisses)
    known.offerNearMiss(found);
  for (const Node &child : expansion.children)
    queue.push(child);
}

/// The plan that needs the least memory, shapes in the order of their bounds.
void Search::findSmallest() {
  std::vector<std::pair<double, uint32_t>> order;
  Expander &expander = *expanders[0];
  for (uint32_t shape = 0; shape < space.getShapes().size(); ++shape)
    if (std::optional<double> bytes = expander.leastBytes(shape))
      order.push_back({*bytes, shape});
  llvm::sort(order);
  for (auto [bytes, shape] : order) {
    if (result.smallest && bytes >= result.smallest->bytes)
      break;
    FoundPlan found = expander.findSmallest(shape);
    if (!result.smallest || found.bytes < result.smallest->bytes)
      result.smallest = found;
  }
}

void Search::finish() {
  known.fill(result);
  const FoundPlan *best = known.getBest();
  if (!best)
    return findSmallest();
  result.bound = known.valueOf(*best);
  if (!queue.empty())
    result.bound = std::min(result.bound, queue.top().bound);
  result.gap = 1 - result.bound / known.valueOf(*best);
}

SearchResult Search::run() {
  for (uint32_t shape = 0; shape < space.getShapes().size(); ++shape)
    queue.push({0, shape, -1, false});
  while (!queue.empty()) {
    if (options.progress &&
        !options.progress({result.counts, known.getBest()})) {
      result.stopped = true;
      break;
    }
    for (Expansion &expansion : expandBatch(takeBatch()))
      merge(expansion);
  }
  finish();
  return std::move(result);
}

SearchResult Search::runAll() {
  for (uint32_t shape = 0; shape < space.getShapes().size(); ++shape) {
    Expansion expansion = expanders[0]->priceAll(shape);
    merge(expansion);
  }
  finish();
  return std::move(result);
}

} // namespace

SearchResult tessera::searchLayouts(const Subject &subject,
                                    llvm::ArrayRef<ClusterSpec> clusters,
                                    const LayoutSpace &space,
                                    const SearchOptions &options) {
  return Search(subject, clusters, space, options).run();
}

SearchResult tessera::priceAllLayouts(const Subject &subject,
                                      llvm::ArrayRef<ClusterSpec> clusters,
                                      const LayoutSpace &space,
                                      const SearchOptions &options) {
  return Search(subject, clusters, space, options).runAll();
}
