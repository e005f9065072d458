//===- PlanFigures.cpp - Tables that only figures show --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanFigures.h"
#include "tessera/Planning/DeviceFigures.h"
#include "tessera/Schedule/Timing.h"
#include "llvm/ADT/StringExtras.h"

using namespace tessera;
using namespace tessera::cost;
using llvm::StringRef;

/// The most actions that a figure shows, and the most that are simulated for
/// it.
static constexpr int64_t kMaxShownActions = 40000,
                         kMaxSimulatedActions = 2000000;

std::string PlanFigures::linkOf(llvm::ArrayRef<PlanAxis> axes) const {
  return nameLink(machine, cluster, axes);
}

//===----------------------------------------------------------------------===//
// Pipeline
//===----------------------------------------------------------------------===//

namespace {
/// A unit of time in which a longest time has digits before the point.
struct TimeUnit {
  const char *name;
  double perSecond;
};
} // namespace

static TimeUnit timeUnitOf(double longest) {
  if (longest >= 1)
    return {"s", 1};
  if (longest >= 1e-3)
    return {"ms", 1e3};
  return {"us", 1e6};
}

static const char *actionText(schedule::ActionKind kind) {
  switch (kind) {
  case schedule::ActionKind::Forward:
    return "F";
  case schedule::ActionKind::InputGrad:
    return "B";
  case schedule::ActionKind::WeightGrad:
    return "W";
  case schedule::ActionKind::Backward:
    return "BW";
  case schedule::ActionKind::Overlapped:
    return "F+BW";
  default:
    llvm_unreachable("transfers are not shown");
  }
}

ShownPipeline tessera::showActions(
    const schedule::Schedule &list,
    llvm::ArrayRef<std::vector<schedule::CompiledSchedule::ActionTime>> times) {
  double longest = 0;
  size_t count = 0;
  for (const auto &rank : times) {
    longest = std::max(longest, rank.empty() ? 0 : rank.back().end);
    count += rank.size();
  }
  TimeUnit unit = timeUnitOf(longest);
  Table table({{"rank", "", 0},
               "action",
               {"chunk", "", 0},
               {"micro-batch", "", 0},
               {"backward chunk", "", 0},
               {"backward micro-batch", "", 0},
               {"begin", unit.name, 6},
               {"end", unit.name, 6}});
  size_t shown = count <= kMaxShownActions
                     ? count
                     : kMaxShownActions / list.ranks.size() / 2;
  for (auto [rank, actions] : llvm::enumerate(list.ranks))
    for (auto [i, action] : llvm::enumerate(actions)) {
      if (i >= shown && i + shown < actions.size())
        continue;
      bool isPair = action.kind == schedule::ActionKind::Overlapped;
      auto ofPair = [&](int number) {
        return isPair ? Table::Cell(number) : Table::Cell("");
      };
      table.addRow({rank, actionText(action.kind), action.chunk,
                    action.microBatch, ofPair(action.backwardChunk),
                    ofPair(action.backwardMicroBatch),
                    times[rank][i].begin * unit.perSecond,
                    times[rank][i].end * unit.perSecond});
    }
  std::string note;
  if (shown < count)
    note = llvm::formatv("Shown are the first and the last {0} of {1} actions "
                         "of each rank.",
                         groupedText(double(shown)),
                         groupedText(double(list.ranks.front().size())));
  return {std::move(table), std::move(note)};
}

llvm::Expected<ShownPipeline>
PlanFigures::makePipeline(schedule::PipelinePricer &pricer) const {
  const Plan &plan = report.plan;
  // F, B and W of each micro-batch on each chunk.
  if (plan.pp == 1 ||
      3 * plan.chunks() * plan.microBatches > kMaxSimulatedActions)
    return ShownPipeline();
  auto staged = StagedModel::make(model, plan, machine, pricer);
  if (!staged)
    return staged.takeError();
  const schedule::Pipeline &pipeline = staged->getPipeline();
  schedule::Schedule list = pricer.getSchedule(pipeline, staged->getTimes());
  for (std::vector<schedule::Action> &actions : list.ranks)
    llvm::erase_if(actions, [](const schedule::Action &action) {
      return schedule::isTransfer(action.kind);
    });
  schedule::CompiledSchedule compiled(pipeline.problem, list);
  return showActions(list, compiled.simulateActions(staged->getTimes()));
}

