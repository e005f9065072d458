//===- SplitByMemory.h - Stages that fit the device -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A split by time ignores memory, and often another split is as fast: it does
// not change the time which of a rank's two chunks has one more block, but the
// first chunk keeps more micro-batches alive.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COST_SPLITBYMEMORY_H
#define TESSERA_COST_SPLITBYMEMORY_H

#include "tessera/Cost/MemoryModel.h"
#include "tessera/Cost/StepTime.h"

namespace tessera::cost {

/// A split is as fast as the split by time if its step takes at most this share
/// longer.
inline constexpr double kSlowerSplit = 1e-3;

/// The split by time minimizes the time of the longest rank but not the bubble:
/// the lower bound of another split's step may be smaller by at most this
/// share.
inline constexpr double kFasterSplit = 5e-3;

/// True if the blocks of a plan's stages are split by time: the plan has
/// stages, and neither their blocks nor a list of actions are given.
bool isSplitByTime(const Layout &layout);

/// Finds other blocks for the stages of a plan that was split by time and does
/// not fit `limit` bytes: a plan that fits and is as fast. It tries even stages
/// and moves single blocks off the fullest stage, and returns the plan whose
/// fullest stage needs the fewest bytes; none if no such plan fits. The lower
/// bound of its step (StagedModel::leastSeconds) is at most kFasterSplit below
/// the bound of the split by time.
std::optional<Plan>
splitByMemory(const PricedModel &model, const MemoryModel &memory,
              const StagedModel &byTime, const Plan &wanted,
              const Machine &machine, schedule::PipelinePricer &pricer,
              double limit, const MemoryConstants &constants = {});

} // namespace tessera::cost

#endif // TESSERA_COST_SPLITBYMEMORY_H
