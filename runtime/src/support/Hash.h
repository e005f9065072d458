//===- Hash.h - Checksums of files ------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// XXH64 with seed 0 (https://xxhash.com), by xxHash's own header.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_HASH_H
#define TESSERA_RT_SRC_HASH_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace tessera::rt {

/// The checksum of bytes that come one after the other.
class Hasher {
public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher &) = delete;
  Hasher &operator=(const Hasher &) = delete;

  void add(const void *data, size_t bytes);
  /// The checksum of the bytes so far.
  uint64_t value() const;

private:
  struct State;
  State *state;
};

uint64_t xxh64(const void *data, size_t bytes);

/// Sixteen hexadecimal digits.
std::string describeChecksum(uint64_t checksum);

/// Reads sixteen hexadecimal digits; false for anything else.
bool readChecksum(const std::string &text, uint64_t &checksum);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_HASH_H
