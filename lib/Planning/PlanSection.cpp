//===- PlanSection.cpp - A plan's report as tables of a document ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables of the plan and sentences about them. Each sentence follows from the
// numbers by a rule here; a figure without one has its name as heading.
//
//===----------------------------------------------------------------------===//

#include "tessera/Planning/PlanSection.h"
#include "PlanFigures.h"
#include "tessera/Planning/DeviceFigures.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace tessera;
using namespace tessera::cost;
using llvm::formatv;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

/// The figures of a plan that are read first.
static Table factTable(const PlanReport &report) {
  Table table({"fact", "value", "note"});
  table.alignLeft(2);
  const MemoryBytes &memory = report.peakMemory();
  table.addRow({"fullest stage",
                {fixedText(memory.total() / 1e9, 1) + " GB", memory.total()},
                formatv("of {0:f1} GB, {1:f1} {2}", report.capacity / 1e9,
                        std::abs(report.headroom()) / 1e9,
                        report.headroom() >= 0 ? "free" : "too much")});
  table.addRow({"step",
                {secondsText(report.stepSeconds), report.stepSeconds},
                "80 %: " + secondsText(report.stepInterval.low) + " to " +
                    secondsText(report.stepInterval.high)});
  table.addRow({"MFU",
                {fixedText(100 * report.mfu, 1) + " %", 100 * report.mfu},
                formatv("of {0:f0} TFLOP/s, dense {1}", report.peak / 1e12,
                        report.peakType)});
  table.addRow({"tokens a second",
                {groupedText(report.tokensPerSecond), report.tokensPerSecond},
                formatv("{0} a step: {1} sequences of {2} in {3} micro-batches",
                        groupedText(report.plan.tokens()),
                        groupedText(double(report.plan.globalBatch())),
                        groupedText(double(report.plan.seq)),
                        groupedText(double(report.plan.microBatches)))});
  if (report.tokens > 0)
    table.addRow({formatv("{0:f1}e9 tokens", report.tokens / 1e9),
                  {fixedText(report.days, 1) + " days", report.days},
                  report.dollars > 0
                      ? "$" + groupedText(report.dollars)
                      : groupedText(report.deviceHours) + " device hours"});
  return table;
}

/// The settings of a plan, one a row.
static Table settingTable(const PlanReport &report) {
  Table table({"setting"});
  const ExecutedPlan &plan = report.plan;
  const std::string summary = plan.summary();
  for (StringRef word : llvm::split(StringRef(summary), " "))
    table.addRow({word.str()});
  if (plan.pp > 1)
    table.addRow({findField<Plan>("schedule")->print(plan)});
  table.addRow({stringify(plan.precision).str()});
  table.addRow({stringify(plan.optimizer).str()});
  if (!report.framework.empty())
    table.addRow({"as " + report.framework});
  return table;
}

Table tessera::makeDeviceTable(double capacity) {
  Table table({"mark", {"GB", "GB", 1}});
  table.addRow(
      {formatv("{0:f0} %", 100 * kFilledShare), kFilledShare * capacity / 1e9});
  table.addRow({"device", capacity / 1e9});
  return table;
}

/// The names of the categories that memoryTable() abbreviates.
static Table categoryNames(const PlanReport &report) {
  Table table({"category"});
  for (const auto &[name, bytes] : report.peakMemory().categories())
    table.addRow({name});
  return table;
}

/// The seconds of the step's model FLOPs at the peak of the device.
static double idealSeconds(const PlanReport &report) {
  return report.mfu * report.stepSeconds;
}

std::vector<Cause> tessera::listWaterfall(const PlanReport &report) {
  double ideal = idealSeconds(report), kernels = 0;
  std::vector<Cause> parts = {
      {"the model's FLOPs at the peak", ideal, "MFU"},
      {"what matmuls and attention lose", 0, "compute"}};
  for (const Cause &cause : report.causes)
    if (cause.resource == "compute")
      kernels += cause.seconds;
    else
      parts.push_back(cause);
  parts[1].seconds = kernels - ideal;
  return parts;
}

