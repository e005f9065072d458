//===- LayoutSearch.h - The best layouts of a space -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Best-first branch and bound (Lawler and Wood 1966) over a LayoutSpace: shapes
// are bounded by the time of their layers, pipelines by their chunks, and only
// what could still be among the answers is simulated. What it finds is what
// pricing every layout would find.
//
// Nodes are taken in batches of one size, and each is expanded by what was
// known before its batch: so the answer does not depend on threads.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLANNING_LAYOUTSEARCH_H
#define TESSERA_PLANNING_LAYOUTSEARCH_H

#include "tessera/Planning/LayoutSpace.h"
#include "tessera/Planning/PlanPricer.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <limits>
#include <memory>

namespace tessera {

/// What a search looks for: seconds of a token, all devices together, or
/// dollars.
enum class SearchObjective { Time, Dollars };

/// What is asked of a search.
struct SearchOptions {
  SearchObjective objective = SearchObjective::Time;
  /// The best plans, and the best meshes, each with its best plan.
  size_t top = 5;
  /// The Pareto front has plans up to so much slower than the best (0.1: a
  /// tenth); infinite: all of it; negative: none.
  double frontSlack = 0.1;
  /// Plans that need at most so much more than they may are near misses.
  double nearMiss = 0.1;
  /// The probability with which a plan must fit, from 0.5 on: at that it needs
  /// what a device has at most.
  double fit = 0.5;
  /// Only plans that take at most so many seconds a token are of interest.
  double mostTime = std::numeric_limits<double>::infinity();
  /// Where none fits, the plan that needs the least memory is searched.
  bool findsSmallest = true;
  unsigned threads = 1;
  /// Dollars of a device and hour, of each cluster; missing ones are 1.
  std::vector<double> prices;
  double priceOf(size_t cluster) const {
    return cluster < prices.size() ? prices[cluster] : 1;
  }
  /// Called now and then; false ends the search with what is known.
  llvm::function_ref<bool(const struct SearchProgress &)> progress;
};

/// A plan with its price.
struct FoundPlan {
  Plan plan;
  /// Index into the clusters.
  size_t cluster = 0;
  /// Of a step, of its fullest stage, and of a device.
  double seconds = 0, bytes = 0, capacity = 0;
  /// The bytes that it may need to fit (getMemoryLimit).
  double limit = 0;
  /// Seconds, and dollars, of a token.
  double time = 0, dollars = 0;
  /// Its place in the space.
  uint64_t order = 0;

  bool fits() const { return bytes <= limit; }
  /// Takes the seconds of a step of so many tokens on so many devices; `price`
  /// are dollars of a device and hour.
  void setPrice(double stepSeconds, double tokens, int64_t gpus, double price) {
    seconds = stepSeconds;
    time = seconds / tokens;
    dollars = time * double(gpus) * price / 3600;
  }
  /// Axes with more than one device.
  unsigned numAxes() const;
};

/// The bytes that a plan may be predicted to need so that those of a device
/// suffice with a probability, by what is new of it.
double getMemoryLimit(const Plan &plan, const ClusterSpec &cluster, double fit);

/// What became of the layouts; all but `fit` sum to `layouts`.
struct SearchCounts {
  int64_t layouts = 0;
  /// Contradict themselves or do not suit the model.
  int64_t invalid = 0;
  /// Cannot be among the answers, by their bounds.
  int64_t bounded = 0;
  /// Were found to need more memory than there is before they were priced.
  int64_t tooLarge = 0;
  int64_t priced = 0;
  /// Of `priced`.
  int64_t fit = 0;
  /// Layers that were priced.
  int64_t shapes = 0;

  SearchCounts &operator+=(const SearchCounts &o);
};

/// How far a search is.
struct SearchProgress {
  const SearchCounts &counts;
  /// Null: none yet.
  const FoundPlan *best;
};

/// The answers of a search.
struct SearchResult {
  SearchCounts counts;
  /// The best plans that fit, the best first; ties go to fewer axes, then to
  /// the first of the space.
  std::vector<FoundPlan> top;
  /// The best plan of each of the best meshes.
  std::vector<FoundPlan> meshes;
  /// Plans that no other one beats in time, memory and dollars, by time.
  std::vector<FoundPlan> front;
  /// Plans before the best one that lack little memory, by time.
  std::vector<FoundPlan> nearMisses;
  /// Where none fits, the plan that needs the least memory; none of a search
  /// that was stopped.
  std::optional<FoundPlan> smallest;
  /// No plan that fits is better than this (seconds or dollars of a token),
  /// and 1 - bound / best.
  double bound = 0, gap = 0;
  /// Ended before it was through.
  bool stopped = false;
};

/// What a search knows of one layout: bounds of its step in seconds, each of
/// more of the layout than the one before, a bound of its bytes, its price.
struct LayoutBounds {
  /// Of the layers of the largest micro-batch without a context axis, and with
  /// it (0 where there is no such bound), of its own layers, of its chunks.
  double axes = 0, sequence = 0, layers = 0, chunks = 0;
  double bytes = 0;
  FoundPlan priced;
};

/// Bounds and prices single layouts of a space, as a search would.
class LayoutProbe {
public:
  LayoutProbe(const Subject &subject, llvm::ArrayRef<ClusterSpec> clusters,
              const LayoutSpace &space, const SearchOptions &options = {});
  ~LayoutProbe();

  /// By the shape's index, the pipeline's and the ZeRO choice's among those of
  /// the shape. None if the graph cannot have the shape.
  std::optional<LayoutBounds> measure(uint32_t shape, size_t pipeline,
                                      size_t zero);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// Searches a space. The clusters are those of the space.
SearchResult searchLayouts(const Subject &subject,
                           llvm::ArrayRef<ClusterSpec> clusters,
                           const LayoutSpace &space,
                           const SearchOptions &options = {});

/// The answers among these plans on one cluster: all are priced. `invalid` are
/// those that contradict themselves or do not suit the model.
SearchResult rankPlans(const Subject &subject, const ClusterSpec &cluster,
                       llvm::ArrayRef<Plan> plans,
                       const SearchOptions &options = {});

/// The same by pricing every layout: what the search is held against.
SearchResult priceAllLayouts(const Subject &subject,
                             llvm::ArrayRef<ClusterSpec> clusters,
                             const LayoutSpace &space,
                             const SearchOptions &options = {});

} // namespace tessera

#endif // TESSERA_PLANNING_LAYOUTSEARCH_H
