//===- PlanJson.cpp - A plan's report as JSON, and comparisons --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/ExecutionFields.h"
#include "tessera/Cost/PlanReport.h"
#include "tessera/Report/Table.h"
#include "tessera/Support/Json.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace llvm;
using namespace tessera;
using namespace tessera::cost;

static json::Object memoryJson(const PlanReport &report) {
  json::Array stages;
  for (const StageMemory &stage : report.stages) {
    json::Object categories;
    for (const auto &[name, bytes] : stage.bytes.categories())
      categories[name] = bytes;
    stages.push_back(
        json::Object{{"categories", std::move(categories)},
                     {"total_bytes", stage.bytes.total()},
                     {"allocated_bytes", stage.bytes.allocated()},
                     {"reserved_bytes", stage.bytes.reserved()},
                     {"offloaded_bytes", stage.offloaded},
                     {"live_micro_batches", stage.liveMicroBatches}});
  }
  json::Array largest;
  for (const SavedTensor &tensor : report.largest)
    largest.push_back(
        json::Object{{"name", tensor.name}, {"bytes", tensor.bytes}});
  return json::Object{{"fits", report.fits()},
                      {"device_bytes", report.capacity},
                      {"headroom_bytes", report.headroom()},
                      {"fullest_stage", int64_t(report.fullest)},
                      {"stages", std::move(stages)},
                      {"largest_tensors", std::move(largest)}};
}

static json::Array trafficJson(const PlanReport &report) {
  json::Array list;
  for (const Traffic &traffic : report.traffic)
    list.push_back(json::Object{{"kind", traffic.kind},
                                {"axes", traffic.axes},
                                {"bytes", traffic.bytes}});
  return list;
}

json::Object tessera::cost::toJson(const PlanReport &report) {
  json::Object causes, resources;
  for (const Cause &cause : report.causes) {
    causes[cause.name] = cause.seconds;
    resources[cause.name] = cause.resource;
  }
  json::Array caveats;
  for (const std::string &caveat : report.caveats)
    caveats.push_back(json::fixUTF8(caveat));
  json::Object result{
      // Both may be names of files.
      {"model", json::fixUTF8(report.model)},
      {"framework", json::fixUTF8(report.framework)},
      {"parameters", report.parameters},
      {"cluster", report.cluster},
      {"device", report.device},
      {"layout", toJson(report.plan)},
      {"memory", memoryJson(report)},
      {"step", json::Object{{"seconds", report.stepSeconds},
                            {"causes", std::move(causes)},
                            {"resources", std::move(resources)}}},
      {"traffic", json::Object{{"stage", int64_t(report.busiest)},
                               {"received", trafficJson(report)}}},
      {"schedule_bubble", report.scheduleBubble},
      {"tokens_per_second", report.tokensPerSecond},
      {"mfu", report.mfu},
      {"hfu", report.hfu},
      {"peak_flops", report.peak},
      {"peak_dtype", report.peakType},
      {"model_flops_per_device", report.modelFlopsRate},
      {"bottleneck", report.bottleneck},
      {"bottleneck_share", report.bottleneckShare},
      {"step_interval", json::Object{{"share", 0.8},
                                     {"low", report.stepInterval.low},
                                     {"high", report.stepInterval.high}}},
      {"fit_probability", report.fitProbability},
      {"caveats", std::move(caveats)}};
  if (report.tokens > 0)
    result["budget"] = json::Object{{"tokens", report.tokens},
                                    {"days", report.days},
                                    {"device_hours", report.deviceHours},
                                    {"dollars", report.dollars}};
  return result;
}

namespace {

/// A number of both reports, and its name.
struct Pair {
  std::string name;
  double a = 0, b = 0;
};

} // namespace

