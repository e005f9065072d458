//===- StepFacts.h - What all ranks know of a step --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gathers what ranks did in a step: on one node from the memory of all ranks,
// on several from that of each node's ranks, in the barrier after the step.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_STEPFACTS_H
#define TESSERA_RT_SRC_STEPFACTS_H

#include "data/Manifest.h"
#include "ranks/Context.h"

namespace tessera::rt {

/// Names of the scalar results that every rank reads, in the order of
/// StepFacts::scalars.
extern const char *const stepScalars[];
extern const size_t numStepScalars;

/// Returns the value of a scalar; NaN if the program does not return it.
double getScalar(const Manifest &manifest, const StepFacts &facts,
                 const char *name);

/// Returns the facts of this node's ranks. No rank may be in a step.
StepFacts collectStepFacts(tessera_rt_context *ctx, const Manifest &manifest);

/// Uses of experts in a step.
struct ExpertUses {
  /// Uses of each expert, by layer.
  std::vector<std::vector<int64_t>> loads;
  /// Choices that no expert had room for.
  int64_t dropped = 0;
};

/// Counts the uses of experts in a step of `tokens` tokens. On several nodes
/// rank 0 alone has those of all ranks.
ExpertUses countExpertUses(tessera_rt_context *ctx, int64_t tokens);

/// Sends what rank 0 reports of this rank to node 0: the numbers of its block,
/// and the stamps of its list. Ranks call it before a barrier, after which rank
/// 0 has it.
Status shareNumbers(tessera_rt_context *ctx);
/// Sends the uses of experts that this rank counted to node 0, likewise.
Status shareLoads(tessera_rt_context *ctx);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_STEPFACTS_H
