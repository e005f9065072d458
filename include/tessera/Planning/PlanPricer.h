//===- PlanPricer.h - Many layouts of one model, priced fast ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prices one plan after the other: seconds and bytes for a search, or whole
// reports. Layers are read and priced once for all layouts in which they are
// the same; each plan then needs only its pipeline, its memory and the work
// once per step.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLANNING_PLANPRICER_H
#define TESSERA_PLANNING_PLANPRICER_H

#include "tessera/Cost/MemoryModel.h"
#include "tessera/Cost/PlanReport.h"
#include "tessera/Cost/StepTime.h"
#include "tessera/Planning/Subject.h"
#include <array>
#include <map>
#include <tuple>

namespace tessera {

/// The price of a plan.
struct PlanPrice {
  cost::StepTime step;
  /// Bytes of the fullest stage.
  double peakBytes = 0;
  bool fits = false;
};

/// Prices plans of one model on one cluster and caches what they share. Not
/// thread-safe.
class PlanPricer {
public:
  PlanPricer(Subject subject, ClusterSpec cluster)
      : subject(std::move(subject)), cluster(std::move(cluster)),
        device(cost::makeDeviceModel(this->cluster.device)) {}
  PlanPricer(ModelConfig config, ClusterSpec cluster)
      : PlanPricer(Subject{std::move(config), {}, {}}, std::move(cluster)) {}

  /// The priced layers that layouts share.
  struct Layers {
    cost::PricedModel model;
    cost::MemoryModel memory;
    /// Blocks of each chunk by stages, chunks and schedule, if they are split
    /// by time; they do not depend on the number of micro-batches.
    std::map<std::tuple<int64_t, int64_t, ScheduleKind>, std::vector<double>>
        splits = {};
    /// The work with the figures of the whole model, for reports: a search
    /// keeps many layers.
    std::optional<cost::ModelWork> work = {};
  };

  /// Returns the figures of makePlanReport(), with the fastest method of
  /// sharing attention for `auto`. Fails if the plan contradicts itself or does
  /// not suit the model or the cluster. If `split` is not null, sets it to the
  /// plan with the blocks of each chunk and that method.
  llvm::Expected<PlanPrice> price(const cost::ExecutedPlan &plan,
                                  cost::ExecutedPlan *split = nullptr);
  /// Returns makePlanReport() of the plan, with the fastest method of sharing
  /// attention for `auto`. Fails where price() fails.
  llvm::Expected<cost::PlanReport> report(const cost::ExecutedPlan &plan,
                                          const cost::PlanQuestion &question);
  /// The layers of a plan, priced on its links. The plan must suit the model.
  /// Fails for sizes that the graph cannot have.
  llvm::Expected<const Layers *> getLayers(const cost::ExecutedPlan &plan,
                                           const cost::Machine &machine);
  /// Calls splitByTime() and caches the result for plans with the same stages.
  llvm::Expected<Plan> split(Layers &layers, Plan plan,
                             const cost::Machine &machine);

  /// Number of layer sets priced so far, that is, of cache misses.
  size_t numPricedModels() const { return models.size(); }

  const Subject &getSubject() const { return subject; }
  const ClusterSpec &getCluster() const { return cluster; }
  WorkReader &getReader() { return reader; }
  schedule::PipelinePricer &getPipelines() { return pipelines; }

private:
  /// Fails if the plan contradicts itself or does not suit the model or the
  /// cluster.
  llvm::Error check(const cost::ExecutedPlan &plan) const;
  llvm::Expected<PlanPrice> priceMethod(const cost::ExecutedPlan &plan,
                                        cost::ExecutedPlan *split);
  /// Bytes of the fullest stage.
  double peakBytes(const Layers &layers, const cost::StagedModel &staged);
  llvm::Expected<Layers *> findLayers(const cost::ExecutedPlan &plan,
                                      const cost::Machine &machine);
  /// The work of a plan's layers with the figures of the whole model.
  llvm::Expected<cost::ModelWork> readWork(const cost::ExecutedPlan &plan);
  using Key = std::array<int64_t, 25>;
  Key keyOf(const cost::ExecutedPlan &plan);
  int64_t indexOf(const cost::Execution &execution);

  Subject subject;
  ClusterSpec cluster;
  cost::DeviceModel device;
  WorkReader reader;
  std::map<Key, Layers> models;
  /// The executions of the keys, and the one of the last key.
  llvm::SmallVector<cost::Execution, 1> executions;
  int64_t lastExecution = 0;
  /// Layers keep their work.
  bool keepsWork = false;
  /// Parameters and FLOPs of a token of a dense model by its sequence.
  std::map<int64_t, std::pair<double, double>> figures;
  schedule::PipelinePricer pipelines;
};

} // namespace tessera

#endif // TESSERA_PLANNING_PLANPRICER_H
