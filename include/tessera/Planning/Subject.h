//===- Subject.h - The model that a plan is for -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One type for both sources of a model's work: the graph that the compiler
// partitions, or, of models with experts, the sizes of the config.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLANNING_SUBJECT_H
#define TESSERA_PLANNING_SUBJECT_H

#include "tessera/Planning/MoEWork.h"
#include "tessera/Planning/ModelPlan.h"

namespace tessera {

/// A model without experts, or one with. Exactly one of the two is set.
struct Subject {
  std::optional<ModelConfig> dense;
  std::optional<MoEConfig> sparse;
  /// Options of `sparse`.
  MoEOptions experts;

  /// Reads the config of a model, quantized ones too; `ignoredKeys` as for
  /// readModelConfig().
  static llvm::Expected<Subject>
  readFile(llvm::StringRef path,
           llvm::ArrayRef<llvm::StringRef> ignoredKeys = {});

  /// The name from the config.
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

  /// Model FLOPs of a token that attends only to itself, the fewest of all
  /// tokens.
  double leastFlopsPerToken() const {
    return dense ? modelFlopsPerToken(*dense, 1)
                 : sparse->modelFlopsPerToken(1);
  }

  /// The errors of a plan for the model, joined: the plan's own, then the
  /// model's.
  llvm::Error check(const cost::ExecutedPlan &plan) const;
  /// True if the plan leaves it open how its devices of cp share
  /// attention.
  static bool hasContextChoice(const Layout &layout);
  /// The plan with each method with which its devices of cp can share the
  /// attention of the model instead of `auto`, in the order that breaks ties;
  /// the plan itself if there is no choice.
  std::vector<cost::ExecutedPlan>
  listContextPlans(const cost::ExecutedPlan &plan) const;
  /// The work of a training step on one device, without the figures of the
  /// whole model; `reader` caches what plans share. The plan must pass check().
  llvm::Expected<cost::ModelWork>
  readLayers(WorkReader &reader, const cost::ExecutedPlan &plan) const;
  /// The same with the figures of the whole model.
  llvm::Expected<cost::ModelWork> read(WorkReader &reader,
                                       const cost::ExecutedPlan &plan) const;
};

} // namespace tessera

#endif // TESSERA_PLANNING_SUBJECT_H
