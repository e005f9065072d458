//===- Frameworks.h - How frameworks run a plan -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a training framework fixes of a plan (kernels, overlap, copies, types)
// as presets of the plan's own fields: one table, of which `tessera plan
// --framework` and the scoring of published runs are made. docs/plan.md lists
// it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_FRAMEWORKS_H
#define TESSERA_SUPPORT_FRAMEWORKS_H

#include "tessera/Support/PlanFields.h"

namespace tessera {

/// A framework whose settings are known.
enum class Framework {
  /// Megatron-Core with Transformer Engine: fused kernels, all overlap but that
  /// of tp. It is also what an unknown framework of today is taken to be.
  MegatronCore,
  /// Megatron-LM as of 2021: unfused attention, dropout, no overlap.
  Megatron2021,
  /// NeMo and Megatron-Bridge: Megatron-Core with collectives of tp beside
  /// matmuls.
  NeMo,
  /// FSDP2 and DTensor of PyTorch, compiled.
  Torchtitan,
  /// FSDP of PyTorch around layers that run op by op (llm-foundry).
  FSDP,
  /// Megatron-DeepSpeed as of 2022.
  DeepSpeed,
  /// Hugging Face's, op by op.
  Nanotron,
  /// The programs that this compiler makes.
  Tessera,
};

/// Gives `given` the framework's setting of each field that `own` was not
/// given: those hold over the framework's. Settings may depend on the axes of
/// `given`, which has all of `own`.
void applyFramework(Framework framework, const GivenPlan &own,
                    GivenPlan &given);

/// "attention flash, fused-loss, overlap-tp": the fields that frameworks differ
/// in as a plan has them, for reports.
std::string describeSettings(const Plan &plan);

} // namespace tessera

#endif // TESSERA_SUPPORT_FRAMEWORKS_H
