//===- Timeouts.h - How long waits may last ---------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A timeout is a duration in seconds, after which a wait is an error. A
// deadline is the instant at which a timeout ends, in monotonicSeconds().
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_TIMEOUTS_H
#define TESSERA_RT_SRC_TIMEOUTS_H

#include <cstdint>

namespace tessera::rt {

/// How long waits may last, in seconds.
struct Timeouts {
  /// Until all ranks of a job have joined it.
  double join = 60;
  /// From there to the end of the first step, which touches memory for the
  /// first time.
  double firstStep = 300;
  /// In a later step.
  double step = 60;
  /// While files are saved, beside the time to write them at `saveSpeed`.
  double save = 300;
  /// Bytes per second that the slowest disk writes; 0: writing gets no time of
  /// its own.
  double saveSpeed = 10e6;
  /// Until ranks that are asked to end after a failure are killed.
  double exit = 1;

  /// The timeout of a save of so many bytes.
  double saveOf(int64_t bytes) const {
    return save + (saveSpeed > 0 ? double(bytes) / saveSpeed : 0);
  }
  /// What --timeout sets: one limit for every wait for a rank.
  void setAll(double seconds) {
    join = firstStep = step = save = seconds;
    saveSpeed = 0;
  }
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_TIMEOUTS_H
