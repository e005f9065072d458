//===- MemoryWall.cpp - What stands before training a model -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/MemoryWall.h"
#include "tessera/Cost/PlanReport.h"
#include "tessera/Cost/TextTable.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace tessera::cost;

static constexpr double kGB = 1e9, kGiB = 1024.0 * 1024 * 1024;

MemoryWall tessera::cost::makeMemoryWall(const std::string &model,
                                         double parameters, int64_t layers,
                                         int64_t hidden, const Plan &plan,
                                         double capacity) {
  MemoryWall wall;
  wall.model = model;
  wall.parameters = parameters;
  wall.plan = plan;
  wall.capacity = capacity;
  StateBytes each = stateBytes(plan);
  wall.state = shardedState(parameters, each, 0, 1);
  double width = plan.precision == Precision::F32 ? 4 : 2;
  wall.activations =
      roughActivationBytes(layers, plan.microBatch, plan.seq, hidden, width);
  wall.devices = minimumDevices(wall.total(), capacity);
  wall.devicesAtThreeQuarters = minimumDevices(wall.total(), capacity, 0.75);
  for (int64_t ranks : {1, 8, 16, 32, 64, 128, 256, 512, 1024}) {
    MemoryWall::Row row{ranks, {}};
    for (int zero = 0; zero < 4; ++zero)
      row.zero[zero] = shardedState(parameters, each, zero, ranks).sum();
    wall.rows.push_back(row);
  }
  return wall;
}

void tessera::cost::print(const MemoryWall &wall, raw_ostream &os) {
  const Plan &l = wall.plan;
  os << formatv("{0}, {1} parameters; precision={2} grad-dtype={3} "
                "optimizer={4}\n\n",
                wall.model, countText(wall.parameters), stringify(l.precision),
                stringify(l.gradDType), stringify(l.optimizer));
  TextTable tenants;
  tenants.addRow({"the whole model", "GB (1e9)", "GiB (2^30)"});
  auto addRow = [&](const std::string &name, double bytes) {
    tenants.addRow({name, formatv("{0:f2}", bytes / kGB),
                    formatv("{0:f2}", bytes / kGiB)});
  };
  addRow("parameters", wall.state.parameter);
  addRow("gradients", wall.state.gradient);
  addRow("optimizer state", wall.state.optimizer);
  addRow(formatv("activations of {0} x {1} tokens", l.microBatch, l.seq),
         wall.activations);
  addRow("total", wall.total());
  tenants.print(os);
  os << formatv("activations by the rule of thumb 12 L B S d, without "
                "recomputation\n"
                "at least {0} devices of {1}; {2} filled to 75 %\n\n",
                wall.devices, bytesText(wall.capacity),
                wall.devicesAtThreeQuarters);
  TextTable zero;
  zero.addRow(
      {"state on a device, GB", "zero=0", "zero=1", "zero=2", "zero=3"});
  for (const MemoryWall::Row &row : wall.rows) {
    std::vector<std::string> cells{row.ranks == 1
                                       ? std::string("1 rank")
                                       : std::to_string(row.ranks) + " ranks"};
    for (double bytes : row.zero)
      cells.push_back(formatv("{0:f2}{1}", bytes / kGB,
                              bytes <= wall.capacity ? " " : "*"));
    zero.addRow(cells);
  }
  zero.print(os);
  os << "* more than a device has\n";
}

json::Object tessera::cost::toJson(const MemoryWall &wall) {
  json::Array rows;
  for (const MemoryWall::Row &row : wall.rows)
    rows.push_back(json::Object{{"ranks", row.ranks},
                                {"zero0", row.zero[0]},
                                {"zero1", row.zero[1]},
                                {"zero2", row.zero[2]},
                                {"zero3", row.zero[3]}});
  return json::Object{
      {"model", wall.model},
      {"parameters", wall.parameters},
      {"parameter_bytes", wall.state.parameter},
      {"gradient_bytes", wall.state.gradient},
      {"optimizer_bytes", wall.state.optimizer},
      {"activation_bytes", wall.activations},
      {"total_bytes", wall.total()},
      {"device_bytes", wall.capacity},
      {"devices", wall.devices},
      {"devices_at_three_quarters", wall.devicesAtThreeQuarters},
      {"state_bytes_by_ranks", std::move(rows)}};
}