static Table waterfallTable(const PlanReport &report) {
  Table table({"part",
               {"begin", "s", 4},
               {"seconds", "s", 4},
               {"share", "%", 1, " %"},
               "waits for"});
  table.alignLeft(4);
  double begin = 0;
  for (const Cause &part : listWaterfall(report)) {
    table.addRow({part.name, begin, part.seconds,
                  100 * part.seconds / report.stepSeconds, part.resource});
    begin += part.seconds;
  }
  return table;
}

static Table trafficTable(const PlanReport &report) {
  Table table({"kind", "over", {"GB", "GB", 2}});
  table.alignLeft(1);
  for (const Traffic &traffic : report.traffic)
    table.addRow({traffic.kind, traffic.axes, traffic.bytes / 1e9});
  return table;
}

static Table caveatTable(const PlanReport &report) {
  Table table({"caveat"});
  for (const std::string &caveat : report.caveats)
    table.addRow({caveat});
  return table;
}

//===----------------------------------------------------------------------===//
// Findings
//===----------------------------------------------------------------------===//

/// A number of tokens to three digits: "464,000".
static std::string roundedText(double number) {
  double unit =
      number >= 1 ? std::pow(10.0, std::floor(std::log10(number)) - 2) : 1;
  return groupedText(unit < 1 ? number : std::round(number / unit) * unit);
}

/// The resources that the step waits for, the longest wait first.
static std::vector<std::pair<StringRef, double>>
listWaits(const PlanReport &report) {
  llvm::MapVector<StringRef, double> seconds;
  for (const Cause &cause : report.causes)
    seconds[cause.resource] += cause.seconds;
  auto waits = seconds.takeVector();
  llvm::stable_sort(
      waits, [](const auto &a, const auto &b) { return a.second > b.second; });
  return std::vector<std::pair<StringRef, double>>(waits.begin(), waits.end());
}

/// A resource as the end of "the step waits for".
static StringRef nameOfWait(StringRef resource) {
  return llvm::StringSwitch<StringRef>(resource)
      .Case("fixed", "what a step does once")
      .Case("bubble", "other stages")
      .Case("stragglers", "the slowest device")
      .Case("host", "the host")
      .Default(resource);
}

static std::string verdictOf(const PlanReport &report) {
  std::string devices = formatv(
      "{0} {1}", groupedText(double(report.plan.gpus())), report.device);
  if (!report.fits())
    return formatv("Does not fit on {0}: stage {1} needs {2:f1} GB of {3:f1}",
                   devices, report.fullest, report.peakMemory().total() / 1e9,
                   report.capacity / 1e9);
  std::string text = formatv("Fits on {0}: {1} a step, {2} tokens a second",
                             devices, secondsText(report.stepSeconds),
                             roundedText(report.tokensPerSecond));
  auto waits = listWaits(report);
  if (!waits.empty())
    text += formatv("; it waits for {0}", nameOfWait(waits[0].first));
  if (waits.size() > 1)
    text += formatv(", then for {0}", nameOfWait(waits[1].first));
  return text;
}

static std::string findMemory(const PlanReport &report) {
  const MemoryBytes &memory = report.peakMemory();
  if (report.headroom() < 0)
    return formatv("Stage {0} needs {1:f1} GB more than a device has",
                   report.fullest, -report.headroom() / 1e9);
  std::pair<StringRef, double> largest;
  for (auto [name, bytes] : memory.categories())
    if (bytes > largest.second)
      largest = {name, bytes};
  return formatv("{0} {1} {2:f0} % of the fullest stage",
                 llvm::toUpper(largest.first.front()) +
                     largest.first.drop_front().str(),
                 largest.first.ends_with("s") ? "are" : "is",
                 100 * largest.second / memory.total());
}

static std::string findWaterfall(const PlanReport &report) {
  double lost = report.stepSeconds - idealSeconds(report);
  const Table table = waterfallTable(report);
  std::pair<StringRef, double> largest;
  for (const auto &row : table.getRows().drop_front())
    if (*row[2].value > largest.second)
      largest = {row[0].text, *row[2].value};
  if (largest.first.empty())
    return "";
  double unit = report.stepSeconds >= 1      ? 1
                : report.stepSeconds >= 1e-3 ? 1e3
                                             : 1e6;
  return formatv("{0:f2} of {1:f2} {2} are not the model's arithmetic; the "
                 "largest part is {3}",
                 lost * unit, report.stepSeconds * unit,
                 unit == 1     ? "seconds"
                 : unit == 1e3 ? "ms"
                               : "us",
                 largest.first);
}

