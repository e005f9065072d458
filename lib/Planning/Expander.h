//===- Expander.h - Expands the nodes of a search ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounds, branches and prices the nodes of a search, one at a time, with the
// results known before. Caches data shared by nodes; each thread has its own
// expander.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PLANNING_EXPANDER_H
#define TESSERA_LIB_PLANNING_EXPANDER_H

#include "Incumbents.h"
#include "LayerBounds.h"
#include <tuple>

namespace tessera {

/// The basis of a node's bound.
enum class Level {
  /// No bound.
  Listed,
  /// The layers of the largest micro-batch without a context axis.
  Axes,
  /// The layers of the largest micro-batch.
  Sequence,
  /// The node's own layers.
  Layers,
  /// The chunks of a pipeline.
  Chunks
};

/// Layouts that are excluded together: all of a shape, or of one of its
/// pipelines.
struct Node {
  /// A lower bound of the objective for all of its layouts.
  double bound = 0;
  uint32_t shape = 0;
  /// The pipeline, or -1 for the whole shape.
  int32_t pipeline = -1;
  Level level = Level::Listed;

  /// True if `o` comes first.
  bool operator<(const Node &o) const {
    return std::tie(bound, shape, pipeline) >
           std::tie(o.bound, o.shape, o.pipeline);
  }
};

/// The result of expanding a node.
struct Expansion {
  SearchCounts counts;
  std::vector<Node> children;
  std::vector<FoundPlan> found, nearMisses;
};

/// The pricing state of one thread.
class Expander {
public:
  /// Keeps references to all of these.
  Expander(const Subject &subject, llvm::ArrayRef<ClusterSpec> clusters,
           const LayoutSpace &space, const SearchOptions &options);
  ~Expander();

  Expansion expand(const Node &node, const Incumbents &known);
  /// Returns a lower bound of the objective for a shape's layouts, without
  /// pricing its own layers.
  double boundShape(uint32_t shape);
  /// Prices all layouts of a shape.
  Expansion priceAll(uint32_t shape);
  /// Returns the minimum bytes of a shape's layouts; none if it is invalid.
  std::optional<double> leastBytes(uint32_t shape);
  /// Returns the layout of a shape that needs the least memory.
  FoundPlan findSmallest(uint32_t shape);
  std::optional<LayoutBounds> measure(uint32_t shape, size_t pipeline,
                                      size_t zero);

private:
  struct Opened;
  struct Staged;
  /// The fields in which LayerBounds differ: setting, tp, cp and its method,
  /// ep, sp, recomputation, kept tensors.
  using Key = std::array<int64_t, 10>;
  void sketch(Node node, Expansion &result);
  double sketchSeconds(const LayoutShape &shape, bool context);
  const LayerBounds *findBounds(const LayoutShape &shape, bool context);
  double valueOf(const LayoutSetting &setting, double seconds) const;
  std::optional<Opened> open(uint32_t shape, Expansion &result);
  void bound(const Opened &opened, Node node, Expansion &result);
  void branch(const Opened &opened, const Node &node, const Incumbents &known,
              Expansion &result);
  void price(const Opened &opened, const PipelineChoice &pipeline, size_t index,
             const Incumbents *known, Expansion &result);
  Staged stage(const Opened &opened, const PipelineChoice &pipeline) const;
  FoundPlan makeFound(const Opened &opened, double seconds, double bytes) const;
  std::optional<cost::StagedModel> fitStages(const Opened &opened,
                                             const cost::StagedModel &byTime,
                                             const Plan &plan, double limit);
  double peakBytes(const Opened &opened, const cost::StagedModel &staged,
                   const Plan &plan);

  llvm::ArrayRef<ClusterSpec> clusters;
  const LayoutSpace &space;
  const SearchOptions &options;
  std::vector<std::unique_ptr<PlanPricer>> pricers;
  /// The bounds by key; null if there are no such layers.
  std::map<Key, std::unique_ptr<LayerBounds>> bounds;
};

} // namespace tessera

#endif // TESSERA_LIB_PLANNING_EXPANDER_H
