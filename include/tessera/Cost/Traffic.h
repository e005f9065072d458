//===- Traffic.h - Bytes that a device receives in a step -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COST_TRAFFIC_H
#define TESSERA_COST_TRAFFIC_H

#include "tessera/Cost/MemoryModel.h"

namespace tessera::cost {

/// Collectives of one kind over the same axes.
struct Traffic {
  /// "all_gather", ...: as in messages.
  std::string kind;
  /// "tp", "dp+cp".
  std::string axes;
  /// Bytes that a device receives in a step.
  double bytes = 0;
};

/// Bytes that a device of a stage receives in a step: in collectives of its
/// layers with every micro-batch, in collectives of its gradients and new
/// parameters, and as activations and their gradients from other stages.
/// Assumes algorithms that move the fewest bytes; the most bytes first.
std::vector<Traffic> listTraffic(const ModelWork &work,
                                 const StageMemory &stage, size_t rank,
                                 const Plan &plan, const Execution &execution,
                                 const schedule::ScheduleProblem &problem);

/// The share of a step in which the schedule alone leaves ranks idle: with
/// equal stages, whose forward and gradients take `whole`, and instant
/// transfers. 0 without stages.
double scheduleBubble(const schedule::Pipeline &pipeline,
                      const schedule::ChunkTimes &whole,
                      schedule::PipelinePricer &pricer);

} // namespace tessera::cost

#endif // TESSERA_COST_TRAFFIC_H
