//===- LayoutSearch.h - The best layouts of a space -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Best-first branch and bound (Lawler and Wood 1966) over a LayoutSpace: the
// time of a shape's layers bounds the shape, the time of its chunks bounds a
// pipeline, and only layouts that could still be among the answers are
// simulated. The search finds what pricing every layout would find.
//
// Nodes are taken in batches of one size, and each is expanded with the
// knowledge from before its batch, so the answer does not depend on the number
// of threads.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLANNING_LAYOUTSEARCH_H
#define TESSERA_PLANNING_LAYOUTSEARCH_H

#include "tessera/Planning/LayoutSpace.h"
#include "tessera/Planning/PlanPricer.h"
#include <functional>
#include <limits>
#include <memory>

namespace tessera {

/// The objective of a search: seconds per token, all devices together, or
/// dollars.
enum class SearchObjective { Time, Dollars };

/// The settings of a search.
struct SearchOptions {
  SearchObjective objective = SearchObjective::Time;
  /// Number of best plans, and of best meshes, each with its best plan.
  size_t top = 5;
  /// Slowdown, relative to the best plan, up to which plans are on the Pareto
  /// front (0.1: a tenth); infinite: all of it; negative: no front.
  double frontSlack = 0.1;
  /// Excess memory, relative to the limit, up to which plans are near misses.
  double nearMiss = 0.1;
  /// The probability with which a plan must fit, at least 0.5. At 0.5 the
  /// predicted bytes may reach a device's memory.
  double fit = 0.5;
  /// Largest seconds per token of the plans of interest.
  double mostTime = std::numeric_limits<double>::infinity();
  /// If no plan fits, searches for the plan that needs the least memory.
  bool findsSmallest = true;
  unsigned threads = 1;
  /// Dollars per device and hour, for each cluster; missing ones are 1.
  std::vector<double> prices;
  double priceOf(size_t cluster) const {
    return cluster < prices.size() ? prices[cluster] : 1;
  }
  /// Called now and then; false ends the search with the results so far.
  std::function<bool(const struct SearchProgress &)> progress;
};

/// A plan with its price.
struct FoundPlan {
  cost::ExecutedPlan plan;
  /// Index into the clusters.
  size_t cluster = 0;
  /// Seconds of a step, bytes of its fullest stage, and memory of a device.
  double seconds = 0, bytes = 0, capacity = 0;
  /// The most bytes that count as fitting (getMemoryLimit).
  double limit = 0;
  /// Seconds, and dollars, per token.
  double time = 0, dollars = 0;
  /// Its position in the space.
  uint64_t order = 0;

  bool fits() const { return bytes <= limit; }
  /// Sets seconds, time and dollars from the seconds of a step with `tokens`
  /// tokens on `gpus` devices; `price` is in dollars per device and hour.
  void setPrice(double stepSeconds, double tokens, int64_t gpus, double price) {
    seconds = stepSeconds;
    time = seconds / tokens;
    dollars = time * double(gpus) * price / 3600;
  }
  /// Number of axes with more than one device.
  unsigned numAxes() const;
};

/// The most predicted bytes of a plan with which it fits a device with
/// probability `fit`, given the new features of the plan.
double getMemoryLimit(const cost::ExecutedPlan &plan,
                      const ClusterSpec &cluster, double fit);

/// The outcome of the layouts; all fields up to `priced` sum to `layouts`.
struct SearchCounts {
  int64_t layouts = 0;
  /// Layouts that contradict themselves or do not suit the model.
  int64_t invalid = 0;
  /// Layouts whose bounds exclude them from the answers.
  int64_t bounded = 0;
  /// Layouts that need more memory than there is, found before pricing.
  int64_t tooLarge = 0;
  int64_t priced = 0;
  /// Those among `priced` that fit.
  int64_t fit = 0;
  /// Layers that were priced.
  int64_t shapes = 0;

  SearchCounts &operator+=(const SearchCounts &o);
};

/// The progress of a search.
struct SearchProgress {
  const SearchCounts &counts;
  /// The best plan so far; null if there is none yet.
  const FoundPlan *best;
};

/// The answers of a search.
struct SearchResult {
  SearchCounts counts;
  /// The best plans that fit, the best first. Ties go to fewer axes, then to
  /// the earlier one in the space.
  std::vector<FoundPlan> top;
  /// The best plan of each of the best meshes.
  std::vector<FoundPlan> meshes;
  /// Plans that no other plan beats in time, memory and dollars, by time.
  std::vector<FoundPlan> front;
  /// Plans that are better than the best one and lack little memory, by time.
  std::vector<FoundPlan> nearMisses;
  /// If no plan fits, the plan that needs the least memory; none if the search
  /// was stopped.
  std::optional<FoundPlan> smallest;
  /// No plan that fits is better than `bound` (seconds or dollars per token);
  /// `gap` is 1 - bound / best.
  double bound = 0, gap = 0;
  /// The search ended early.
  bool stopped = false;
};

/// The bounds of one layout in a search: bounds of its step in seconds, each
/// over more of the layout than the one before; a bound of its bytes; its
/// price.
struct LayoutBounds {
  /// Bounds from the layers of the largest micro-batch without a context axis,
  /// and with it (0 if there is no such bound), from its own layers, from its
  /// chunks.
  double axes = 0, sequence = 0, layers = 0, chunks = 0;
  double bytes = 0;
  FoundPlan priced;
};

/// Bounds and prices single layouts of a space, as a search does.
class LayoutProbe {
public:
  LayoutProbe(const Subject &subject, llvm::ArrayRef<ClusterSpec> clusters,
              const LayoutSpace &space, const SearchOptions &options = {});
  ~LayoutProbe();

  /// Measures the layout with the given shape, pipeline and ZeRO choice, by
  /// their indices; the latter two index the lists of the shape. None if the
  /// graph cannot have the shape.
  std::optional<LayoutBounds> measure(uint32_t shape, size_t pipeline,
                                      size_t zero);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// Searches a space that was made for the same clusters.
SearchResult searchLayouts(const Subject &subject,
                           llvm::ArrayRef<ClusterSpec> clusters,
                           const LayoutSpace &space,
                           const SearchOptions &options = {});

/// Finds the answers among these plans on one cluster by pricing all. Plans
/// that contradict themselves or do not suit the model count as `invalid`.
SearchResult rankPlans(const Subject &subject, const ClusterSpec &cluster,
                       llvm::ArrayRef<cost::ExecutedPlan> plans,
                       const SearchOptions &options = {});

/// Finds the same answers by pricing every layout; tests compare the search
/// with it.
SearchResult priceAllLayouts(const Subject &subject,
                             llvm::ArrayRef<ClusterSpec> clusters,
                             const LayoutSpace &space,
                             const SearchOptions &options = {});

} // namespace tessera

#endif // TESSERA_PLANNING_LAYOUTSEARCH_H
