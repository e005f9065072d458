//===- Scratch.h - Reused working memory ------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Buffers into which library calls pack operands. They grow and are kept,
// because fresh memory costs page faults on every call. They are private to the
// rank and not in the arena.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_SCRATCH_H
#define TESSERA_RT_SRC_SCRATCH_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::rt {

/// One growing buffer, aligned to 64 bytes. Contents are lost when it grows.
class ScratchBuffer {
public:
  ScratchBuffer() = default;
  ScratchBuffer(ScratchBuffer &&other) noexcept
      : memory(other.memory), capacity(other.capacity) {
    other.memory = nullptr;
    other.capacity = 0;
  }
  ScratchBuffer(const ScratchBuffer &) = delete;
  ScratchBuffer &operator=(const ScratchBuffer &) = delete;
  ~ScratchBuffer();

  /// Returns at least `bytes` bytes; ends the process if there is no memory.
  void *get(size_t bytes);
  size_t bytes() const { return capacity; }
  float *getFloats(size_t count) {
    return static_cast<float *>(get(count * sizeof(float)));
  }

private:
  void *memory = nullptr;
  size_t capacity = 0;
};

/// The buffers of a rank: one shared by all threads of a call, one for rows
/// that a call gathers for matmuls, and some for each thread.
struct ScratchSet {
  ScratchBuffer shared, rows;
  std::vector<ScratchBuffer> perThread;

  size_t bytes() const {
    size_t total = shared.bytes() + rows.bytes();
    for (const ScratchBuffer &buffer : perThread)
      total += buffer.bytes();
    return total;
  }
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_SCRATCH_H
