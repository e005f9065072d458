//===- Explanation.h - Figures of a topic -----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the section of a topic. Its table "figures" lists the figures, each
// with the table that it draws; the first columns of a table may be choices,
// for which a page has a slider and the text has the asked values.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_EXPLAIN_EXPLANATION_H
#define TESSERA_LIB_EXPLAIN_EXPLANATION_H

#include "tessera/Cost/PlanReport.h"
#include "tessera/Explain/Explain.h"
#include "tessera/Planning/PlanSection.h"
#include "llvm/Support/FormatVariadic.h"

namespace tessera::explain {

/// Gigabytes as texts have them, 1e9 bytes, and gibibytes, 2^30.
inline constexpr double kGB = 1e9, kGiB = 1 << 30;

/// A table, and how a page draws it.
struct ExplainFigure {
  /// The table's name, and the figure's.
  std::string name;
  /// "stack": a bar a row, with a part for each column of numbers; "curves":
  /// lines of all columns over the first; "cells": a grid of texts; "table":
  /// the table alone; "pipeline", "devices", "roofline", "state": the figures
  /// of a plan, from tables of the names that these have.
  std::string kind;
  /// A sentence that follows from the numbers.
  std::string heading;
  std::string note;
  Table table;
  /// Texts of the first columns, which are choices, in the rows that the text
  /// prints and the page shows first. Empty texts, after all others: the text
  /// prints all rows, and the page begins with the first.
  std::vector<std::string> chosen = {};
  /// The text leaves the table out.
  bool isLong = false;
};

/// A table whose first columns are choices: it has the rows of one table for
/// each combination of their values.
class ChoiceTable {
public:
  explicit ChoiceTable(std::vector<Table::Column> choices)
      : choices(std::move(choices)) {}

  /// Adds rows after the values of the choices. All tables have the same
  /// columns.
  void add(const std::vector<Table::Cell> &values, const Table &rows);
  Table finish() && { return std::move(table); }

private:
  std::vector<Table::Column> choices;
  Table table;
};

/// The section of a topic, figure by figure.
class Explanation {
public:
  Explanation(llvm::StringRef title, std::string verdict);

  void add(ExplainFigure figure);
  /// Adds a table that figures of a plan read in addition to their own. If its
  /// first columns are the choices of a figure, they choose its rows too.
  void addTable(llvm::StringRef name, Table table);
  /// Adds a paragraph.
  void say(std::string text);
  DocumentSection finish() &&;

private:
  DocumentSection section;
  Table notes{{"note"}};
  Table figures{{"figure", "kind", {"choices", "", 0}, "text", "note"}};
  Table chosen{{"figure", "choice", "value"}};
};

/// The sentence about a figure; empty if there is none.
llvm::StringRef findSentence(const DocumentSection &section,
                             llvm::StringRef figure);

/// Fails if a size is below 1, or above what a topic shows.
llvm::Error checkSize(llvm::StringRef topic, llvm::StringRef option,
                      int64_t size, int64_t most);

/// Fails if tp does not divide the hidden size.
llvm::Error checkColumns(const ExplainSizes &sizes);

/// `first` and its doubles up to `most`, and `asked` among them, sorted.
std::vector<int64_t> listDoubles(int64_t first, int64_t most, int64_t asked);

/// "2.0e12": a size with two digits.
std::string sizeText(double size);

/// Sizes with their texts: these, and the asked one, sorted.
std::vector<std::pair<std::string, double>>
listSizes(llvm::ArrayRef<double> offered, double asked);

/// The models that a page offers: the asked one, then some of share/models.
std::vector<ExplainedModel> listModels(const ExplainedModel &asked);

/// Bytes per parameter of the sizes' plan.
cost::StateBytes stateOf(const ExplainSizes &sizes);

/// The memory of a device of the cluster, in bytes.
double capacityOf(const ExplainSizes &sizes);

/// The peak of a device of the cluster in 16 bits, in FLOP/s.
double peakOf(const ExplainSizes &sizes);

/// State on each of 1 to `most` devices, and of 1,024 at least, under plain dp
/// and under ZeRO 1 to 3.
Table stateTable(const ExplainSizes &sizes, int64_t most);

/// The planner for a model and a cluster. The model must be whole.
class Planner {
public:
  explicit Planner(const ExplainSizes &sizes) : sizes(sizes) {}

  /// A plan of plain dp on `devices` devices, with one micro-batch.
  cost::ExecutedPlan makePlan(int64_t devices) const;
  /// The report of `tessera plan`.
  llvm::Expected<cost::PlanReport> report(const cost::ExecutedPlan &plan);
  /// The section of `tessera plan --html`.
  llvm::Expected<DocumentSection> section(const cost::ExecutedPlan &plan);

private:
  llvm::Expected<cost::ModelWork> read(const cost::ExecutedPlan &plan);

  const ExplainSizes &sizes;
  WorkReader reader;
  schedule::PipelinePricer pipelines;
};

// The topics.
using Section = llvm::Expected<DocumentSection>;
Section explainMemory(const ExplainSizes &sizes);
Section explainWall(const ExplainSizes &sizes);
Section explainCollectives(const ExplainSizes &sizes);
Section explainRing(const ExplainSizes &sizes);
Section explainServer(const ExplainSizes &sizes);
Section explainDataParallel(const ExplainSizes &sizes);
Section explainAccumulation(const ExplainSizes &sizes);
Section explainTensorParallel(const ExplainSizes &sizes);
Section explainPipeline(const ExplainSizes &sizes);
Section explainZero(const ExplainSizes &sizes);
Section explainFSDP(const ExplainSizes &sizes);
Section explainOffload(const ExplainSizes &sizes);
Section explainGrid(const ExplainSizes &sizes);
Section explainRoofline(const ExplainSizes &sizes);
Section explainStrategies(const ExplainSizes &sizes);
Section explainPrecision(const ExplainSizes &sizes);
Section explainCheckpointing(const ExplainSizes &sizes);
Section explainBatch(const ExplainSizes &sizes);
Section explainCost(const ExplainSizes &sizes);
Section explainCalculator(const ExplainSizes &sizes);
Section explainTerms(const ExplainSizes &sizes);
Section explainExercises(const ExplainSizes &sizes);

} // namespace tessera::explain

#endif // TESSERA_LIB_EXPLAIN_EXPLANATION_H
