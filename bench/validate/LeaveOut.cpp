//===- LeaveOut.cpp - Scores of groups that were left out -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LeaveOut.h"
#include "tessera/Cost/Observe.h"
#include "llvm/Support/Format.h"
#include <cmath>
#include <set>

using namespace llvm;
using namespace tessera;
using namespace tessera::validate;

static bool isTime(Metric metric) {
  return metric == Metric::StepTime || metric == Metric::LayerForward ||
         metric == Metric::LayerBackward;
}

/// The family of a preset's devices: A100s of 40 and 80 GB share one set of
/// constants.
static StringRef familyOf(const PlanRow &row) {
  StringRef cluster = row.cluster;
  return cluster.starts_with("a100") ? "a100-sxm-ib" : cluster;
}

std::string tessera::validate::groupOf(const Table &table, const PlanRow &row) {
  std::string name = table.name + " " + familyOf(row).rsplit('-').first.str();
  if (row.composed)
    return name + " composed";
  if (row.sparse)
    return name + " experts";
  return row.metric == Metric::StepTime ? name : name + " layers";
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
      if (Error error = evaluator.prepare(result.row)) {
        consumeError(std::move(error));
        continue;
      }
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

/// Only every kComposedStep-th composed row of a group is fitted, since these
/// rows are affine in layers and micro-batches.
static constexpr size_t kComposedStep = 5;

static std::vector<FitRow> rowsToFit(ArrayRef<Group> groups) {
  std::vector<FitRow> rows;
  for (auto [index, group] : enumerate(groups))
    for (size_t i = 0; i < group.rows.size(); ++i)
      if (!group.rows[i].composed || i % kComposedStep == 0)
        rows.push_back({group.rows[i], index, group.weights[i]});
  return rows;
}

/// Differences of a row from the rows of all other groups.
static cost::Novelty noveltyOf(const PlanRow &row, ArrayRef<Group> groups,
                               size_t own) {
  cost::Novelty novelty;
  novelty.device = novelty.framework = novelty.precision = true;
  novelty.sequence = row.plan.seq > cost::kLongSequence;
  novelty.size = row.devices > cost::kManyDevices;
  novelty.experts = row.sparse.has_value();
  for (auto [index, group] : enumerate(groups)) {
    if (index == own)
      continue;
    for (const PlanRow &other : group.rows) {
      if (other.sparse)
        continue;
      novelty.device &= familyOf(other) != familyOf(row);
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
    if (!row.composed && row.metric == Metric::StepTime) {
      left.sample.sweep = row.sweep;
      left.sample.layout = row.layout;
    }
    left.novelty = noveltyOf(row, groups, own);
    rows.push_back(std::move(left));
  }
  return rows;
}

/// The smallest number of layouts for which a sweep is a choice.
static constexpr size_t kSweep = 4;

/// The error of the other rows of a sweep, on the cluster after one row was
/// observed.
static std::optional<LeftOutRow::OthersError>
errorOnceObserved(const LeftOutRow &observed, ArrayRef<LeftOutRow *> sweep,
                  Evaluator &evaluator) {
  Expected<ClusterSpec> spec = evaluator.clusterOf(observed.row);
  if (!spec) {
    consumeError(spec.takeError());
    return std::nullopt;
  }
  cost::Observation observation;
  observation.plan = observed.row.plan;
  observation.seconds = observed.row.measured;
  auto price =
      [&](const ClusterSpec &cluster,
          const cost::ExecutedPlan &) -> Expected<cost::ObservedPrice> {
    Expected<Prediction> prediction = evaluator.predict(observed.row, cluster);
    if (!prediction)
      return prediction.takeError();
    return cost::ObservedPrice{prediction->value, 0};
  };
  auto fit = cost::observe(*spec, observation, "", price);
  if (!fit) {
    consumeError(fit.takeError());
    return std::nullopt;
  }
  Samples others;
  for (const LeftOutRow *other : sweep) {
    if (other == &observed)
      continue;
    Expected<Prediction> prediction = evaluator.predict(other->row, *spec);
    if (!prediction) {
      consumeError(prediction.takeError());
      continue;
    }
    others.push_back(other->sample);
    others.back().predicted = prediction->value;
  }
  return LeftOutRow::OthersError{meanError(others).value_or(0),
                                 medianError(others).value_or(0)};
}

/// Observes each row of each sweep that is large enough.
static void observeSweeps(std::vector<LeftOutRow> &rows, Evaluator &evaluator) {
  std::map<std::string, std::vector<LeftOutRow *>> sweeps;
  for (LeftOutRow &left : rows)
    if (!left.sample.sweep.empty())
      sweeps[left.sample.sweep].push_back(&left);
  for (const auto &[name, sweep] : sweeps) {
    std::set<StringRef> layouts;
    for (const LeftOutRow *left : sweep)
      layouts.insert(left->sample.layout);
    if (layouts.size() >= kSweep)
      for (LeftOutRow *left : sweep)
        left->onceObserved = errorOnceObserved(*left, sweep, evaluator);
  }
}

std::vector<std::vector<LeftOutRow>>
tessera::validate::leaveOneOut(ArrayRef<Group> groups, Evaluator &evaluator,
                               FitValues &fitted) {
  Fit fit(rowsToFit(groups), groups.size(), evaluator);
  fitted = fit.fitAll(evaluator);
  std::vector<std::vector<LeftOutRow>> leftOut(groups.size());
  forEachInParallel(groups.size(), evaluator, [&](size_t i, Evaluator &own) {
    Fit::apply(fit.fitWithout(i, fitted, own), own);
    leftOut[i] = price(groups, i, own);
    observeSweeps(leftOut[i], own);
  });
  return leftOut;
}

std::vector<std::vector<LeftOutRow>>
tessera::validate::fitOnAll(ArrayRef<Group> groups, Evaluator &evaluator,
                            FitValues &fitted) {
  Fit fit(rowsToFit(groups), groups.size(), evaluator);
  fitted = fit.fitAll(evaluator);
  std::vector<std::vector<LeftOutRow>> priced;
  for (size_t i = 0; i < groups.size(); ++i)
    priced.push_back(price(groups, i, evaluator));
  return priced;
}

/// Formats a share as "8.1", or "-" for none.
static std::string percent(std::optional<double> share) {
  if (!share)
    return "-";
  std::string text;
  raw_string_ostream(text) << format("%.1f", 100 * *share);
  return text;
}

bool LeftOutRow::isInside(double known) const {
  cost::Interval interval =
      cost::intervalOf(sample.predicted, cost::timeDoubt(novelty, known));
  return sample.measured >= interval.low && sample.measured <= interval.high;
}

/// The share of rows within their intervals.
static double shareInside(ArrayRef<LeftOutRow> rows, double known) {
  auto isInside = [&](const LeftOutRow &row) { return row.isInside(known); };
  return double(count_if(rows, isInside)) / double(rows.size());
}

/// The median of the widths of their intervals, relative to the prediction.
static double medianWidth(ArrayRef<LeftOutRow> rows, double known) {
  std::vector<double> widths;
  for (const LeftOutRow &row : rows) {
    cost::Interval interval =
        cost::intervalOf(1, cost::timeDoubt(row.novelty, known));
    widths.push_back(interval.high - interval.low);
  }
  sort(widths);
  return widths[widths.size() / 2];
}

double tessera::validate::fitWidth(ArrayRef<std::vector<LeftOutRow>> leftOut,
                                   std::optional<size_t> left) {
  auto meanShare = [&](double known) {
    double sum = 0, groups = 0;
    for (auto [index, rows] : enumerate(leftOut)) {
      if (index == left || rows.empty() || rows.front().row.sparse)
        continue;
      sum += shareInside(rows, known);
      ++groups;
    }
    return sum / groups;
  };
  // Wider intervals contain more rows: bisection.
  double low = 0, high = 1;
  for (int i = 0; i < 40; ++i) {
    double middle = (low + high) / 2;
    (meanShare(middle) < 0.8 ? low : high) = middle;
  }
  return high;
}

/// The error on a group's samples of the null model that is best on all other
/// rows of its device, with experts if the group has experts.
static std::optional<double>
nullOfOthers(ArrayRef<std::vector<LeftOutRow>> leftOut, size_t left,
             const Samples &samples) {
  if (leftOut[left].empty())
    return std::nullopt;
  const PlanRow &first = leftOut[left].front().row;
  Samples others;
  for (auto [index, rows] : enumerate(leftOut))
    for (const LeftOutRow &other : rows)
      if (index != left && other.row.cluster == first.cluster &&
          other.row.sparse.has_value() == first.sparse.has_value())
        others.push_back(other.sample);
  return nullError(samples, others);
}

/// Means over the observed rows.
static std::optional<LeftOutRow::OthersError>
meanOnceObserved(ArrayRef<LeftOutRow> rows) {
  LeftOutRow::OthersError mean;
  double count = 0;
  for (const LeftOutRow &left : rows)
    if (left.onceObserved) {
      mean.mean += left.onceObserved->mean;
      mean.median += left.onceObserved->median;
      ++count;
    }
  if (count == 0)
    return std::nullopt;
  return LeftOutRow::OthersError{mean.mean / count, mean.median / count};
}

void tessera::validate::printMarkdown(
    ArrayRef<Group> groups, ArrayRef<std::vector<LeftOutRow>> leftOut,
    const std::map<std::string, double> &before, raw_ostream &os) {
  os << "| left out | rows | before | time | median | bias | null | null, left "
        "out | regret | one row | its median | in 80 % | width | in, of "
        "others | width | not seen | goal | |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
        "---|\n";
  double all = 0, allInside = 0, allInsideOthers = 0;
  for (auto [index, group, rows] : enumerate(groups, leftOut)) {
    Samples samples;
    double unseen = 0;
    double others = fitWidth(leftOut, index);
    cost::Novelty some;
    for (const LeftOutRow &left : rows) {
      samples.push_back(left.sample);
      unseen += left.novelty.device || left.novelty.framework;
      some.device |= left.novelty.device;
      some.framework |= left.novelty.framework;
      some.precision |= left.novelty.precision;
    }
    double inside = shareInside(rows, cost::kKnownTimeWidth),
           insideOthers = shareInside(rows, others);
    std::optional<double> observed, observedMedian;
    if (auto mean = meanOnceObserved(rows)) {
      observed = mean->mean;
      observedMedian = mean->median;
    }
    all += double(rows.size());
    allInside += inside * double(rows.size());
    allInsideOthers += insideOthers * double(rows.size());
    double goal = 2 * unseen > double(rows.size()) ? 0.15 : 0.08;
    std::optional<double> error = meanError(samples),
                          null = nullError(samples, samples);
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
       << percent(nullOfOthers(leftOut, index, samples)) << " | "
       << percent(regret(samples, kSweep)) << " | " << percent(observed)
       << " | " << percent(observedMedian) << " | " << percent(inside) << " | "
       << percent(medianWidth(rows, cost::kKnownTimeWidth)) << " | "
       << percent(insideOthers) << " | " << percent(medianWidth(rows, others))
       << " | " << (novel.empty() ? "-" : novel) << " | " << percent(goal)
       << " | " << (holds ? "holds" : "does not hold") << " |\n";
  }
  os << "\nOf all left-out rows, " << percent(allInside / all)
     << " % are within the 80 % interval, and "
     << percent(allInsideOthers / all)
     << " % where its width is that of the other groups. Of all groups, what "
        "is "
        "known has a width of "
     << percent(fitWidth(leftOut, std::nullopt)) << " %; reports state "
     << percent(cost::kKnownTimeWidth) << ".\n";
}

//===----------------------------------------------------------------------===//
// Pairs
//===----------------------------------------------------------------------===//

namespace {

/// Two rows of a sweep.
struct Pair {
  const LeftOutRow *a, *b;

  double predicted() const {
    return std::log(a->sample.predicted / b->sample.predicted);
  }
  double measured() const {
    return std::log(a->sample.measured / b->sample.measured);
  }
  /// The predicted probability that `a` is faster.
  double probability() const {
    return cost::probabilityFaster(a->row.plan, a->sample.predicted,
                                   b->row.plan, b->sample.predicted);
  }
};

} // namespace

static std::vector<Pair> listPairs(ArrayRef<std::vector<LeftOutRow>> leftOut) {
  std::vector<Pair> pairs;
  for (const std::vector<LeftOutRow> &rows : leftOut)
    for (size_t i = 0; i < rows.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (!rows[i].sample.sweep.empty() &&
            rows[i].sample.sweep == rows[j].sample.sweep &&
            rows[i].row.plan != rows[j].row.plan)
          pairs.push_back({&rows[i], &rows[j]});
  return pairs;
}

/// Names the differences of two plans that ratioDoubt() distinguishes: "axes,
/// stages".
static std::string differencesOf(const Plan &a, const Plan &b) {
  std::string text;
  auto add = [&](bool differs, const char *name) {
    if (differs)
      text += (text.empty() ? "" : ", ") + std::string(name);
  };
  cost::PlanDifference difference = cost::differenceOf(a, b);
  add(difference.axes, "axes");
  add(difference.stages, "stages");
  add(difference.memory, "memory");
  return text.empty() ? "batch" : text;
}

void tessera::validate::printPairs(ArrayRef<std::vector<LeftOutRow>> leftOut,
                                   raw_ostream &os) {
  std::map<std::string, std::vector<double>> errors;
  // Calibration by tenths of the probability of the plan that is predicted to
  // be faster.
  std::map<int, std::pair<size_t, size_t>> calibration;
  // Pairs where one takes 30 % longer, and those among them that are predicted
  // correctly with a probability of at least 90 %.
  size_t apart = 0, apartAndSure = 0;
  for (const Pair &pair : listPairs(leftOut)) {
    errors[differencesOf(pair.a->row.plan, pair.b->row.plan)].push_back(
        std::fabs(pair.predicted() - pair.measured()));
    double probability = pair.probability();
    bool isRight = (probability > 0.5) == (pair.measured() < 0);
    auto &[count, right] =
        calibration[int(10 * std::max(probability, 1 - probability))];
    ++count;
    right += isRight;
    if (std::fabs(pair.measured()) >= std::log(1.3)) {
      ++apart;
      apartAndSure += isRight && std::max(probability, 1 - probability) >= 0.9;
    }
  }
  os << "| plans differ in | pairs | median | four of five "
        "|\n|---|---|---|---|\n";
  for (auto &[name, list] : errors) {
    sort(list);
    os << "| " << name << " | " << list.size() << " | "
       << percent(list[list.size() / 2]) << " | "
       << percent(list[list.size() * 4 / 5]) << " |\n";
  }
  os << "\n| said to be faster by | pairs | are |\n|---|---|---|\n";
  for (auto [tenth, counts] : calibration)
    os << "| " << 10 * tenth << " % and more | " << counts.first << " | "
       << percent(double(counts.second) / double(counts.first)) << " |\n";
  os << "\nOf " << apart << " pairs that are 30 % apart, "
     << percent(double(apartAndSure) / double(std::max<size_t>(apart, 1)))
     << " % are said to be in their order with 90 % and more.\n";
}
