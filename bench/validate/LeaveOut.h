//===- LeaveOut.h - Scores of groups that were left out ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fits the constants on all groups but one, prices that one, and so on for
// each: how good the model is on runs that it has not seen.
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
  /// How it differs from all rows that the constants were fitted on.
  cost::Novelty novelty;
  /// Of a row in a sweep of four layouts or more: the mean and the median error
  /// of the others once it has been observed (cost::observe).
  struct OthersError {
    double mean = 0, median = 0;
  };
  std::optional<OthersError> onceObserved;

  /// Whether the measurement is in the 80 % interval that a plan's report would
  /// state if rows of a known framework and device had this width.
  bool isInside(double known) const;
};

/// The group of a row of a table: its rows of one kind of device and of one
/// kind of measurement; of models with experts apart.
std::string groupOf(const Table &table, const PlanRow &row);

/// The rows of step and layer times that a table has, with weights: composed
/// rows of one group count once.
struct Group {
  std::string name;
  std::vector<PlanRow> rows;
  std::vector<double> weights;
};
std::vector<Group> readGroups(llvm::ArrayRef<Table> tables,
                              Evaluator &evaluator);

/// Prices each group with the constants that are fitted without it; in the
/// order of the groups. The evaluator keeps the constants of the fit on all,
/// which `fitted` is given.
std::vector<std::vector<LeftOutRow>> leaveOneOut(llvm::ArrayRef<Group> groups,
                                                 Evaluator &evaluator,
                                                 FitValues &fitted);

/// Fits the constants on all groups and prices each with them.
std::vector<std::vector<LeftOutRow>>
fitOnAll(llvm::ArrayRef<Group> groups, Evaluator &evaluator, FitValues &fitted);

/// The interval width of known frameworks and devices (cost::kKnownTimeWidth)
/// with which four of five left-out rows are in their intervals, of all groups
/// but `left`; each group counts as much as any other. Rows with experts have a
/// doubt of their own and do not count.
double fitWidth(llvm::ArrayRef<std::vector<LeftOutRow>> leftOut,
                std::optional<size_t> left);

/// The scores as a table of Markdown: time, median, bias, the null model of a
/// group's own rows, that of all other rows of its device, regret of sweeps of
/// four layouts and more, the mean and the median error on the rest of them
/// once one row of them is observed, whether device and framework are known
/// without the group, and whether the goal holds (8 % of a known device and
/// framework, 15 % otherwise, and less than the null model of its own rows);
/// the share of rows within the 80 % interval that a report would state, and
/// the median of its width. `before` are errors of an earlier run by group, in
/// percent.
void printMarkdown(llvm::ArrayRef<Group> groups,
                   llvm::ArrayRef<std::vector<LeftOutRow>> leftOut,
                   const std::map<std::string, double> &before,
                   llvm::raw_ostream &os);

/// How well two layouts of a sweep are compared, of left-out rows: by what
/// differs between them, the half width that has four of five quotients, and
/// how often the one that is said to be faster by some probability is.
void printPairs(llvm::ArrayRef<std::vector<LeftOutRow>> leftOut,
                llvm::raw_ostream &os);

} // namespace tessera::validate

#endif // TESSERA_BENCH_VALIDATE_LEAVEOUT_H
