//===- PlanRow.h - What a row of measurements says --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps one row of a table to a model, a plan, a cluster and a measured value,
// or says why it cannot. What a source leaves out and its framework fixes is
// filled here, by framework and never by row; docs/scores.md lists it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_BENCH_VALIDATE_PLANROW_H
#define TESSERA_BENCH_VALIDATE_PLANROW_H

#include "Csv.h"
#include "tessera/Cost/Frameworks.h"
#include "tessera/Planning/Subject.h"
#include <memory>

namespace tessera::validate {

enum class Metric {
  /// Seconds of a step.
  StepTime,
  /// Seconds of one layer, forward or backward.
  LayerForward,
  LayerBackward,
  /// Peak bytes, and whether the run failed for lack of memory.
  PeakMemory,
  OutOfMemory,
  /// Idle share of a pipeline with profiled times.
  BubbleRate,
  /// An input of another row.
  Profile,
};

/// A row with its fields by name.
struct RowFields {
  const Table &table;
  size_t row;
  llvm::StringRef text(llvm::StringRef column) const {
    return table.get(row, column);
  }
  std::optional<double> num(llvm::StringRef column) const {
    return number(text(column));
  }
  int64_t integer(llvm::StringRef column, int64_t otherwise) const {
    return static_cast<int64_t>(num(column).value_or(double(otherwise)));
  }
};

struct PlanRow {
  size_t index = 0;
  Metric metric = Metric::StepTime;
  /// Seconds, bytes, or a share.
  double measured = 0;
  ModelConfig model;
  /// For a model with experts, instead of `model`: its config of share/models,
  /// and how tokens are sent to experts.
  std::optional<MoEConfig> sparse;
  MoEOptions experts;
  cost::ExecutedPlan plan;
  /// The number of devices and of sequences per step, from the row.
  int64_t devices = 0, globalBatch = 1;
  /// Preset of the cluster, and the row's differences from it.
  std::string cluster;
  int64_t devicesPerNode = 0;
  /// Devices of a node that NVLink joins if PCIe joins them with the others; 0:
  /// all.
  int64_t meshDevices = 0;
  double outerBandwidth = 0;
  /// The preset of its framework; "other" if the framework is not known and is
  /// taken to be a current one.
  std::string framework;
  /// The authors composed the value from per-layer profiles.
  bool composed = false;
  /// Bytes include the device's context (as nvidia-smi counts); bytes are those
  /// that the allocator reserves.
  bool includesContext = false, reserved = true;
  /// Bytes are for the first stage, not for the fullest.
  bool firstStage = false;
  /// Rows with the same sweep differ in layout only; composed rows of one group
  /// count once.
  std::string sweep, group;
  /// The layout as the row gives it, without values that its framework fixes.
  std::string layout;
  /// The model's work, which does not depend on a device's constants; set by
  /// Evaluator::prepare().
  std::shared_ptr<const cost::ModelWork> work;

  /// The model that is priced.
  Subject subject() const;
};

/// The result of reading a row.
struct RowResult {
  /// Empty if the row can be used, else the reason.
  std::string skipped;
  /// True if the fields that its metric needs are filled.
  bool complete = false;
  PlanRow row;
};

RowResult readRow(const Table &table, size_t row);

} // namespace tessera::validate

#endif // TESSERA_BENCH_VALIDATE_PLANROW_H
