//===- PlanReport.h - Needs, time and cost of a plan ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Combines the price of a step and the memory of its stages: causes that sum to
// the step, categories that sum to a device's memory, throughput, a budget, the
// bottleneck, and the uncertainty of these figures. Prints as text and as JSON,
// and compares two reports.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COST_PLANREPORT_H
#define TESSERA_COST_PLANREPORT_H

#include "tessera/Cost/MemoryModel.h"
#include "tessera/Cost/StepTime.h"
#include "tessera/Cost/Traffic.h"
#include "tessera/Cost/Uncertainty.h"
#include "tessera/Report/Document.h"

namespace tessera::cost {

/// The inputs of a report in addition to the plan itself.
struct PlanQuestion {
  /// The model's name, for the report.
  std::string model;
  /// Runs of this model have fitted the cluster's constants.
  bool isObserved = false;
  /// The framework whose settings the plan and its execution have; empty: none
  /// was requested.
  std::string framework;
  /// Runs of the framework have fitted constants.
  bool isFrameworkFitted = false;
  /// Tokens of the whole run; 0: not given.
  double tokens = 0;
  /// Dollars per device and hour; 0: not given.
  double price = 0;
  MemoryConstants memory;
  /// The report has no traffic, bubble of the schedule alone, largest tensors
  /// and caveats, nor whether even stages fit: for many reports.
  bool isBrief = false;
};

/// A part of the step.
struct Cause {
  std::string name;
  double seconds = 0;
  /// The resource that it waits for: "compute", "memory bandwidth", "host",
  /// "bubble", "fixed", or the name of a cluster's level.
  std::string resource;
};

/// The price of a plan: time of a step by cause, throughput, memory by stage,
/// and the uncertainty of these figures.
struct PlanReport {
  std::string model, framework, cluster, device;
  /// Parameters of the whole model.
  double parameters = 0;
  ExecutedPlan plan;

  /// Seconds of a step; the causes sum to it.
  double stepSeconds = 0;
  std::vector<Cause> causes;
  /// Bytes that a device of the busiest stage receives; that stage; the share
  /// of the step in which the schedule alone leaves the device idle.
  std::vector<Traffic> traffic;
  size_t busiest = 0;
  double scheduleBubble = 0;
  /// Tokens per second over all devices.
  double tokensPerSecond = 0;
  /// Model FLOPs, and all FLOPs of matmuls and attention, relative to the peak.
  double mfu = 0, hfu = 0;
  /// The peak in FLOP/s that both are relative to, and the type of its units.
  double peak = 0;
  std::string peakType;
  /// Model FLOP/s per device.
  double modelFlopsRate = 0;
  /// The resource that most of the step waits for, or "memory" if the plan does
  /// not fit; and its share.
  std::string bottleneck;
  double bottleneckShare = 0;

  std::vector<StageMemory> stages;
  size_t fullest = 0;
  /// Bytes of memory of a device.
  double capacity = 0;
  /// The plan does not fit with stages split by time, but fits with even
  /// stages.
  bool fitsEven = false;
  /// The largest tensors of the fullest stage.
  std::vector<SavedTensor> largest;
  /// Bytes of host memory, or disk, available to a device's state.
  double offloadCapacity = 0;

  double tokens = 0, days = 0, deviceHours = 0, dollars = 0;

  /// The interval that holds four of five steps of similar runs, and the
  /// probability that the memory fits a device (Uncertainty.h).
  Interval stepInterval;
  double fitProbability = 0;
  /// Reasons why the report is less certain: constants that are guesses, and
  /// features without measurements.
  std::vector<std::string> caveats;

  const MemoryBytes &peakMemory() const { return stages[fullest].bytes; }
  double headroom() const { return capacity - peakMemory().total(); }
  /// True if the fullest stage fits into a device, and the offloaded bytes of
  /// each stage fit into the host's share.
  bool fits() const;
};

/// Prices a plan. The plan in the report has the blocks of each chunk
/// (splitByTime). Fails, with one line each, if the plan contradicts itself or
/// the cluster has fewer devices.
llvm::Expected<PlanReport>
makePlanReport(const ModelWork &work, const Plan &plan,
               const Execution &execution, const ClusterSpec &cluster,
               const PlanQuestion &question, schedule::PipelinePricer &pricer);

/// A model's layers, and what they cost on a machine. Refers to its parts.
struct ReportedModel {
  const ModelWork &work;
  const PricedModel &priced;
  const MemoryModel &memory;
};

/// The same for layers that are priced, as for many plans that share them.
/// `split` is the plan `given` with the blocks of splitByTime(). Both must pass
/// the checks of the function above.
llvm::Expected<PlanReport>
makePlanReport(const ReportedModel &model, const Plan &given, Plan split,
               const ClusterSpec &cluster, const Machine &machine,
               const PlanQuestion &question, schedule::PipelinePricer &pricer);

/// "7.97 s (80 %: 7.60 to 8.90)".
std::string intervalText(double seconds, const Interval &interval);

/// The memory of each stage by category, in GB of 1e9 bytes; neighbours with
/// the same numbers are one row.
Table memoryTable(const PlanReport &report);
/// The causes of the step, the longest wait of each, and their sum.
Table stepTable(const PlanReport &report);

/// The largest tensors of the fullest stage, in GB of 1e9 bytes.
Table largestTable(const PlanReport &report);

/// Prints aligned tables. Bytes are in GB of 1e9; totals also in GiB of 2^30.
void print(const PlanReport &report, llvm::raw_ostream &os);

/// The same figures in bytes, seconds and FLOP/s.
llvm::json::Object toJson(const PlanReport &report);

/// The section "compare" of two reports, as toJson() writes them: differences
/// in plan, time and memory, the largest first. Fails if one is not a report.
llvm::Expected<DocumentSection> compare(const llvm::json::Object &a,
                                        const llvm::json::Object &b,
                                        llvm::StringRef nameA,
                                        llvm::StringRef nameB);
/// Prints such a section.
void printComparison(const DocumentSection &section, llvm::raw_ostream &os);

/// "61.2 GB (57.0 GiB)".
std::string bytesText(double bytes);
/// "41.9 s", "812.5 ms".
std::string secondsText(double seconds);
/// "405.9e9": parameters.
std::string countText(double count);

} // namespace tessera::cost

#endif // TESSERA_COST_PLANREPORT_H
