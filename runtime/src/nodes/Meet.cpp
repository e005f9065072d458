//===- Meet.cpp - What nodes tell each other at a barrier -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Meet.h.
//
//===----------------------------------------------------------------------===//

#include "Meet.h"

#include <algorithm>
#include <cstring>

using namespace tessera::rt;

void StepFacts::add(const StepFacts &later) {
  cpuSeconds += later.cpuSeconds;
  memoryBytes = std::max(memoryBytes, later.memoryBytes);
  if (later.slowestRank >= 0 &&
      (slowestRank < 0 || later.busySeconds > busySeconds)) {
    slowestRank = later.slowestRank;
    busySeconds = later.busySeconds;
  }
  for (int i = 0; i < maxStepScalars; ++i)
    if (!hasScalar[i] && later.hasScalar[i]) {
      hasScalar[i] = 1;
      memcpy(scalars[i], later.scalars[i], sizeof(scalars[i]));
    }
  // The first layer counts: later ones saw what it made of its rows.
  bool isEarlier = later.roomNeeded > 0 &&
                   (roomNeeded == 0 || later.layer < layer ||
                    (later.layer == layer && later.roomNeeded > roomNeeded));
  if (isEarlier) {
    roomNeeded = later.roomNeeded;
    layer = later.layer;
    memcpy(overflow, later.overflow, sizeof(overflow));
  }
}

void MeetFacts::add(const MeetFacts &later) {
  stopSignal = stopSignal ? stopSignal : later.stopSignal;
  asksCheckpoint |= later.asksCheckpoint;
  isDamaged |= later.isDamaged;
  step.add(later.step);
}
