//===- MinimumMemory.cpp - Memory of a model before a plan ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/MinimumMemory.h"
#include "tessera/Cost/PlanReport.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace tessera;
using namespace tessera::cost;

static constexpr double kGB = 1e9, kGiB = 1024.0 * 1024 * 1024;

MinimumMemory tessera::cost::makeMinimumMemory(const std::string &model,
                                               double parameters,
                                               int64_t layers, int64_t hidden,
                                               const Plan &plan,
                                               double capacity) {
  MinimumMemory minimum;
  minimum.model = model;
  minimum.parameters = parameters;
  minimum.plan = plan;
  minimum.capacity = capacity;
  StateBytes each = stateBytes(plan, Execution());
  minimum.state = shardedState(parameters, each, 0, 1);
  double width = plan.precision == Precision::F32 ? 4 : 2;
  minimum.activations =
      roughActivationBytes(layers, plan.microBatch, plan.seq, hidden, width);
  minimum.devices = minimumDevices(minimum.total(), capacity);
  minimum.devicesAtThreeQuarters =
      minimumDevices(minimum.total(), capacity, 0.75);
  for (int64_t ranks : {1, 8, 16, 32, 64, 128, 256, 512, 1024}) {
    MinimumMemory::Row row{ranks, {}};
    for (int zero = 0; zero < 4; ++zero)
      row.zero[zero] = shardedState(parameters, each, zero, ranks).sum();
    minimum.rows.push_back(row);
  }
  return minimum;
}

Table tessera::cost::categoryTable(const MinimumMemory &minimum) {
  const Plan &l = minimum.plan;
  Table table(
      {"the whole model", {"GB (1e9)", "GB", 2}, {"GiB (2^30)", "GiB", 2}});
  auto addRow = [&](const std::string &name, double bytes) {
    table.addRow({name, bytes / kGB, bytes / kGiB});
  };
  addRow("parameters", minimum.state.parameter);
  addRow("gradients", minimum.state.gradient);
  addRow("optimizer state", minimum.state.optimizer);
  addRow(formatv("activations of {0} x {1} tokens", l.microBatch, l.seq),
         minimum.activations);
  addRow("total", minimum.total());
  return table;
}

Table tessera::cost::zeroTable(const MinimumMemory &minimum) {
  std::vector<Table::Column> columns{"state on a device, GB"};
  for (int zero = 0; zero < 4; ++zero) {
    columns.emplace_back("zero=" + std::to_string(zero));
    columns.back().unit = "GB";
  }
  Table table(std::move(columns));
  for (const MinimumMemory::Row &row : minimum.rows) {
    std::vector<Table::Cell> cells{{row.ranks == 1
                                        ? std::string("1 rank")
                                        : std::to_string(row.ranks) + " ranks",
                                    double(row.ranks)}};
    for (double bytes : row.zero)
      cells.emplace_back(fixedText(bytes / kGB, 2) +
                             (bytes <= minimum.capacity ? " " : "*"),
                         bytes / kGB);
    table.addRow(std::move(cells));
  }
  return table;
}

std::string tessera::cost::minimumText(const MinimumMemory &minimum) {
  return formatv("at least {0} devices of {1}; {2} filled to 75 %",
                 minimum.devices, bytesText(minimum.capacity),
                 minimum.devicesAtThreeQuarters);
}

void tessera::cost::print(const MinimumMemory &minimum, raw_ostream &os) {
  const Plan &l = minimum.plan;
  os << formatv("{0}, {1} parameters; precision={2} grad-dtype={3} "
                "optimizer={4}\n\n",
                plainText(minimum.model), countText(minimum.parameters),
                stringify(l.precision), stringify(l.gradDType),
                stringify(l.optimizer));
  categoryTable(minimum).print(os);
  os << "activations by the rule of thumb 12 L B S d, without recomputation\n"
     << minimumText(minimum) << "\n\n";
  zeroTable(minimum).print(os);
  os << "* more than a device has\n";
}

json::Object tessera::cost::toJson(const MinimumMemory &minimum) {
  json::Array rows;
  for (const MinimumMemory::Row &row : minimum.rows)
    rows.push_back(json::Object{{"ranks", row.ranks},
                                {"zero0", row.zero[0]},
                                {"zero1", row.zero[1]},
                                {"zero2", row.zero[2]},
                                {"zero3", row.zero[3]}});
  return json::Object{
      {"model", json::fixUTF8(minimum.model)},
      {"parameters", minimum.parameters},
      {"parameter_bytes", minimum.state.parameter},
      {"gradient_bytes", minimum.state.gradient},
      {"optimizer_bytes", minimum.state.optimizer},
      {"activation_bytes", minimum.activations},
      {"total_bytes", minimum.total()},
      {"device_bytes", minimum.capacity},
      {"devices", minimum.devices},
      {"devices_at_three_quarters", minimum.devicesAtThreeQuarters},
      {"state_bytes_by_ranks", std::move(rows)}};
}
