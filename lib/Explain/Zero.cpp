//===- Zero.cpp - Explains ZeRO, FSDP and offload -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// State by shardedState(), which the memory model of the planner uses.
//
//===----------------------------------------------------------------------===//

#include "Explanation.h"
#include "tessera/Cost/Estimates.h"
#include "tessera/Cost/PlanReport.h"

using namespace tessera;
using namespace tessera::cost;
using namespace tessera::explain;
using llvm::formatv;

Table tessera::explain::stateTable(const ExplainSizes &sizes, int64_t most) {
  std::vector<Table::Column> columns{{"devices", "", 0}};
  for (int zero = 0; zero < 4; ++zero)
    columns.emplace_back("zero=" + std::to_string(zero), "GB", 2);
  Table table(std::move(columns));
  for (int64_t ranks : listDoubles(1, std::max<int64_t>(1024, most), most)) {
    std::vector<Table::Cell> row{ranks};
    for (int zero = 0; zero < 4; ++zero)
      row.push_back(shardedState(sizes.model.parameters, stateOf(sizes), zero,
                                 double(ranks))
                        .sum() /
                    kGB);
    table.addRow(std::move(row));
  }
  return table;
}

//===----------------------------------------------------------------------===//
// zero
//===----------------------------------------------------------------------===//

Section tessera::explain::explainZero(const ExplainSizes &sizes) {
  int64_t ranks = sizes.ranks.value_or(64);
  auto gigabytes = [&](int zero) {
    return shardedState(sizes.model.parameters, stateOf(sizes), zero,
                        double(ranks))
               .sum() /
           kGB;
  };
  Explanation text(
      "zero",
      formatv("{0} parameters of {1:f0} bytes are {2:f2} GB of state; on each "
              "of {3} devices {4:f2}, {5:f2}, {6:f2} GB under ZeRO-1, 2, 3",
              countText(sizes.model.parameters), stateOf(sizes).sum(),
              gigabytes(0), groupedText(double(ranks)), gigabytes(1),
              gigabytes(2), gigabytes(3)));
  text.addTable("device", makeDeviceTable(capacityOf(sizes)));
  text.add({"state", "state",
            formatv("On {0} devices ZeRO-3 leaves 1/{0} of the state on each",
                    groupedText(double(ranks))),
            "", stateTable(sizes, ranks)});
  Table table({{"devices", "", 0},
               "stage",
               {"parameters", "GB", 2},
               {"gradients", "GB", 2},
               {"optimizer state", "GB", 2},
               {"sum", "GB", 2},
               {"GB sent in a step", "GB a step", 2}});
  for (int64_t count : listDoubles(1, 1024, ranks))
    for (int zero = 0; zero < 4; ++zero) {
      StateBytes state = shardedState(sizes.model.parameters, stateOf(sizes),
                                      zero, double(count));
      table.addRow({count, zero ? "ZeRO-" + std::to_string(zero) : "no ZeRO",
                    state.parameter / kGB, state.gradient / kGB,
                    state.optimizer / kGB, state.sum() / kGB,
                    dataAxisBytes(sizes.model.parameters, zero, count) / kGB});
    }
  text.add({"what is split",
            "stack",
            "ZeRO-1 and 2 send what plain dp sends; ZeRO-3 half as much again",
            "GB of a device by stage of ZeRO. Bytes sent are for parameters "
            "and gradients of two bytes.",
            std::move(table),
            {std::to_string(ranks)}});
  return std::move(text).finish();
}

//===----------------------------------------------------------------------===//
// fsdp
//===----------------------------------------------------------------------===//

