//===- Meet.h - What nodes tell each other at a barrier ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each barrier of all ranks is a meet of the nodes: the first rank of a node
// gives the facts of its node, the root combines them, and every node gets the
// same result. Plain data, of a fixed size.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_MEET_H
#define TESSERA_RT_SRC_MEET_H

#include <cstdint>

namespace tessera::rt {

/// Scalar results that every rank reads after a step.
constexpr int maxStepScalars = 8;

/// Facts about a step of several ranks.
struct StepFacts {
  /// Seconds of processors, of all ranks.
  double cpuSeconds = 0;
  /// Resident bytes of the rank that has the most.
  int64_t memoryBytes = 0;
  /// The rank that waited least for others, and how long it did not wait.
  int64_t slowestRank = -1;
  double busySeconds = 0;
  /// The scalars, in the order of StepLoop, and which of them these ranks have.
  uint8_t scalars[maxStepScalars][8] = {};
  uint8_t hasScalar[maxStepScalars] = {};
  /// The layer of experts that lacks room, with how many times more it needs,
  /// and its description; 0: all have room.
  double roomNeeded = 0;
  int64_t layer = 0;
  char overflow[208] = {};

  /// Adds the facts of ranks with higher numbers.
  void add(const StepFacts &later);
};

/// The facts of a node in a meet, and its result.
struct MeetFacts {
  // Requests of any node.
  /// A signal that asks for an end; 0: there was none.
  int32_t stopSignal = 0;
  int32_t asksCheckpoint = 0;
  /// 1 if a file of the checkpoint to load is damaged.
  int32_t isDamaged = 0;

  // Decisions of rank 0; see ControlBlock.
  int32_t stopDecided = 0;
  int32_t exitCode = 0;
  int64_t checkpointBegins = -1, checkpointTried = -1, committed = 0;
  uint64_t checkpointFolder = 0;

  StepFacts step;

  /// Adds the facts of a node with a higher number.
  void add(const MeetFacts &later);
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_MEET_H
