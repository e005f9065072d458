//===- SplitByMemory.h - Stages that fit the device -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A split by time does not see memory, and often another one takes as long:
// which of a rank's two chunks has a block more is no matter of time, but the
// first chunk keeps more micro-batches alive.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COST_SPLITBYMEMORY_H
#define TESSERA_COST_SPLITBYMEMORY_H

#include "tessera/Cost/MemoryModel.h"
#include "tessera/Cost/StepTime.h"

namespace tessera::cost {

/// A split takes as long as one by time if its step takes at most this share
/// more.
inline constexpr double kSlowerSplit = 1e-3;

/// A split by time is the best for the longest rank but not for the bubble: the
/// bound of another's step is at most so much less.
inline constexpr double kFasterSplit = 5e-3;

/// True if the blocks of a plan's stages are split by time: there are stages,
/// and neither their blocks nor a list of actions are given.
bool isSplitByTime(const Plan &plan);

/// Finds other blocks for the stages of a plan that was split by time and does
/// not fit `limit` bytes: a plan that fits and takes as long. It tries even
/// stages, and moves single blocks off the fullest stage, and takes the plan
/// whose fullest stage needs the fewest bytes; none if no such plan fits. The
/// bound of its step (StagedModel::leastSeconds) is at most
/// kFasterSplit below that of the split by time.
std::optional<Plan>
splitByMemory(const PricedModel &model, const MemoryModel &memory,
              const StagedModel &byTime, const Plan &wanted,
              const Machine &machine, schedule::PipelinePricer &pricer,
              double limit, const MemoryConstants &constants = {});

} // namespace tessera::cost

#endif // TESSERA_COST_SPLITBYMEMORY_H