Section tessera::explain::explainFSDP(const ExplainSizes &sizes) {
  constexpr int64_t kMostLayers = 256;
  if (llvm::Error error =
          checkSize("fsdp", "--layers", sizes.model.layers, kMostLayers))
    return std::move(error);
  int64_t ranks = sizes.ranks.value_or(64), layers = sizes.model.layers;
  StateBytes shard =
      shardedState(sizes.model.parameters, stateOf(sizes), 3, double(ranks));
  // The layers have equal shares of all parameters.
  double layer =
      sizes.model.parameters / double(layers) * stateOf(sizes).parameter;
  Table table({{"step", "", 0},
               "action",
               {"shard of the state", "GB", 2},
               {"gathered layer", "GB", 2},
               {"sum", "GB", 2}});
  int64_t step = 0;
  double most = 0;
  auto addStep = [&](const std::string &action, double gathered) {
    table.addRow({step++, action, shard.sum() / kGB, gathered / kGB,
                  (shard.sum() + gathered) / kGB});
    most = std::max(most, shard.sum() + gathered);
  };
  for (bool isForward : {true, false})
    for (int64_t i = 0; i < layers; ++i) {
      int64_t number = isForward ? i : layers - 1 - i;
      addStep(formatv("gather layer {0}", number), layer);
      addStep(formatv("{0} of layer {1}", isForward ? "forward" : "backward",
                      number),
              layer);
      addStep(formatv(isForward ? "drop layer {0}"
                                : "scatter gradients of layer {0}, drop it",
                      number),
              0);
    }
  Explanation text(
      "fsdp",
      formatv("A device holds {0:f2} GB of state at most, not {1:f2}",
              most / kGB, stateOf(sizes).sum() * sizes.model.parameters / kGB));
  double sent = dataAxisBytes(sizes.model.parameters, 3, ranks);
  text.add({"layer by layer",
            "stack",
            "One layer at a time is whole: gathered, used, dropped",
            "GB of state on a device, by step. Layers have equal shares of "
            "the parameters.",
            std::move(table),
            {""}});
  Table bytes({"collectives of a step", {"GB sent by a device", "GB", 2}});
  double once = ringBytesPerRank(CollectiveKind::AllGather,
                                 2 * sizes.model.parameters, ranks);
  bytes.addRow({"gather parameters, forward", once / kGB});
  bytes.addRow({"gather parameters, backward", once / kGB});
  bytes.addRow({"reduce-scatter gradients", once / kGB});
  bytes.addRow({"all three", sent / kGB});
  text.add({"bytes", "stack",
            formatv("A step sends {0:f2} GB; plain dp sends {1:f2}", sent / kGB,
                    dataAxisBytes(sizes.model.parameters, 0, ranks) / kGB),
            "Parameters and gradients of two bytes.", std::move(bytes)});
  return std::move(text).finish();
}

//===----------------------------------------------------------------------===//
// offload
//===----------------------------------------------------------------------===//

/// A step of the planner with the optimizer state on the device, on the host,
/// and on disk.
static llvm::Expected<Table> offloadedSteps(const ExplainSizes &sizes,
                                            int64_t ranks) {
  Table table({"optimizer state in",
               {"GB of a device", "GB", 2},
               {"GB elsewhere", "GB", 2},
               {"ms", "ms", 1},
               {"ms more", "ms", 1}});
  Planner planner(sizes);
  ExecutedPlan plan = planner.makePlan(ranks);
  plan.zero = 1;
  double least = 0;
  for (Offload offload : {Offload::None, Offload::Host, Offload::NVMe}) {
    plan.offload = offload;
    auto report = planner.report(plan);
    if (!report)
      return report.takeError();
    if (offload == Offload::None)
      least = report->stepSeconds;
    table.addRow({offload == Offload::None   ? "device memory"
                  : offload == Offload::Host ? "host memory"
                                             : "disk",
                  report->peakMemory().total() / kGB,
                  report->stages[report->fullest].offloaded / kGB,
                  report->stepSeconds * 1e3,
                  (report->stepSeconds - least) * 1e3});
  }
  return table;
}

/// Devices that hold the state of so many parameters, with the optimizer state
/// and without.
static Table savedDevices(const ExplainSizes &sizes, double count) {
  double capacity = capacityOf(sizes);
  StateBytes each = stateOf(sizes);
  Table table({"optimizer state in",
               {"GB on devices", "GB", 2},
               {"GB elsewhere", "GB", 2},
               {"devices", "", 0},
               {"devices saved", "", 0}});
  int64_t all = minimumDevices(each.sum() * count, capacity, kFilledShare);
  double kept = (each.parameter + each.gradient) * count;
  int64_t fewer = minimumDevices(kept, capacity, kFilledShare);
  table.addRow({"device memory", each.sum() * count / kGB, 0.0, all, 0});
  table.addRow({"host memory or disk", kept / kGB, each.optimizer * count / kGB,
                fewer, all - fewer});
  return table;
}

Section tessera::explain::explainOffload(const ExplainSizes &sizes) {
  StateBytes each = stateOf(sizes);
  Explanation text(
      "offload",
      formatv("{0:f0} of {1:f0} bytes of a parameter can leave the device",
              each.optimizer, each.sum()));
  ChoiceTable devices({"model"});
  for (const ExplainedModel &model : listModels(sizes.model))
    devices.add({model.name}, savedDevices(sizes, model.parameters));
  text.add({"devices",
            "table",
            formatv("Devices, filled to {0:f0} %, that hold what stays",
                    100 * kFilledShare),
            "Parameters and gradients stay; the optimizer state is moved.",
            std::move(devices).finish(),
            {sizes.model.name}});
  if (!sizes.model.isWhole)
    return std::move(text).finish();
  int64_t asked = sizes.ranks.value_or(64);
  ChoiceTable steps({{"devices", "", 0}});
  for (int64_t ranks : listDoubles(8, 1024, asked)) {
    auto rows = offloadedSteps(sizes, ranks);
    if (!rows)
      return rows.takeError();
    steps.add({ranks}, *rows);
  }
  text.add({"a step",
            "table",
            "A step waits for the state that is elsewhere",
            "The planner's step under ZeRO-1 over all devices.",
            std::move(steps).finish(),
            {std::to_string(asked)}});
  return std::move(text).finish();
}
