//===- PlanSection.h - A plan's report as tables of a document --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLANNING_PLANSECTION_H
#define TESSERA_PLANNING_PLANSECTION_H

#include "tessera/Cost/MinimumMemory.h"
#include "tessera/Cost/PlanReport.h"
#include "tessera/Planning/Subject.h"
#include "tessera/Report/Document.h"
#include "tessera/Schedule/Timing.h"

namespace tessera {

/// The share of a device's memory that a plan fills with little doubt.
inline constexpr double kFilledShare = 0.75;

/// The memory of a device of so many bytes and that share of it, in GB (1e9
/// bytes).
Table makeDeviceTable(double capacity);

/// The actions of a pipeline that a figure shows.
struct ShownPipeline {
  Table actions;
  /// A sentence about actions that are left out; empty: none are.
  std::string note;
};

/// The actions of each rank and when they run. `list` has no transfers, and
/// verify() accepts it.
ShownPipeline showActions(
    const schedule::Schedule &list,
    llvm::ArrayRef<std::vector<schedule::CompiledSchedule::ActionTime>> times);

/// The section "plan" of a document: all tables that print() shows, and further
/// ones that a page draws. The report was made from `work` and `cluster`.
llvm::Expected<DocumentSection>
makePlanSection(const cost::PlanReport &report,
                const cost::MinimumMemory &minimum, const cost::ModelWork &work,
                const ClusterSpec &cluster, schedule::PipelinePricer &pricer);
/// A step from the model's FLOPs at the peak to its end: what kernels of
/// matmuls and attention lose, then each other cause. Causal attention skips
/// scores that the model's FLOPs count, so the second part may be below 0.
std::vector<cost::Cause> listWaterfall(const cost::PlanReport &report);

/// The minimum memory of a model with a plan's settings on a cluster.
cost::MinimumMemory makeMinimumMemory(const Subject &subject, const Plan &plan,
                                      double capacity);

/// The section "minimum-memory".
DocumentSection makeMinimumSection(const cost::MinimumMemory &minimum);

} // namespace tessera

#endif // TESSERA_PLANNING_PLANSECTION_H
