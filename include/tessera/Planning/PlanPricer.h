//===- PlanPricer.h - Many layouts of one model, priced fast ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a search asks: seconds and bytes of one plan after the other. Layers
// are read and priced once for all layouts in which they look the same; what is
// left for a plan is its pipeline, its memory and its step's tail.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLANNING_PLANPRICER_H
#define TESSERA_PLANNING_PLANPRICER_H

#include "tessera/Cost/MemoryModel.h"
#include "tessera/Cost/StepTime.h"
#include "tessera/Planning/Subject.h"
#include <array>
#include <map>
#include <tuple>

namespace tessera {

/// The price of a plan.
struct PlanPrice {
  cost::StepTime step;
  /// Bytes that the fullest stage needs.
  double peakBytes = 0;
  bool fits = false;
};

/// Prices plans of one model on one cluster and keeps what plans share. Not for
/// use by several threads at once.
class PlanPricer {
public:
  PlanPricer(Subject subject, ClusterSpec cluster)
      : subject(std::move(subject)), cluster(std::move(cluster)),
        device(cost::makeDeviceModel(this->cluster.device)) {}
  PlanPricer(ModelConfig config, ClusterSpec cluster)
      : PlanPricer(Subject{std::move(config), {}, {}}, std::move(cluster)) {}

  /// What all layouts with the same layers share.
  struct Layers {
    cost::PricedModel model;
    cost::MemoryModel memory;
    /// Blocks of each chunk by stages, chunks and schedule, where they are
    /// split by time: the number of micro-batches does not matter for it.
    std::map<std::tuple<int64_t, int64_t, ScheduleKind>, std::vector<double>>
        splits = {};
  };

  /// The same numbers as makePlanReport() gives, of the fastest method of
  /// sharing attention for `auto`. Errors: a plan that contradicts itself or
  /// does not suit the model or the cluster.
  /// `split`, if not null, becomes the plan with the blocks of each chunk and
  /// that method.
  llvm::Expected<PlanPrice> price(const Plan &plan, Plan *split = nullptr);
  /// The layers of a plan, priced on its links. The plan must suit the model;
  /// errors: sizes that the graph cannot have.
  llvm::Expected<const Layers *> getLayers(const Plan &plan,
                                           const cost::Machine &machine);
  /// splitByTime(), kept for plans that differ in no stage.
  llvm::Expected<Plan> split(Layers &layers, Plan plan,
                             const cost::Machine &machine);

  /// Layers priced so far: how often a question was not answered from what is
  /// kept.
  size_t numPricedModels() const { return models.size(); }

  const Subject &getSubject() const { return subject; }
  const ClusterSpec &getCluster() const { return cluster; }
  WorkReader &getReader() { return reader; }
  schedule::PipelinePricer &getPipelines() { return pipelines; }

private:
  llvm::Expected<PlanPrice> priceMethod(const Plan &plan, Plan *split);
  /// Bytes of the fullest stage.
  double peakBytes(const Layers &layers, const cost::StagedModel &staged);
  llvm::Expected<Layers *> findLayers(const Plan &plan,
                                      const cost::Machine &machine);
  using Key = std::array<int64_t, 37>;
  Key keyOf(const Plan &plan) const;

  Subject subject;
  ClusterSpec cluster;
  cost::DeviceModel device;
  WorkReader reader;
  std::map<Key, Layers> models;
  schedule::PipelinePricer pipelines;
};

} // namespace tessera

#endif // TESSERA_PLANNING_PLANPRICER_H
