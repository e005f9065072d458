//===- PlanFigures.h - Tables that only figures show ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLANNING_PLANFIGURES_H
#define TESSERA_PLANNING_PLANFIGURES_H

#include "tessera/Cost/PlanReport.h"
#include "tessera/Planning/PlanSection.h"

namespace tessera {

/// The source of the tables of a plan's figures: the plan with the blocks
/// of each chunk, the work of its layers, and both on the cluster.
struct PlanFigures {
  PlanFigures(const cost::PlanReport &report, const cost::ModelWork &work,
              const ClusterSpec &cluster)
      : report(report), work(work), cluster(cluster),
        machine(cluster, report.plan, report.plan.execution()),
        model(priceModel(work, machine)) {}

  /// The name of the outermost level that a group over these axes reaches;
  /// empty for one device.
  std::string linkOf(llvm::ArrayRef<cost::PlanAxis> axes) const;

  /// The actions of each rank and when they run, from the schedule that the
  /// step was priced with. Of a schedule of more than 40,000 actions the first
  /// and the last ones of each rank; empty without stages, and of one too large
  /// to be simulated.
  llvm::Expected<ShownPipeline>
  makePipeline(schedule::PipelinePricer &pricer) const;
  /// The axes of the mesh, the outermost first: devices are numbered row-major.
  Table makeAxes() const;
  /// The levels of the cluster: what a device receives over each and waits.
  Table makeLinks() const;
  /// The kernels of a block, forward and backward.
  Table makeKernels() const;
  /// The limits that kernels and the step have.
  Table makeCeilings() const;
  /// The step relative to the bytes of each level.
  Table makeStepPoints() const;
  /// The state on a device under each stage of ZeRO by the number of devices
  /// that share it.
  Table makeStateCurves() const;

  const cost::PlanReport &report;
  const cost::ModelWork &work;
  const ClusterSpec &cluster;
  cost::Machine machine;
  cost::PricedModel model;
};

} // namespace tessera

#endif // TESSERA_PLANNING_PLANFIGURES_H
