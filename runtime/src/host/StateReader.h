//===- StateReader.h - A reader of the state of a step ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_STATEREADER_H
#define TESSERA_RT_SRC_STATEREADER_H

#include "support/Support.h"

namespace tessera::rt {

/// Reads parameters and state while the next step runs its forward and
/// backward. That step waits for it before it changes them.
class StateReader {
public:
  virtual ~StateReader() = default;
  /// Waits until the state of the step before has been read.
  virtual Status wait() = 0;
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_STATEREADER_H
