//===- Timeouts.h - Durations of waits --------------------------*- C++ -*-===//
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

/// Timeouts of waits, in seconds.
struct Timeouts {
  /// Time until all ranks of a job have joined it.
  double join = 60;
  /// Time from then to the end of the first step, which touches memory for the
  /// first time.
  double firstStep = 300;
  /// Time of a later step.
  double step = 60;
  /// Time to save files, in addition to writing them at `saveSpeed`.
  double save = 300;
  /// Bytes per second of the slowest disk; 0: no additional time.
  double saveSpeed = 10e6;
  /// Time until ranks that are asked to end after a failure are killed.
  double exit = 1;

  /// The timeout of a save of `bytes` bytes.
  double saveOf(int64_t bytes) const {
    return save + (saveSpeed > 0 ? double(bytes) / saveSpeed : 0);
  }
  /// Sets the limit of --timeout for every wait for a rank.
  void setAll(double seconds) {
    join = firstStep = step = save = seconds;
    saveSpeed = 0;
  }
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_TIMEOUTS_H
