//===- PlanPrint.cpp - A plan's report as text ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/ExecutionFields.h"
#include "tessera/Cost/PlanReport.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace tessera;
using namespace tessera::cost;

std::string tessera::cost::bytesText(double bytes) {
  constexpr double kGB = 1e9, kGiB = 1024.0 * 1024 * 1024;
  return formatv("{0:f1} GB ({1:f1} GiB)", bytes / kGB, bytes / kGiB);
}

std::string tessera::cost::secondsText(double seconds) {
  if (seconds >= 1)
    return formatv("{0:f2} s", seconds);
  if (seconds >= 1e-3)
    return formatv("{0:f1} ms", seconds * 1e3);
  return formatv("{0:f1} us", seconds * 1e6);
}

std::string tessera::cost::intervalText(double seconds,
                                        const Interval &interval) {
  // Both ends use the unit of the middle.
  double unit = seconds >= 1 ? 1 : seconds >= 1e-3 ? 1e3 : 1e6;
  return formatv("{0} (80 %: {1:f2} to {2:f2})", secondsText(seconds),
                 unit * interval.low, unit * interval.high);
}

std::string tessera::cost::countText(double count) {
  if (count >= 1e9)
    return formatv("{0:f1}e9", count / 1e9);
  if (count >= 1e6)
    return formatv("{0:f1}e6", count / 1e6);
  return formatv("{0:f0}", count);
}

static void printHead(const PlanReport &report, raw_ostream &os) {
  const ExecutedPlan &l = report.plan;
  os << formatv("{0}, {1} parameters, on {2} {3} ({4})\n",
                plainText(report.model), countText(report.parameters),
                groupedText(double(l.gpus())), plainText(report.device),
                plainText(report.cluster));
  os << l.summary();
  if (l.pp > 1)
    os << " schedule=" << findField<Plan>("schedule")->print(l);
  os << formatv(" precision={0} optimizer={1}", stringify(l.precision),
                stringify(l.optimizer));
  if (l.loraRank > 0)
    os << formatv(" lora={0} of {1}", l.loraRank, stringify(l.loraTargets));
  os << formatv("\n{0} tokens per step: {1} sequences of {2}",
                groupedText(l.tokens()), groupedText(double(l.globalBatch())),
                groupedText(double(l.seq)));
  if (l.documentTokens > 0)
    os << formatv(" in documents of {0}",
                  groupedText(double(l.documentTokens)));
  os << formatv(", {0} micro-batches\n", groupedText(double(l.microBatches)));
  if (!report.framework.empty())
    os << formatv("as {0}: {1}\n", plainText(report.framework),
                  describeSettings(l));
}

/// True if consecutive stages have the same numbers and share a line.
static bool looksTheSame(const StageMemory &a, const StageMemory &b) {
  return a.liveMicroBatches == b.liveMicroBatches &&
         a.bytes.total() == b.bytes.total() &&
         a.bytes.activations == b.bytes.activations;
}

/// Prints the blocks of each chunk; equal neighbours are merged.
static void printBlocks(ArrayRef<double> blocks, raw_ostream &os) {
  if (blocks.empty())
    return;
  os << "blocks of the chunks: ";
  ListSeparator comma;
  while (!blocks.empty()) {
    double count = blocks.front();
    size_t before = blocks.size();
    blocks = blocks.drop_while([&](double each) { return each == count; });
    size_t equal = before - blocks.size();
    os << comma;
    if (equal > 1)
      os << equal << " x ";
    os << format("%g", count);
  }
  os << "\n";
}

Table tessera::cost::memoryTable(const PlanReport &report) {
  static constexpr const char *kHeads[] = {
      "params", "grads", "optim",   "activ",  "gather", "comm",
      "logits", "work",  "context", "margin", "total",  "free"};
  std::vector<Table::Column> columns{"stage", {"live", "", 1}};
  for (const char *head : kHeads)
    columns.emplace_back(head, "GB", 2);
  Table table(std::move(columns));
  for (size_t i = 0; i < report.stages.size();) {
    size_t end = i + 1;
    while (end < report.stages.size() &&
           looksTheSame(report.stages[i], report.stages[end]))
      ++end;
    const StageMemory &stage = report.stages[i];
    std::vector<Table::Cell> row{
        end == i + 1 ? std::to_string(i) : formatv("{0}-{1}", i, end - 1).str(),
        stage.liveMicroBatches};
    for (const auto &[name, bytes] : stage.bytes.categories())
      row.push_back(bytes / 1e9);
    row.push_back(stage.bytes.total() / 1e9);
    row.push_back((report.capacity - stage.bytes.total()) / 1e9);
    table.addRow(std::move(row));
    i = end;
  }
  return table;
}

