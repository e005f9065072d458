//===- PlanRow.h - What a row of measurements says --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps one row of a table to a model, a plan, a cluster and a measured value,
// or says why it cannot. What a source leaves out and its framework fixes is
// filled here, by framework and never by row; docs/cost.md lists it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_BENCH_VALIDATE_PLANROW_H
#define TESSERA_BENCH_VALIDATE_PLANROW_H

#include "Csv.h"
#include "tessera/Planning/Subject.h"
#include "tessera/Support/Frameworks.h"
#include <memory>

namespace tessera::validate {

enum class Metric {
  /// Seconds of a step.
  StepTime,
  /// Seconds of one layer, forward or backward.
  LayerForward,
  LayerBackward,
  /// Bytes at the peak, and whether the run failed for want of memory.
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
  /// Of a model with experts, in place of `model`: its config of share/models,
  /// and how tokens meet experts.
  std::optional<MoEConfig> sparse;
  MoEOptions experts;
  Plan plan;
  /// What the row says of the devices and of the sequences of a step.
  int64_t devices = 0, globalBatch = 1;
  /// Preset of the cluster, and what the row says otherwise of it.
  std::string cluster;
  int64_t devicesPerNode = 0;
  /// Devices of a node that NVLink joins, where PCIe joins them with the
  /// others; 0: all.
  int64_t meshDevices = 0;
  double outerBandwidth = 0;
  /// The preset of its framework; "other" where the framework is not known and
  /// was taken to be one of today.
  std::string framework;
  /// The value was composed from per-layer profiles by its authors.
  bool composed = false;
  /// Bytes include the device's context (as nvidia-smi counts), or what the
  /// allocator holds.
  bool includesContext = false, reserved = true;
  /// Bytes are those of the first stage, not of the fullest.
  bool firstStage = false;
  /// Rows with the same key are a sweep over layouts; rows of one composed
  /// group count once.
  std::string sweep, group;
  /// The layout as the row states it, without what its framework fixes.
  std::string layout;
  /// What no constant of a device changes, once Evaluator::prepare() has read
  /// it.
  std::shared_ptr<const cost::ModelWork> work;

  /// What is priced.
  Subject subject() const;
};

/// What became of a row.
struct RowResult {
  /// Empty if the row can be used.
  std::string skipped;
  /// The fields that its metric needs are filled.
  bool complete = false;
  PlanRow row;
};

RowResult readRow(const Table &table, size_t row);

} // namespace tessera::validate

#endif // TESSERA_BENCH_VALIDATE_PLANROW_H
