//===- Expander.h - What becomes of a node of a search ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounds, branches and prices the nodes of a search, one at a time, by what was
// known before. Keeps what nodes share; each thread has its own.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PLANNING_EXPANDER_H
#define TESSERA_LIB_PLANNING_EXPANDER_H

#include "Incumbents.h"
#include "LayerBounds.h"
#include <tuple>

namespace tessera {

/// What the bound of a node is of.
enum class Level {
  /// Nothing.
  Listed,
  /// The layers of the largest micro-batch without a context axis.
  Axes,
  /// The layers of the largest micro-batch.
  Sequence,
  /// Its own layers.
  Layers,
  /// The chunks of a pipeline.
  Chunks
};

/// Layouts that are decided together: those of a shape, or of one of its
/// pipelines.
struct Node {
  /// Of any of its layouts, in what is minimized.
  double bound = 0;
  uint32_t shape = 0;
  /// -1: all of the shape.
  int32_t pipeline = -1;
  Level level = Level::Listed;

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
  /// Refers to all of these.
  Expander(const Subject &subject, llvm::ArrayRef<ClusterSpec> clusters,
           const LayoutSpace &space, const SearchOptions &options);
  ~Expander();

  Expansion expand(const Node &node, const Incumbents &known);
  /// A bound of a shape's layouts, in what is minimized, without its own
  /// layers.
  double boundShape(uint32_t shape);
  /// Prices all layouts of a shape.
  Expansion priceAll(uint32_t shape);
  /// The bytes of a shape's layouts, at least; none if it cannot be.
  std::optional<double> leastBytes(uint32_t shape);
  /// The layout of a shape that needs the least memory.
  FoundPlan findSmallest(uint32_t shape);
  std::optional<LayoutBounds> measure(uint32_t shape, size_t pipeline,
                                      size_t zero);

private:
  struct Opened;
  struct Staged;
  /// Fields that LayerBounds differ in: setting, tp, cp and its method, ep, sp,
  /// recomputation, what is kept.
  using Key = std::array<int64_t, 9>;
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
  /// Null: no such layers can be.
  std::map<Key, std::unique_ptr<LayerBounds>> bounds;
};

} // namespace tessera

#endif // TESSERA_LIB_PLANNING_EXPANDER_H
