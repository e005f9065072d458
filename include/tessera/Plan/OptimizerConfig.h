//===- OptimizerConfig.h - The update of parameters -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The settings of the optimizer of a plan.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLAN_OPTIMIZERCONFIG_H
#define TESSERA_PLAN_OPTIMIZERCONFIG_H

#include "tessera/Plan/EnumNames.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// The algorithm that updates parameters.
enum class OptimizerKind {
  /// f32 master copy, f32 moments.
  AdamW,
  /// No master copy (bf16 parameters, f32 moments).
  AdamWNoMaster,
  /// f32 master copy, 8-bit moments.
  AdamW8Bit,
  SGD,
};
/// Storage of the optimizer state.
enum class Offload { None, Host, NVMe };
/// The learning rate after warm-up.
enum class LearningRateKind { Constant, Cosine };

/// Training settings of the parameters whose names match a pattern.
struct ParameterGroup {
  /// Pattern of names: `*` matches any text, `?` one character, `[ab]` one of
  /// these.
  std::string pattern;
  /// Factor of the learning rate.
  double lrScale = 1;
  /// Replaces the plan's weight decay.
  std::optional<double> weightDecay;
  bool operator==(const ParameterGroup &o) const {
    return pattern == o.pattern && lrScale == o.lrScale &&
           weightDecay == o.weightDecay;
  }
};

/// The update of parameters: the algorithm, its numbers and its state.
struct OptimizerConfig {
  OptimizerKind optimizer = OptimizerKind::AdamW;
  Offload offload = Offload::None;
  double lr = 1e-3;
  LearningRateKind lrSchedule = LearningRateKind::Constant;
  /// Steps until the full learning rate.
  int64_t warmup = 0;
  /// Step at which the cosine reaches minLr.
  int64_t totalSteps = 0;
  double minLr = 0;
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8;
  double weightDecay = 0.1;
  /// Momentum of SGD.
  double momentum = 0;
  /// Change per step of the bias of a router's choice, for or against an expert
  /// by its load (Wang et al. 2024); 0: it stays.
  double balanceRate = 0;
  /// Largest norm of all gradients; 0: no limit.
  double clip = 1;
  /// The first group that matches a parameter applies to it.
  std::vector<ParameterGroup> groups;
  /// Initial loss scale of f16.
  double lossScale = 128;
  /// Steps without overflow until the loss scale doubles.
  int64_t scaleWindow = 2000;
};

} // namespace tessera

#endif // TESSERA_PLAN_OPTIMIZERCONFIG_H