static std::string findBubble(const PlanReport &report) {
  for (const Cause &cause : report.causes)
    if (cause.resource == "bubble")
      return formatv("{0:f1} % of the step is bubble",
                     100 * cause.seconds / report.stepSeconds);
  return "The pipeline has no bubble";
}

static std::string findState(const PlanReport &report) {
  StateBytes each = stateBytes(report.plan, report.plan.execution());
  auto gigabytes = [&](int zero) {
    return shardedState(report.parameters, each, zero,
                        double(report.plan.gpus()))
               .sum() /
           1e9;
  };
  return formatv("ZeRO-3 over all {0} devices leaves {1:f2} of {2:f2} GB of "
                 "state on each",
                 groupedText(double(report.plan.gpus())), gigabytes(3),
                 gigabytes(0));
}

//===----------------------------------------------------------------------===//
// Sections
//===----------------------------------------------------------------------===//

llvm::Expected<DocumentSection>
tessera::makePlanSection(const PlanReport &report, const MinimumMemory &minimum,
                         const ModelWork &work, const ClusterSpec &cluster,
                         schedule::PipelinePricer &pricer) {
  PlanFigures figures(report, work, cluster);
  DocumentSection section;
  section.kind = "plan";
  section.title = report.model;
  auto add = [&](const char *name, Table table) {
    if (!table.isEmpty())
      section.tables.emplace_back(name, std::move(table));
  };
  auto addFinding = [&](const char *figure, std::string text) {
    if (!text.empty())
      section.findings.emplace_back(figure, std::move(text));
  };
  addFinding("verdict", verdictOf(report));
  addFinding("subject", formatv("{0}, {1} parameters, on {2}", report.model,
                                countText(report.parameters), report.cluster));
  addFinding("fit", formatv("fits: {0:f0} %", 100 * report.fitProbability));
  add("facts", factTable(report));
  add("settings", settingTable(report));
  add("memory", memoryTable(report));
  add("device", makeDeviceTable(report.capacity));
  add("categories", categoryNames(report));
  add("largest tensors", largestTable(report));
  addFinding("memory", findMemory(report));
  add("step", stepTable(report));
  add("waterfall", waterfallTable(report));
  addFinding("waterfall", findWaterfall(report));
  auto pipeline = figures.makePipeline(pricer);
  if (!pipeline)
    return pipeline.takeError();
  if (!pipeline->actions.isEmpty())
    addFinding("pipeline", findBubble(report));
  addFinding("pipeline note", std::move(pipeline->note));
  add("pipeline", std::move(pipeline->actions));
  Table axes = figures.makeAxes();
  addFinding("devices", describeAxes(axes, cluster));
  add("axes", std::move(axes));
  add("links", figures.makeLinks());
  add("received", trafficTable(report));
  Table kernels = figures.makeKernels();
  addFinding("roofline", describeKernels(kernels));
  add("kernels", std::move(kernels));
  add("ceilings", figures.makeCeilings());
  add("step points", figures.makeStepPoints());
  add("state", figures.makeStateCurves());
  addFinding("state", findState(report));
  add("minimum memory", categoryTable(minimum));
  addFinding("minimum memory", "The whole model needs " + minimumText(minimum));
  add("caveats", caveatTable(report));
  return section;
}

MinimumMemory tessera::makeMinimumMemory(const Subject &subject,
                                         const Plan &plan, double capacity) {
  return cost::makeMinimumMemory(subject.name(), subject.parameters(),
                                 subject.layers(), subject.hidden(), plan,
                                 capacity);
}

DocumentSection tessera::makeMinimumSection(const MinimumMemory &minimum) {
  DocumentSection section;
  section.kind = "minimum-memory";
  section.title = minimum.model;
  section.findings.emplace_back(
      "verdict", formatv("{0}, {1} parameters, needs {2}", minimum.model,
                         countText(minimum.parameters), minimumText(minimum)));
  Table device({"mark", {"GB", "GB", 1}});
  device.addRow({"device", minimum.capacity / 1e9});
  section.tables.emplace_back("device", std::move(device));
  section.tables.emplace_back("minimum memory", categoryTable(minimum));
  section.tables.emplace_back("zero", zeroTable(minimum));
  return section;
}
