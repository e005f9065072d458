//===- LayoutSpace.h - The layouts of a model on clusters -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists the layouts that a PlanSpace leaves open, each once: shapes (axes and
// all settings that a layer depends on), the pipelines of a shape, the ZeRO
// choices of both. An option without influence has its first permitted value.
// Layouts that contradict themselves or do not suit the model are counted and
// left out.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLANNING_LAYOUTSPACE_H
#define TESSERA_PLANNING_LAYOUTSPACE_H

#include "tessera/Cluster/ClusterSpec.h"
#include "tessera/Planning/PlanSpace.h"
#include "tessera/Planning/Subject.h"

namespace tessera {

/// A number of devices of a cluster, a batch, and the fields that are not
/// searched.
struct LayoutSetting {
  /// Index into the clusters.
  size_t cluster = 0;
  int64_t gpus = 1, globalBatch = 1;
  cost::ExecutedPlan base;
  /// Tokens of a step.
  double tokens() const { return double(globalBatch) * double(base.seq); }
};

/// All of a layout but its pipeline and its ZeRO choice.
struct LayoutShape {
  uint32_t setting = 0;
  int32_t tp = 1, cp = 1, pp = 1, dp = 1, ep = 1;
  int32_t microBatch = 1, microBatches = 1;
  Recompute recompute = Recompute::None;
  bool sp = false, keepGathered = false, etp = true;
  /// Not `auto` if cp is above 1.
  ContextMethod cpMethod;
  /// True for ZeRO-3, which gathers parameters layer by layer.
  bool gathers = false;
  /// Indices into the space's lists.
  uint32_t pipelines = 0, zeros = 0;
};

/// A schedule and its chunks for each stage.
struct PipelineChoice {
  ScheduleKind schedule = ScheduleKind::OneFOneB;
  int64_t vpp = 1;
};

/// The settings of ZeRO that no layer depends on.
struct ZeroChoice {
  int64_t zero = 0;
  Scatter scatter = Scatter::Each;
  int64_t shardRanks = 0;
};

/// The layouts of a space. Refers to the arguments of the constructor.
class LayoutSpace {
public:
  LayoutSpace(const Subject &subject, llvm::ArrayRef<ClusterSpec> clusters,
              const PlanSpace &space);

  llvm::ArrayRef<LayoutSetting> getSettings() const { return settings; }
  /// The shapes, in the order that breaks ties.
  llvm::ArrayRef<LayoutShape> getShapes() const { return shapes; }
  llvm::ArrayRef<PipelineChoice> getPipelines(const LayoutShape &shape) const {
    return pipelines[shape.pipelines].valid;
  }
  llvm::ArrayRef<ZeroChoice> getZeros(const LayoutShape &shape,
                                      const PipelineChoice &pipeline) const {
    return zeros[shape.zeros].lists[pipeline.vpp > 1];
  }
  /// Number of layouts of a shape.
  int64_t countLayouts(const LayoutShape &shape) const;

  /// A layout of the shape: the first pipeline, ZeRO-3 if `gathers`.
  cost::ExecutedPlan makePlan(const LayoutShape &shape) const;
  static void apply(Layout &layout, const PipelineChoice &pipeline);
  static void apply(Layout &layout, const ZeroChoice &zero);

  /// Number of all layouts, and of the invalid ones. Several that fail for the
  /// same reason before they differ count as one.
  int64_t numLayouts() const { return layouts; }
  int64_t numInvalid() const { return invalid; }
  /// Why the first invalid layout is invalid, as text to follow "--"; empty if
  /// there is none.
  const std::string &getFirstReason() const { return firstReason; }

private:
  /// The pipelines for a number of stages and micro-batches.
  struct Pipelines {
    std::vector<PipelineChoice> valid;
    int64_t invalid = 0, withChunks = 0;
  };
  /// The ZeRO choices for schedules without rounds of micro-batches, and with.
  struct Zeros {
    std::vector<ZeroChoice> lists[2];
  };
  using Key = std::vector<int64_t>;
  void addSettings();
  void addAxes(uint32_t setting);
  std::vector<std::pair<int64_t, bool>>
  listExperts(const cost::ExecutedPlan &axes) const;
  std::vector<ContextMethod> listMethods(const cost::ExecutedPlan &axes) const;
  void addBatches(const LayoutShape &axes);
  void addLayers(const LayoutShape &batch);
  bool suitsModel(const LayoutShape &shape);
  Pipelines makePipelines(const LayoutShape &shape);
  std::vector<ZeroChoice> makeZeros(const LayoutShape &shape, bool rounds);
  std::vector<Scatter> listScatters(cost::ExecutedPlan plan,
                                    bool matters) const;
  std::vector<int64_t> listShards(cost::ExecutedPlan plan, int64_t ranks,
                                  bool matters) const;
  bool isValid(const cost::ExecutedPlan &plan);
  bool leaveOut(llvm::Error error);

  const Subject *subject;
  llvm::ArrayRef<ClusterSpec> clusters;
  const PlanSpace *space;
  std::vector<LayoutSetting> settings;
  std::vector<LayoutShape> shapes;
  std::vector<Pipelines> pipelines;
  std::vector<Zeros> zeros;
  /// Caches, by the numbers that their values depend on.
  std::map<Key, uint32_t> pipelineLists, zeroLists;
  std::map<Key, bool> suits;
  int64_t layouts = 0, invalid = 0;
  std::string firstReason;
};

} // namespace tessera

#endif // TESSERA_PLANNING_LAYOUTSPACE_H
