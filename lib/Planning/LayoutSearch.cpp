//===- LayoutSearch.cpp - Searches the best layouts of a space ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Planning/LayoutSearch.h"
#include "Expander.h"
#include "llvm/ADT/Hashing.h"
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

/// Nodes per batch: enough for two threads, and few enough that the results of
/// one batch still exclude most others.
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
  void dive();
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

/// Takes the first nodes of the queue. Counts the layouts of nodes that cannot
/// be among the answers.
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

/// One thread prices all shapes with the same graphs.
size_t Search::expanderOf(uint32_t index) const {
  const LayoutShape &shape = space.getShapes()[index];
  return llvm::hash_combine(shape.tp, shape.cp, shape.sp, shape.ep, shape.etp,
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

/// Number of shapes for which a dive computes a bound, and the maximum number
/// that it opens.
constexpr size_t kSketched = 256, kOpened = 64;

/// Finds a plan that fits among some shapes, in the order of their bounds,
/// before the shapes of all layouts are bounded. The search finds this plan
/// again in its turn, and counts it then.
void Search::dive() {
  size_t count = space.getShapes().size();
  std::vector<Node> nodes;
  for (size_t i = 0; i < std::min(count, kSketched); ++i) {
    auto shape = uint32_t(i * count / std::min(count, kSketched));
    nodes.push_back({expanders[expanderOf(shape)]->boundShape(shape), shape, -1,
                     Level::Sequence});
  }
  llvm::sort(nodes, [](const Node &a, const Node &b) { return b < a; });
  if (nodes.size() > kOpened)
    nodes.resize(kOpened);
  for (const Node &node : nodes) {
    Expander &expander = *expanders[expanderOf(node.shape)];
    Expansion children =
        expander.expand({node.bound, node.shape, -1, Level::Layers}, known);
    if (children.children.empty())
      continue;
    // The first pipeline has the smallest bound.
    Node first =
        *std::max_element(children.children.begin(), children.children.end());
    for (const FoundPlan &found : expander.expand(first, known).found)
      known.offer(found);
    if (known.getBest())
      return;
  }
}

/// Finds the plan that needs the least memory; visits shapes in the order of
/// their bounds.
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
  if (!best && options.findsSmallest && !result.stopped)
    findSmallest();
  if (!best)
    return;
  result.bound = known.valueOf(*best);
  if (!queue.empty())
    result.bound = std::min(result.bound, queue.top().bound);
  result.gap = 1 - result.bound / known.valueOf(*best);
}

SearchResult Search::run() {
  for (uint32_t shape = 0; shape < space.getShapes().size(); ++shape)
    queue.push({0, shape, -1, Level::Listed});
  for (bool isFirst = true; !queue.empty(); isFirst = false) {
    if (options.progress &&
        !options.progress({result.counts, known.getBest()})) {
      result.stopped = true;
      break;
    }
    if (isFirst)
      dive();
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

struct LayoutProbe::Impl {
  Impl(const Subject &subject, llvm::ArrayRef<ClusterSpec> clusters,
       const LayoutSpace &space, const SearchOptions &options)
      : options(options), expander(subject, clusters, space, this->options) {}
  SearchOptions options;
  Expander expander;
};

LayoutProbe::LayoutProbe(const Subject &subject,
                         llvm::ArrayRef<ClusterSpec> clusters,
                         const LayoutSpace &space, const SearchOptions &options)
    : impl(new Impl(subject, clusters, space, options)) {}

LayoutProbe::~LayoutProbe() = default;

std::optional<LayoutBounds> LayoutProbe::measure(uint32_t shape,
                                                 size_t pipeline, size_t zero) {
  return impl->expander.measure(shape, pipeline, zero);
}

SearchResult tessera::searchLayouts(const Subject &subject,
                                    llvm::ArrayRef<ClusterSpec> clusters,
                                    const LayoutSpace &space,
                                    const SearchOptions &options) {
  return Search(subject, clusters, space, options).run();
}

SearchResult tessera::rankPlans(const Subject &subject,
                                const ClusterSpec &cluster,
                                llvm::ArrayRef<cost::ExecutedPlan> plans,
                                const SearchOptions &options) {
  PlanPricer pricer(subject, cluster);
  Incumbents known(options);
  SearchResult result;
  result.counts.layouts = int64_t(plans.size());
  for (auto [index, plan] : llvm::enumerate(plans)) {
    FoundPlan found;
    llvm::Expected<PlanPrice> price = pricer.price(plan, &found.plan);
    if (!price) {
      llvm::consumeError(price.takeError());
      ++result.counts.invalid;
      continue;
    }
    found.order = index;
    found.capacity = cluster.device.memoryBytes.value;
    found.limit = getMemoryLimit(plan, cluster, options.fit);
    found.bytes = price->peakBytes;
    found.setPrice(price->step.total, plan.tokens(), plan.gpus(),
                   options.priceOf(0));
    ++result.counts.priced;
    result.counts.fit += found.fits();
    if (found.fits())
      known.offer(found);
    else if (!result.smallest || found.bytes < result.smallest->bytes)
      result.smallest = found;
  }
  known.fill(result);
  if (!result.top.empty())
    result.bound = known.valueOf(result.top[0]);
  return result;
}

SearchResult tessera::priceAllLayouts(const Subject &subject,
                                      llvm::ArrayRef<ClusterSpec> clusters,
                                      const LayoutSpace &space,
                                      const SearchOptions &options) {
  return Search(subject, clusters, space, options).runAll();
}
