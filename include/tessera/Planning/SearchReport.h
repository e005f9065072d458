//===- SearchReport.h - What a search found, and why ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts the answers of a search together with the report of its best plan: how
// large the space is and what became of it, the best plans and meshes, what
// less memory costs, and what each option does, one step from the best.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLANNING_SEARCHREPORT_H
#define TESSERA_PLANNING_SEARCHREPORT_H

#include "tessera/Cost/PlanReport.h"
#include "tessera/Planning/LayoutSearch.h"

namespace tessera {

/// The best plan with one option changed.
struct Neighbour {
  /// The field, and its values in the best plan and in this one.
  std::string field, from, to;
  FoundPlan found;
  /// The two causes that make most of the difference, the larger one first, and
  /// their seconds of a step more than in the best plan. Of a plan that does
  /// not fit the categories of memory, and their bytes.
  std::vector<std::pair<std::string, double>> causes;
};

/// The best plan on other hardware.
struct WhatIf {
  /// "10 GB more memory".
  std::string what;
  FoundPlan found;
};

/// The fewest devices that are through a number of tokens in time.
struct FewestDevices {
  double days = 0, tokens = 0;
  /// Whole nodes from the first number that the FLOPs alone allow.
  int64_t first = 0, node = 1, devices = 0;
};

/// Files that a search reads and writes, for the commands that build a plan.
struct SearchFiles {
  /// `plan`: empty if none is written.
  std::string config, cluster, plan;
};

/// What a search found.
struct SearchReport {
  SearchObjective objective = SearchObjective::Time;
  /// The fields that were given, as "tp=1,2,4", and those that were searched.
  std::vector<std::string> given, searched;
  /// Fields that are not searched but have several values.
  std::vector<std::string> varied;
  /// Whether plans of more than one number of devices, or cluster, are priced.
  bool hasCosts = false;
  SearchResult result;
  /// Names of the clusters.
  std::vector<std::string> clusters;
  /// Of the best plan.
  cost::PlanReport best;
  std::vector<Neighbour> neighbours;
  std::vector<WhatIf> whatIfs;
  /// Layouts that were asked for: `field` is what is fixed.
  std::vector<Neighbour> asked;
  std::optional<FewestDevices> fewest;
  /// Of the best plans, those that cannot be told from the best: the one of
  /// which the least is new, with the most free memory and the fewest axes.
  std::optional<FoundPlan> surest;
  /// Why `tessera compile` does not build the best plan; empty: it does.
  std::string notCompiled;
  SearchFiles files;
  /// Nodes that the best plan is for.
  int64_t machines = 1;
};

/// The report of a search that found a plan; without a space it has no
/// neighbours. Errors: as of makePlanReport().
llvm::Expected<SearchReport>
makeSearchReport(const Subject &subject, llvm::ArrayRef<ClusterSpec> clusters,
                 const PlanSpace &given, const LayoutSpace *space,
                 SearchResult result, const SearchOptions &options,
                 const cost::PlanQuestion &question);

/// The best plan of the space with one option changed: numbers to their next
/// values, others to each of theirs.
std::vector<Neighbour> findNeighbours(const Subject &subject,
                                      llvm::ArrayRef<ClusterSpec> clusters,
                                      const LayoutSpace &space,
                                      const FoundPlan &best, double fit = 0.5);

/// Plans that fit and differ in one option from one that does not. None for a
/// list of a file.
std::vector<Neighbour> findRemedies(const Subject &subject,
                                    const ClusterSpec &cluster,
                                    const cost::PlanReport &report);

/// Names the parts that make most of the difference between two plans.
void explain(Neighbour &neighbour, const cost::PlanReport &best,
             const cost::PlanReport &other);

/// The probability from which on a plan is said to be faster than another.
inline constexpr double kSure = 0.8;

/// The probability that `best` is faster than `found`: of plans of one batch on
/// one cluster, what they have in common cancels out.
double probabilityFaster(const FoundPlan &best, const FoundPlan &found);

/// "dp8 tp2 pp4 mb1 zero1 zb-v".
std::string planText(const FoundPlan &found);

/// Prints the report of the best plan, then tables of the others.
void print(const SearchReport &report, llvm::raw_ostream &os);
/// The report of the best plan, with an object `search`.
llvm::json::Object toJson(const SearchReport &report);

/// Why no plan of a space can be: the options that exclude each other, the
/// memory that is missing. `result` is of the search, where there was one.
llvm::Error explainNoPlan(const Subject &subject,
                          llvm::ArrayRef<ClusterSpec> clusters,
                          const PlanSpace &given, const LayoutSpace &space,
                          const SearchResult *result, double fit = 0.5);

} // namespace tessera

#endif // TESSERA_PLANNING_SEARCHREPORT_H
