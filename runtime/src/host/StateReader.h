//===- StateReader.h - A reader of state during a step ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_STATEREADER_H
#define TESSERA_RT_SRC_STATEREADER_H

namespace tessera::rt {

/// Reads parameters and state, as the step before left them, while the next
/// step runs. Arguments of one element may change at any time of the step, so
/// they must have been read before it.
class StateReader {
public:
  virtual ~StateReader() = default;
  /// Waits at most `seconds` until the state of the step before has been read.
  /// Returns true if it has, or if reading failed.
  virtual bool waitFor(double seconds) = 0;
  /// Seconds after which a reader that has not ended hangs.
  virtual double patience() const = 0;
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_STATEREADER_H
