//===- StateSource.h - Copies of state beside a step ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_STATESOURCE_H
#define TESSERA_RT_SRC_STATESOURCE_H

#include <cstdint>
#include <memory>
#include <string>

namespace tessera::rt {

/// Copies parts of the program's arena to host memory while steps run. The
/// rank's thread creates and destroys it; between, one other thread at a time
/// copies. Functions return a message, or nothing.
class StateSource {
public:
  virtual ~StateSource() = default;
  /// Allocates the host memory that copies go to. It ends with this object.
  virtual std::string allocate(int64_t bytes, uint8_t *&memory) = 0;
  /// Prepares the calling thread for copies.
  virtual std::string enter() = 0;
  /// Begins to copy `bytes` bytes at `offset` of the arena into that memory.
  virtual std::string copy(uint8_t *to, int64_t offset, int64_t bytes) = 0;
  /// Waits until all copies have ended.
  virtual std::string wait() = 0;
  /// Bytes to copy between two waits.
  virtual int64_t pieceBytes() const = 0;
};

/// Creates the source for an arena in host memory.
std::unique_ptr<StateSource> createHostStateSource(const uint8_t *arena);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_STATESOURCE_H
