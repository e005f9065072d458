//===- DescribeList.h - Lists of actions for tests --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Descriptions for writeEntries() from schedules without a program.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_UNIT_MEMORY_DESCRIBELIST_H
#define TESSERA_TEST_UNIT_MEMORY_DESCRIBELIST_H

#include "tessera/Memory/ListEntries.h"

namespace tessera {

/// Boundaries by number: what a chunk reads, and what it sends.
enum Boundary {
  ReadsActivation,
  ReadsGradient,
  SendsActivation,
  SendsGradient
};

inline int64_t offsetOf(Boundary kind, int chunk, int microBatch) {
  return ((int64_t(kind) * 64 + chunk) * 1024 + microBatch) * 64;
}

/// Describes each task once, with no memory but boundaries. There is one
/// function for each kind and chunk, and for each pair if `pairs`.
inline ListMemory describe(const std::vector<schedule::Action> &actions,
                           bool pairs) {
  ListMemory memory;
  for (const schedule::Action &action : actions) {
    memory.calls.emplace_back();
    memory.boundaries.emplace_back();
    auto call = [&](tessera_rt_task kind, int chunk, int microBatch) {
      memory.calls.back().push_back(
          {4 * chunk + kind, kind, chunk, microBatch, {}});
    };
    auto boundary = [&](Boundary kind) {
      memory.boundaries.back() = {
          offsetOf(kind, action.chunk, action.microBatch), 64};
    };
    switch (action.kind) {
    case schedule::ActionKind::Forward:
      call(TESSERA_RT_TASK_F, action.chunk, action.microBatch);
      break;
    case schedule::ActionKind::InputGrad:
      call(TESSERA_RT_TASK_B, action.chunk, action.microBatch);
      break;
    case schedule::ActionKind::WeightGrad:
      call(TESSERA_RT_TASK_W, action.chunk, action.microBatch);
      break;
    case schedule::ActionKind::Backward:
      call(TESSERA_RT_TASK_BW, action.chunk, action.microBatch);
      break;
    case schedule::ActionKind::Overlapped:
      if (pairs) {
        memory.calls.back().push_back(
            {1024 + 64 * action.chunk + action.backwardChunk,
             TESSERA_RT_TASK_F,
             action.chunk,
             action.microBatch,
             {},
             action.backwardChunk,
             action.backwardMicroBatch});
        break;
      }
      call(TESSERA_RT_TASK_F, action.chunk, action.microBatch);
      call(TESSERA_RT_TASK_BW, action.backwardChunk, action.backwardMicroBatch);
      break;
    case schedule::ActionKind::SendActivation:
      boundary(SendsActivation);
      break;
    case schedule::ActionKind::SendGradient:
      boundary(SendsGradient);
      break;
    case schedule::ActionKind::ReceiveActivation:
      boundary(ReadsActivation);
      break;
    case schedule::ActionKind::ReceiveGradient:
      boundary(ReadsGradient);
      break;
    }
  }
  for (int64_t slot = 0; slot < 32; ++slot)
    memory.freeSlots.push_back(slot);
  return memory;
}

} // namespace tessera

#endif // TESSERA_TEST_UNIT_MEMORY_DESCRIBELIST_H
