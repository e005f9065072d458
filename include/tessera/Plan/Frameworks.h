//===- Frameworks.h - Settings of frameworks --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The settings that a training framework fixes (kernels, overlap, copies,
// types), as presets of the plan's own fields. One table serves `tessera plan
// --framework` and the scoring of published runs. docs/plan.md lists it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PLAN_FRAMEWORKS_H
#define TESSERA_PLAN_FRAMEWORKS_H

#include "tessera/Plan/PlanFields.h"

namespace tessera {

/// A framework whose settings are known.
enum class Framework {
  /// Megatron-Core with Transformer Engine: fused kernels, all overlap except
  /// tp's. Also the assumption for an unknown framework of today.
  MegatronCore,
  /// Megatron-LM as of 2021: unfused attention, dropout, no overlap.
  Megatron2021,
  /// NeMo and Megatron-Bridge: Megatron-Core that overlaps collectives of tp
  /// with matmuls.
  NeMo,
  /// PyTorch's FSDP2 and DTensor, compiled.
  Torchtitan,
  /// PyTorch's FSDP around layers that run op by op (llm-foundry).
  FSDP,
  /// Megatron-DeepSpeed as of 2022.
  DeepSpeed,
  /// Hugging Face's framework, op by op.
  Nanotron,
  /// The programs that this compiler makes.
  Tessera,
};

/// Sets in `given` the framework's value of each field that `own` does not
/// give; fields that `own` gives keep their values. Settings may depend on the
/// axes of `given`, which includes all of `own`.
void applyFramework(Framework framework, const GivenPlan &own,
                    GivenPlan &given);

/// "attention flash, fused-loss, overlap-tp": a plan's values of the fields in
/// which frameworks differ, for reports.
std::string describeSettings(const Plan &plan);

} // namespace tessera

#endif // TESSERA_PLAN_FRAMEWORKS_H
