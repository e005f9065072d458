//===- Subject.h - The model that a plan is of ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One type for both ways to the work of a model: read off the graph that the
// compiler partitions, or written down from the config (models with experts,
// which have no graph yet).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLANNING_SUBJECT_H
#define TESSERA_PLANNING_SUBJECT_H

#include "tessera/Planning/MoEWork.h"
#include "tessera/Planning/ModelPlan.h"

namespace tessera {

/// A model: one that has a graph, or one with experts. One of the two is there.
struct Subject {
  std::optional<ModelConfig> dense;
  std::optional<MoEConfig> sparse;
  /// Of `sparse`.
  MoEOptions experts;

  /// As the config says.
  std::string name() const { return dense ? dense->name : sparse->name; }
  int64_t layers() const { return dense ? dense->layers : sparse->layers; }
  int64_t heads() const { return dense ? dense->heads : sparse->heads; }
  int64_t hidden() const { return dense ? dense->hidden : sparse->hidden; }
  int64_t maxPositions() const {
    return dense ? dense->maxPositions : sparse->maxPositions;
  }
  double parameters() const {
    return dense ? double(countParameters(*dense)) : sparse->parameters();
  }

  /// Model FLOPs of a token that attends to itself alone: no token has fewer.
  double leastFlopsPerToken() const {
    return dense ? modelFlopsPerToken(*dense, 1)
                 : sparse->modelFlopsPerToken(1);
  }

  /// The errors of a plan for the model, joined: its own, then the model's.
  llvm::Error check(const Plan &plan) const;
  /// True if a plan leaves open how its devices of cp share attention.
  static bool hasContextChoice(const Plan &plan);
  /// The plan with each method by which its devices of cp can share the
  /// attention of the model in place of `auto`, in the order that breaks ties;
  /// the plan itself where there is nothing to choose.
  std::vector<Plan> listContextPlans(const Plan &plan) const;
  /// The work of a training step on one device, without the figures of the
  /// whole model; `reader` keeps what plans share. The plan must pass check().
  llvm::Expected<cost::ModelWork> readLayers(WorkReader &reader,
                                             const Plan &plan) const;
  /// All of it.
  llvm::Expected<cost::ModelWork> read(WorkReader &reader,
                                       const Plan &plan) const;
};

} // namespace tessera

#endif // TESSERA_PLANNING_SUBJECT_H
