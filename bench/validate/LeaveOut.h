//===- LeaveOut.h - Scores of groups that were left out ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fits the constants on all groups but one, prices that one, and repeats this
// for each group: this measures how good the model is on runs that it has not
// seen.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_BENCH_VALIDATE_LEAVEOUT_H
#define TESSERA_BENCH_VALIDATE_LEAVEOUT_H

#include "Fit.h"
#include "Scores.h"
#include "tessera/Cost/Uncertainty.h"

namespace tessera::validate {

/// A row of a group, priced without the group.
struct LeftOutRow {
  PlanRow row;
  Sample sample;
  /// The properties that no row has that the constants were fitted on.
  cost::Novelty novelty;
  /// For a row in a sweep of four layouts or more: the mean and the median
  /// error of the other rows after this row has been observed (cost::observe).
  struct OthersError {
    double mean = 0, median = 0;
  };
  std::optional<OthersError> onceObserved;

  /// True if the measurement is in the 80 % interval that a plan's report would
  /// give if rows of a known framework and device had this width.
  bool isInside(double known) const;
};

/// The group of a row of a table: its rows with one kind of device and one kind
/// of measurement; models with experts are separate groups.
std::string groupOf(const Table &table, const PlanRow &row);

/// The rows of a table with step and layer times, with weights: composed rows
/// of one group count once.
struct Group {
  std::string name;
  std::vector<PlanRow> rows;
  std::vector<double> weights;
};
std::vector<Group> readGroups(llvm::ArrayRef<Table> tables,
                              Evaluator &evaluator);

/// Prices each group with the constants that are fitted without it, in the
/// order of the groups. The evaluator and `fitted` get the constants of the fit
/// on all groups.
std::vector<std::vector<LeftOutRow>> leaveOneOut(llvm::ArrayRef<Group> groups,
                                                 Evaluator &evaluator,
                                                 FitValues &fitted);

/// Fits the constants on all groups and prices each with them.
std::vector<std::vector<LeftOutRow>>
fitOnAll(llvm::ArrayRef<Group> groups, Evaluator &evaluator, FitValues &fitted);

/// The interval width of known frameworks and devices (cost::kKnownTimeWidth)
/// for which four of five left-out rows are in their intervals, over all groups
/// except `left`; all groups count equally. Rows with experts have their own
/// doubt and do not count.
double fitWidth(llvm::ArrayRef<std::vector<LeftOutRow>> leftOut,
                std::optional<size_t> left);

/// Prints the scores as a Markdown table. Columns: time, median, bias, the null
/// model of a group's own rows and of all other rows of its device, regret of
/// sweeps of four layouts and more, the mean and the median error on the rest
/// of a sweep after one row is observed, whether device and framework are known
/// without the group, whether the goal holds (8 % for a known device and
/// framework, 15 % otherwise, and less than the null model of its own rows),
/// the share of rows within the 80 % interval that a report would give, and the
/// median of its width. `before` has errors of an earlier run by group, in
/// percent.
void printMarkdown(llvm::ArrayRef<Group> groups,
                   llvm::ArrayRef<std::vector<LeftOutRow>> leftOut,
                   const std::map<std::string, double> &before,
                   llvm::raw_ostream &os);

/// Prints how well two layouts of a sweep are compared, for left-out rows: by
/// the differences between them, the half width that contains four of five
/// ratios, and how often the layout that is predicted to be faster with some
/// probability is faster.
void printPairs(llvm::ArrayRef<std::vector<LeftOutRow>> leftOut,
                llvm::raw_ostream &os);

} // namespace tessera::validate

#endif // TESSERA_BENCH_VALIDATE_LEAVEOUT_H