/// Pairs the numbers of two objects by name, in the order of the first object;
/// names only in the second come last.
static std::vector<Pair> sideBySide(const json::Object &a,
                                    const json::Object &b) {
  std::map<std::string, Pair> pairs;
  for (const auto &entry : a)
    pairs[entry.first.str()].a = entry.second.getAsNumber().value_or(0);
  for (const auto &entry : b)
    pairs[entry.first.str()].b = entry.second.getAsNumber().value_or(0);
  std::vector<Pair> result;
  for (auto &[name, pair] : pairs) {
    pair.name = name;
    if (pair.a != pair.b)
      result.push_back(pair);
  }
  llvm::sort(result, [](const Pair &x, const Pair &y) {
    return std::pair(-std::abs(x.b - x.a), x.name) <
           std::pair(-std::abs(y.b - y.a), y.name);
  });
  return result;
}

/// The fields of a report that compare() needs. Reading fails with an error
/// that names a missing field.
namespace {
struct ReportFields {
  const json::Object *plan, *step, *causes, *memory, *categories;
  double seconds, tokensPerSecond, total, capacity;
  bool fits;
};
} // namespace

static Expected<ReportFields> readFields(const json::Object &report,
                                         StringRef name) {
  auto missing = [&](const char *what) {
    return createStringError(name +
                             ": expects a report of tessera plan --json "
                             "but got no '" +
                             what + "'");
  };
  ReportFields fields;
  fields.plan = report.getObject("layout");
  fields.step = report.getObject("step");
  fields.memory = report.getObject("memory");
  if (!fields.plan)
    return missing("layout");
  if (!fields.step || !fields.step->getNumber("seconds"))
    return missing("step");
  fields.causes = fields.step->getObject("causes");
  if (!fields.causes)
    return missing("causes");
  if (!fields.memory)
    return missing("memory");
  const json::Array *stages = fields.memory->getArray("stages");
  auto fullest = fields.memory->getInteger("fullest_stage");
  if (!stages || !fullest || *fullest < 0 ||
      size_t(*fullest) >= stages->size() || !(*stages)[*fullest].getAsObject())
    return missing("stages");
  const json::Object *stage = (*stages)[*fullest].getAsObject();
  fields.categories = stage->getObject("categories");
  if (!fields.categories)
    return missing("categories");
  fields.seconds = *fields.step->getNumber("seconds");
  fields.total = stage->getNumber("total_bytes").value_or(0);
  fields.capacity = fields.memory->getNumber("device_bytes").value_or(0);
  fields.fits = fields.memory->getBoolean("fits").value_or(false);
  fields.tokensPerSecond = report.getNumber("tokens_per_second").value_or(0);
  if (fields.seconds <= 0 || fields.tokensPerSecond <= 0)
    return missing("tokens_per_second");
  return fields;
}

static std::string valueText(const json::Object &object, StringRef key) {
  const json::Value *value = object.get(key);
  if (!value)
    return "-";
  if (auto text = value->getAsString())
    return text->str();
  return formatv("{0}", *value);
}

/// A plan with the fields of its execution among its own.
static json::Object flatten(const json::Object &plan) {
  json::Object flat = plan;
  if (const json::Object *execution = plan.getObject(kExecutionObject)) {
    for (const auto &[key, value] : *execution)
      flat.try_emplace(key, value);
    flat.erase(kExecutionObject);
  }
  return flat;
}

static Table planDifferences(const json::Object &a, const json::Object &b,
                             const ReportFields &x, const ReportFields &y,
                             StringRef nameA, StringRef nameB) {
  Table table({"plan", nameA.str(), nameB.str()});
  for (const char *key : {"model", "cluster", "device"})
    if (valueText(a, key) != valueText(b, key))
      table.addRow({key, valueText(a, key), valueText(b, key)});
  json::Object plan = flatten(*x.plan), other = flatten(*y.plan), both = plan;
  for (const auto &[key, value] : other)
    both.try_emplace(key, value);
  for (StringRef key : sortKeys(both))
    if (valueText(plan, key) != valueText(other, key))
      table.addRow({key.str(), valueText(plan, key), valueText(other, key)});
  return table;
}

/// A table of two numbers a row and their difference, which have the same unit
/// and as many decimals.
static Table makePairTable(const char *name, StringRef nameA, StringRef nameB,
                           const char *unit, int digits) {
  Table::Column difference("difference");
  difference.unit = unit;
  return Table({name,
                {nameA.str(), unit, digits},
                {nameB.str(), unit, digits},
                std::move(difference)});
}

