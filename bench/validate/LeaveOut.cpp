//===- LeaveOut.cpp - Scores of groups that were left out -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LeaveOut.h"
#include "llvm/Support/Format.h"
#include <cmath>

using namespace llvm;
using namespace tessera;
using namespace tessera::validate;

static bool isTime(Metric metric) {
  return metric == Metric::StepTime || metric == Metric::LayerForward ||
         metric == Metric::LayerBackward;
}

std::string tessera::validate::groupOf(const Table &table, const PlanRow &row) {
  if (row.composed)
    return table.name + "/composed";
  return row.metric == Metric::StepTime ? table.name : table.name + "/layers";
}

std::vector<Group> tessera::validate::readGroups(ArrayRef<Table> tables,
                                                 Evaluator &evaluator) {
  std::map<std::string, Group> groups;
  for (const Table &table : tables) {
    if (!table.has("metric_name"))
      continue;
    for (size_t i = 0; i < table.rows.size(); ++i) {
      RowResult result = readRow(table, i);
      if (!result.skipped.empty() || !isTime(result.row.metric))
        continue;
      Expected<Prediction> prediction = evaluator.predict(result.row);
      if (!prediction) {
        consumeError(prediction.takeError());
        continue;
      }
      Group &group = groups[groupOf(table, result.row)];
      group.rows.push_back(std::move(result.row));
    }
  }
  std::vector<Group> list;
  for (auto &[name, group] : groups) {
    std::map<std::string, double> sizes;
    for (const PlanRow &row : group.rows)
      ++sizes[row.group];
    for (const PlanRow &row : group.rows)
      group.weights.push_back(row.composed ? 1 / sizes[row.group] : 1);
    group.name = name;
    list.push_back(std::move(group));
  }
  return list;
}

/// Every so many composed rows of a group are fitted: they are affine in layers
/// and micro-batches.
static constexpr size_t kComposedStep = 5;

static std::vector<FitRow> rowsToFit(ArrayRef<Group> groups) {
  std::vector<FitRow> rows;
  for (auto [index, group] : enumerate(groups))
    for (size_t i = 0; i < group.rows.size(); ++i)
      if (!group.rows[i].composed || i % kComposedStep == 0)
        rows.push_back({group.rows[i], index, group.weights[i]});
  return rows;
}

/// What of a row no other group has.
static Novelty noveltyOf(const PlanRow &row, ArrayRef<Group> groups,
                         size_t own) {
  Novelty novelty{true, true, true};
  for (auto [index, group] : enumerate(groups)) {
    if (index == own)
      continue;
    for (const PlanRow &other : group.rows) {
      novelty.device &= other.cluster != row.cluster;
      novelty.framework &= other.framework != row.framework;
      novelty.precision &= other.plan.precision != row.plan.precision;
    }
  }
  return novelty;
}

static std::vector<LeftOutRow> price(ArrayRef<Group> groups, size_t own,
                                     Evaluator &evaluator) {
  std::vector<LeftOutRow> rows;
  const Group &group = groups[own];
  for (auto [row, weight] : zip_equal(group.rows, group.weights)) {
    Expected<Prediction> prediction = evaluator.predict(row);
    if (!prediction) {
      consumeError(prediction.takeError());
      continue;
    }
    LeftOutRow left;
    left.row = row;
    left.sample.measured = row.measured;
    left.sample.predicted = prediction->value;
    left.sample.modelFlops = prediction->modelFlops;
    left.sample.devices = double(row.devices);
    left.sample.weight = weight;
    if (!row.composed && row.metric == Metric::StepTime)
      left.sample.sweep = row.sweep;
    left.novelty = noveltyOf(row, groups, own);
    rows.push_back(std::move(left));
  }
  return rows;
}

std::vector<std::vector<LeftOutRow>>
tessera::validate::leaveOneOut(ArrayRef<Group> groups, Evaluator &evaluator,
                               FitValues &fitted) {
  Fit fit(rowsToFit(groups), groups.size(), evaluator);
  fitted = fit.fit(fit.current(), std::nullopt, /*iterations=*/5);
  std::vector<std::vector<LeftOutRow>> leftOut;
  for (size_t i = 0; i < groups.size(); ++i) {
    fit.apply(fit.fit(fitted, i, /*iterations=*/3));
    leftOut.push_back(price(groups, i, evaluator));
  }
  fit.apply(fitted);
  return leftOut;
}

/// "8.1", or "-" for none.
static std::string percent(std::optional<double> share) {
  if (!share)
    return "-";
  std::string text;
  raw_string_ostream(text) << format("%.1f", 100 * *share);
  return text;
}

/// Samples of sweeps with so many rows.
static Samples inSweeps(const Samples &samples, size_t least) {
  std::map<std::string, size_t> sizes;
  for (const Sample &sample : samples)
    ++sizes[sample.sweep];
  Samples kept;
  for (const Sample &sample : samples)
    if (!sample.sweep.empty() && sizes[sample.sweep] >= least)
      kept.push_back(sample);
  return kept;
}

void tessera::validate::printMarkdown(
    ArrayRef<Group> groups, ArrayRef<std::vector<LeftOutRow>> leftOut,
    const std::map<std::string, double> &before, raw_ostream &os) {
  os << "| left out | rows | before | time | median | bias | null | regret | "
        "not seen | goal | |\n"
     << "|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (auto [group, rows] : zip_equal(groups, leftOut)) {
    Samples samples;
    double unseen = 0;
    Novelty some;
    for (const LeftOutRow &left : rows) {
      samples.push_back(left.sample);
      unseen += left.novelty.device || left.novelty.framework;
      some.device |= left.novelty.device;
      some.framework |= left.novelty.framework;
      some.precision |= left.novelty.precision;
    }
    double goal = 2 * unseen > double(rows.size()) ? 0.15 : 0.08;
    std::optional<double> error = meanError(samples), null = nullError(samples);
    bool holds = error && *error <= goal && (!null || *error < *null);
    std::string novel;
    for (auto [flag, name] : {std::pair(some.device, "device"),
                              std::pair(some.framework, "framework"),
                              std::pair(some.precision, "precision")})
      if (flag)
        novel += (novel.empty() ? "" : ", ") + std::string(name);
    auto found = before.find(group.name);
    os << "| " << group.name << " | " << rows.size() << " | "
       << percent(found == before.end() ? std::nullopt
                                        : std::optional(found->second / 100))
       << " | " << percent(error) << " | " << percent(medianError(samples))
       << " | " << percent(bias(samples)) << " | " << percent(null) << " | "
       << percent(regret(inSweeps(samples, 4))) << " | "
       << (novel.empty() ? "-" : novel) << " | " << percent(goal) << " | "
       << (holds ? "holds" : "does not hold") << " |\n";
  }
}