//===----------------------------------------------------------------------===//
// Devices and links
//===----------------------------------------------------------------------===//

Table PlanFigures::makeAxes() const {
  return makeAxisTable(machine, cluster, report.plan);
}

/// Reads "dp+cp", as Traffic has axes.
static llvm::SmallVector<PlanAxis> parseAxes(StringRef text) {
  llvm::SmallVector<PlanAxis> axes;
  for (StringRef name : llvm::split(text, "+"))
    if (auto axis = parsePlanAxis(name))
      axes.push_back(*axis);
  return axes;
}

/// Bytes that a device of the busiest stage receives over groups that reach a
/// level and no further.
static double bytesOver(const PlanFigures &figures, StringRef link) {
  double bytes = 0;
  for (const Traffic &traffic : figures.report.traffic)
    if (figures.linkOf(parseAxes(traffic.axes)) == link)
      bytes += traffic.bytes;
  return bytes;
}

Table PlanFigures::makeLinks() const {
  Table table({"link",
               {"devices of a group", "", 0},
               {"GB/s", "GB/s", 1},
               {"GB received", "GB", 2},
               {"seconds waited", "s", 4}});
  for (const LevelSpec &level : cluster.levels) {
    double waited = 0;
    for (const Cause &cause : report.causes)
      if (cause.resource == level.name)
        waited += cause.seconds;
    table.addRow({level.name, level.devices, level.bandwidth.value / 1e9,
                  bytesOver(*this, level.name) / 1e9, waited});
  }
  return table;
}

//===----------------------------------------------------------------------===//
// Roofline
//===----------------------------------------------------------------------===//

Table PlanFigures::makeKernels() const {
  return makeKernelTable(
      machine.device,
      work.kinds[work.layers[findBlocks(work.layers)].kind].ops);
}

Table PlanFigures::makeCeilings() const {
  Table table = makeCeilingTable(report.peakType, report.peak,
                                 machine.device.memoryBandwidth);
  for (const LevelSpec &level : cluster.levels)
    if (bytesOver(*this, level.name) > 0)
      table.addRow(
          {level.name, "link", Table::Cell(""), level.bandwidth.value / 1e9});
  return table;
}

Table PlanFigures::makeStepPoints() const {
  Table table(
      {"the step over", {"FLOPs a byte", "", 0}, {"TFLOP/s", "TFLOP/s", 2}});
  double flops = report.modelFlopsRate * report.stepSeconds;
  for (const LevelSpec &level : cluster.levels)
    if (double bytes = bytesOver(*this, level.name); bytes > 0)
      table.addRow({level.name, flops / bytes, report.modelFlopsRate / 1e12});
  return table;
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

Table PlanFigures::makeStateCurves() const {
  std::vector<Table::Column> columns{{"devices", "", 0}};
  for (int zero = 0; zero < 4; ++zero)
    columns.emplace_back("zero=" + std::to_string(zero), "GB", 2);
  Table table(std::move(columns));
  StateBytes each = stateBytes(report.plan, report.plan.execution());
  int64_t most = std::max<int64_t>(1024, report.plan.gpus());
  std::vector<int64_t> counts{report.plan.gpus()};
  for (int64_t count = 1; count <= most; count *= 2)
    for (int64_t devices : {count, 3 * count / 2})
      if (devices <= most && !llvm::is_contained(counts, devices))
        counts.push_back(devices);
  llvm::sort(counts);
  for (int64_t devices : counts) {
    std::vector<Table::Cell> row{devices};
    for (int zero = 0; zero < 4; ++zero)
      row.push_back(
          shardedState(report.parameters, each, zero, double(devices)).sum() /
          1e9);
    table.addRow(std::move(row));
  }
  return table;
}