static void addPair(Table &table, const std::string &name, double a, double b,
                    int digits) {
  table.addRow({name, a, b, {differenceText(b - a, digits), b - a}});
}

/// The causes of a difference in time for the tokens of a step.
static Table timeDifferences(const ReportFields &x, const ReportFields &y,
                             StringRef nameA, StringRef nameB) {
  constexpr int kDigits = 4;
  Table times = makePairTable("step, seconds", nameA, nameB, "s", kDigits);
  for (const Pair &pair : sideBySide(*x.causes, *y.causes))
    addPair(times, pair.name, pair.a, pair.b, kDigits);
  addPair(times, "total", x.seconds, y.seconds, kDigits);
  return times;
}

static Table memoryDifferences(const ReportFields &x, const ReportFields &y,
                               StringRef nameA, StringRef nameB) {
  constexpr int kDigits = 2;
  Table memory =
      makePairTable("fullest stage, GB (1e9)", nameA, nameB, "GB", kDigits);
  for (const Pair &pair : sideBySide(*x.categories, *y.categories))
    addPair(memory, pair.name, pair.a / 1e9, pair.b / 1e9, kDigits);
  addPair(memory, "total", x.total / 1e9, y.total / 1e9, kDigits);
  return memory;
}

/// Which plan is faster, and the cause that contributes most to it.
static std::string describeGain(const ReportFields &x, const ReportFields &y,
                                StringRef nameA, StringRef nameB) {
  double ratio = y.tokensPerSecond / x.tokensPerSecond;
  StringRef faster = ratio >= 1 ? nameB : nameA;
  double gain = ratio >= 1 ? ratio - 1 : 1 / ratio - 1;
  if (gain < 5e-4)
    return "both give as many tokens per second";
  std::string text =
      formatv("{0} gives {1:f1} % more tokens per second", faster, 100 * gain);
  // A cause favours the faster plan by the seconds that it saves.
  double sign = ratio >= 1 ? 1 : -1;
  const Pair *most = nullptr;
  std::vector<Pair> pairs = sideBySide(*x.causes, *y.causes);
  for (const Pair &pair : pairs)
    if (sign * (pair.a - pair.b) > 0 &&
        (!most || sign * (pair.a - pair.b) > sign * (most->a - most->b)))
      most = &pair;
  if (most)
    text += formatv(", above all by less of '{0}': {1} against {2}", most->name,
                    secondsText(std::min(most->a, most->b)),
                    secondsText(std::max(most->a, most->b)));
  return text;
}

Expected<DocumentSection> tessera::cost::compare(const json::Object &a,
                                                 const json::Object &b,
                                                 StringRef nameA,
                                                 StringRef nameB) {
  Expected<ReportFields> x = readFields(a, nameA);
  if (!x)
    return x.takeError();
  Expected<ReportFields> y = readFields(b, nameB);
  if (!y)
    return y.takeError();
  DocumentSection section;
  section.kind = "compare";
  section.title = (nameA + " and " + nameB).str();
  section.tables.emplace_back("plan",
                              planDifferences(a, b, *x, *y, nameA, nameB));
  section.tables.emplace_back("step", timeDifferences(*x, *y, nameA, nameB));
  section.tables.emplace_back("memory",
                              memoryDifferences(*x, *y, nameA, nameB));
  section.findings.emplace_back("verdict", describeGain(*x, *y, nameA, nameB));
  for (const auto &[figure, fields, name] :
       {std::tuple("fit of A", &*x, nameA), std::tuple("fit of B", &*y, nameB)})
    if (!fields->fits)
      section.findings.emplace_back(
          figure, (name + " does not fit: " + bytesText(fields->total) +
                   " of " + bytesText(fields->capacity))
                      .str());
  return section;
}

void tessera::cost::printComparison(const DocumentSection &section,
                                    raw_ostream &os) {
  for (const auto &[name, table] : section.tables) {
    table.print(os);
    os << "\n";
  }
  for (const auto &[figure, text] : section.findings)
    os << plainText(text) << "\n";
}
