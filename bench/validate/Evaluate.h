//===- Evaluate.h - Predictions for rows of measurements --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prices rows with the compiled models: graph, partition, layer, step, memory.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_BENCH_VALIDATE_EVALUATE_H
#define TESSERA_BENCH_VALIDATE_EVALUATE_H

#include "PlanRow.h"
#include "tessera/Cluster/ClusterSpec.h"
#include "tessera/Cost/StepTime.h"
#include "tessera/Planning/ModelPlan.h"
#include <map>
#include <set>

namespace tessera::validate {

struct Prediction {
  /// In the unit of the row's measurement.
  double value = 0;
  /// FLOPs of the model in a step, over all devices; the null model uses them.
  double modelFlops = 0;
  /// Bytes of the device's memory (memory rows).
  double capacity = 0;
  /// Bytes by category in GB (memory rows), for --rows.
  std::string detail;
};

class Evaluator {
public:
  /// `clusterFolder` holds the presets.
  explicit Evaluator(std::string clusterFolder)
      : clusterFolder(std::move(clusterFolder)) {}

  /// Returns an evaluator with the same constants, for another thread.
  std::unique_ptr<Evaluator> fork() const;

  /// Checks a row and computes its work, so that repeated predictions need not.
  /// The error is the reason why the row cannot be expressed.
  llvm::Error prepare(PlanRow &row);
  /// Predicts a row; checks it and computes its work if it is not prepared.
  llvm::Expected<Prediction> predict(const PlanRow &row);
  /// The same on a cluster with other constants.
  llvm::Expected<Prediction> predict(const PlanRow &row,
                                     const ClusterSpec &spec);
  /// The row's cluster: its preset with the changes that the row gives.
  llvm::Expected<ClusterSpec> clusterOf(const PlanRow &row);

  /// The preset with this name and the constants that were set. Valid until the
  /// next constant is set.
  llvm::Expected<const ClusterSpec *> cluster(const std::string &name);

  /// A constant of a preset's device or links, by the names of setConstant().
  llvm::Expected<double> constant(const std::string &cluster,
                                  llvm::StringRef name);

  /// Replaces a constant of every device whose name contains `device` ("A100";
  /// all if empty).
  void setConstant(const std::string &device, const std::string &name,
                   double value);

private:
  llvm::Expected<Prediction> predictMemory(const PlanRow &row,
                                           const cost::ModelWork &work,
                                           const ClusterSpec &spec);

  struct Preset {
    ClusterSpec spec;
    /// Number of constants that were set when `spec` was updated.
    size_t version = 0;
  };
  void applyOverrides(Preset &preset) const;

  std::string clusterFolder;
  std::map<std::string, Preset> clusters;
  size_t version = 0;
  struct Override {
    std::string device, name;
    double value;
  };
  std::vector<Override> overrides;
  WorkReader reader;
  schedule::PipelinePricer pricer;
};

} // namespace tessera::validate

#endif // TESSERA_BENCH_VALIDATE_EVALUATE_H
