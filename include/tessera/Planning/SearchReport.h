//===- SearchReport.h - The results of a search, explained ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Combines the answers of a search with the report of its best plan: the size
// of the space and the outcome of its layouts, the best plans and meshes, the
// price of less memory, and the effect of each option, one step from the best
// plan.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLANNING_SEARCHREPORT_H
#define TESSERA_PLANNING_SEARCHREPORT_H

#include "tessera/Cost/PlanReport.h"
#include "tessera/Planning/LayoutSearch.h"
#include "tessera/Report/Document.h"

namespace tessera {

/// The best plan with one option changed.
struct Neighbour {
  /// The field, and its values in the best plan and in this plan.
  std::string field, from, to;
  FoundPlan found;
  /// The two causes with the largest differences, the larger one first, and
  /// their extra seconds per step relative to the best plan. For a plan that
  /// does not fit: categories of memory, and their bytes.
  std::vector<std::pair<std::string, double>> causes;
};

/// The best plan on other hardware.
struct WhatIf {
  /// The change, such as "10 GB more memory".
  std::string what;
  FoundPlan found;
};

/// The fewest devices that process a number of tokens in time.
struct FewestDevices {
  double days = 0, tokens = 0;
  /// Search over whole nodes from `first`, the least that the FLOPs alone
  /// allow.
  int64_t first = 0, node = 1, devices = 0;
};

/// Files that a search reads and writes, used to print the commands that build
/// a plan.
struct SearchFiles {
  /// `plan` is empty if none is written.
  std::string config, cluster, plan;
};

/// The results of a search.
struct SearchReport {
  SearchObjective objective = SearchObjective::Time;
  /// The given fields, as "tp=1,2,4", and the searched fields.
  std::vector<std::string> given, searched;
  /// Fields that are not searched but have several values.
  std::vector<std::string> varied;
  /// Whether plans of several numbers of devices, or of clusters, are priced.
  bool hasCosts = false;
  SearchResult result;
  /// Names of the clusters.
  std::vector<std::string> clusters;
  /// The report of the best plan, and its section.
  cost::PlanReport best;
  DocumentSection bestSection;
  std::vector<Neighbour> neighbours;
  std::vector<WhatIf> whatIfs;
  /// Explicitly requested layouts: `field` holds the fixed fields.
  std::vector<Neighbour> asked;
  std::optional<FewestDevices> fewest;
  /// Among the plans that cannot be told from the best one: the plan with the
  /// fewest new features, then the most free memory and the fewest axes.
  std::optional<FoundPlan> surest;
  /// Why `tessera compile` cannot build the best plan; empty if it can.
  std::string notCompiled;
  SearchFiles files;
  /// Number of nodes that the best plan uses.
  int64_t machines = 1;
};

/// The report of a search that found a plan; without a space it has no
/// neighbours. Fails where makePlanReport() fails.
llvm::Expected<SearchReport>
makeSearchReport(const Subject &subject, llvm::ArrayRef<ClusterSpec> clusters,
                 const PlanSpace &given, const LayoutSpace *space,
                 SearchResult result, const SearchOptions &options,
                 const cost::PlanQuestion &question);

/// The best plan of the space with one option changed: numbers to the next
/// values, other fields to each other value.
std::vector<Neighbour> findNeighbours(const Subject &subject,
                                      llvm::ArrayRef<ClusterSpec> clusters,
                                      const LayoutSpace &space,
                                      const FoundPlan &best, double fit = 0.5);

/// Plans that fit and differ in one option from one that does not fit. None for
/// a schedule from a file.
std::vector<Neighbour> findRemedies(const Subject &subject,
                                    const ClusterSpec &cluster,
                                    const cost::PlanReport &report);

/// Names the causes with the largest differences between two plans.
void explain(Neighbour &neighbour, const cost::PlanReport &best,
             const cost::PlanReport &other);

/// The least probability for a plan to be called faster than another.
inline constexpr double kSure = 0.8;

/// The probability that `best` is faster than `found`. For plans of one batch
/// on one cluster, their common features cancel out.
double probabilityFaster(const FoundPlan &best, const FoundPlan &found);

/// "dp8 tp2 pp4 mb1 zero1 zb-v".
std::string planText(const FoundPlan &found);

/// The best plans, meshes and points, the plans that lack memory, and the plan
/// with one option changed, as print() shows them, and what other hardware
/// would give.
DocumentSection makeSearchSection(const SearchReport &report);

/// Prints the report of the best plan, then tables of the others.
void print(const SearchReport &report, llvm::raw_ostream &os);
/// The report of the best plan, with an additional object `search`.
llvm::json::Object toJson(const SearchReport &report);

/// Explains why a space has no plan: options that exclude each other, or
/// missing memory. `result` is the result of the search, if it ran.
llvm::Error explainNoPlan(const Subject &subject,
                          llvm::ArrayRef<ClusterSpec> clusters,
                          const PlanSpace &given, const LayoutSpace &space,
                          const SearchResult *result, double fit = 0.5);

} // namespace tessera

#endif // TESSERA_PLANNING_SEARCHREPORT_H
