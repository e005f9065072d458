//===- Hash.cpp - Checksums of files --------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Hash.h.
//
//===----------------------------------------------------------------------===//

#include "Hash.h"

#include "Support.h"

#include <cstdlib>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace tessera::rt;

struct Hasher::State {
  XXH64_state_t xxh;
};

Hasher::Hasher() : state(new State) { XXH64_reset(&state->xxh, 0); }

Hasher::~Hasher() { delete state; }

void Hasher::add(const void *data, size_t bytes) {
  XXH64_update(&state->xxh, data, bytes);
}

uint64_t Hasher::value() const { return XXH64_digest(&state->xxh); }

uint64_t tessera::rt::xxh64(const void *data, size_t bytes) {
  return XXH64(data, bytes, 0);
}

std::string tessera::rt::describeChecksum(uint64_t checksum) {
  return format("%016llx", (unsigned long long)checksum);
}

bool tessera::rt::readChecksum(const std::string &text, uint64_t &checksum) {
  if (text.size() != 16 ||
      text.find_first_not_of("0123456789abcdef") != std::string::npos)
    return false;
  checksum = strtoull(text.c_str(), nullptr, 16);
  return true;
}