Table tessera::cost::largestTable(const PlanReport &report) {
  Table table({"largest tensors", {"GB", "GB", 2}});
  for (const SavedTensor &tensor : report.largest)
    table.addRow({tensor.name, tensor.bytes / 1e9});
  return table;
}

static void printMemory(const PlanReport &report, raw_ostream &os) {
  printBlocks(report.plan.stageLayers, os);
  os << "\nMemory of a device at its peak, GB (1e9 bytes); live: "
        "micro-batches kept\n";
  memoryTable(report).print(os);
  const StageMemory &fullest = report.stages[report.fullest];
  double total = fullest.bytes.total();
  os << formatv("{0}: stage {1} needs {2} of {3}, {4} {5}\n",
                report.fits() ? "fits" : "DOES NOT FIT", report.fullest,
                bytesText(total), bytesText(report.capacity),
                bytesText(std::abs(report.headroom())),
                report.headroom() >= 0 ? "free" : "too much");
  if (report.fitsEven)
    os << "it fits with --stage-layers even: stages that take equally long "
          "need more memory here\n";
  if (total > 0.75 * report.capacity && report.headroom() >= 0)
    os << "more than 75 % of the memory is filled: little is left for what "
          "the model does not count\n";
  if (report.plan.offload != Offload::None)
    os << formatv("offloaded to {0}: {1} of {2} per device\n",
                  stringify(report.plan.offload), bytesText(fullest.offloaded),
                  bytesText(report.offloadCapacity));
  if (Table largest = largestTable(report); !largest.isEmpty()) {
    os << formatv("largest tensors of stage {0}:", report.fullest);
    for (const auto &[i, row] : enumerate(largest.getRows()))
      os << formatv("{0} {1} {2} GB", i ? "," : "", row[0].text, row[1].text);
    os << "\n";
  }
}

Table tessera::cost::stepTable(const PlanReport &report) {
  Table table(
      {"step", {"seconds", "s", 4}, {"share", "%", 1, " %"}, "waits for"});
  for (const Cause &cause : report.causes)
    table.addRow({cause.name, cause.seconds,
                  100 * cause.seconds / report.stepSeconds, cause.resource});
  table.addRow({"total", report.stepSeconds, 100, ""});
  table.alignLeft(3);
  return table;
}

static void printTime(const PlanReport &report, raw_ostream &os) {
  os << "\n";
  stepTable(report).print(os);
  os << formatv(
      "{0} tokens/s, {1:f1} per device; {2:f1} model TFLOP/s per device\n",
      groupedText(report.tokensPerSecond),
      report.tokensPerSecond / double(report.plan.gpus()),
      report.modelFlopsRate / 1e12);
  os << formatv("MFU {0:f1} %, HFU {1:f1} % of the dense {2} peak of {3:f0} "
                "TFLOP/s\n",
                100 * report.mfu, 100 * report.hfu, report.peakType,
                report.peak / 1e12);
  if (report.bottleneck == "memory")
    os << formatv("bottleneck: memory, {0:f0} % of a device's\n",
                  100 * report.bottleneckShare);
  else
    os << formatv("bottleneck: {0}, {1:f0} % of the step\n", report.bottleneck,
                  100 * report.bottleneckShare);
}

/// Prints the bytes that the busiest stage receives, and the bubble of the
/// schedule.
static void printTraffic(const PlanReport &report, raw_ostream &os) {
  if (report.plan.pp > 1)
    os << formatv("bubble of the schedule alone, with equal stages and no "
                  "transfers: {0:f1} % of it\n",
                  100 * report.scheduleBubble);
  // Skip numbers that would be printed as 0.00.
  std::string text;
  for (const Traffic &traffic : report.traffic)
    if (traffic.bytes >= 0.005e9)
      text += formatv("{0}{1} over {2} {3:f2}", text.empty() ? "" : ", ",
                      traffic.kind, traffic.axes, traffic.bytes / 1e9);
  if (!text.empty())
    os << formatv("a device of stage {0} receives in a step, GB: {1}\n",
                  report.busiest, text);
}

static void printBudget(const PlanReport &report, raw_ostream &os) {
  if (report.tokens <= 0)
    return;
  os << formatv("\n{0}e9 tokens: {1:f1} days, {2} device hours",
                formatv("{0:f1}", report.tokens / 1e9).str(), report.days,
                groupedText(report.deviceHours));
  if (report.dollars > 0)
    os << formatv(", ${0}", groupedText(report.dollars));
  os << "\n";
}

void tessera::cost::print(const PlanReport &report, raw_ostream &os) {
  printHead(report, os);
  printMemory(report, os);
  printTime(report, os);
  printTraffic(report, os);
  printBudget(report, os);
  os << "\n"
     << intervalText(report.stepSeconds, report.stepInterval) << "\n"
     << formatv("fits: {0:f0} %\n", 100 * report.fitProbability);
  for (const std::string &caveat : report.caveats)
    os << "  " << caveat << "\n";
}
