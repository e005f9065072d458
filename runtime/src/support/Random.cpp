//===- Random.cpp - Streams of random numbers -----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Random.h; kernels/Random.cpp generates the numbers.
//
//===----------------------------------------------------------------------===//

#include "Random.h"

#include "ranks/Control.h"

using namespace tessera::rt;

/// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

uint64_t tessera::rt::randomKey(uint64_t seed, const std::string &name) {
  return mix(mix(seed + 0x9e3779b97f4a7c15ull) ^
             hashBytes(name.data(), name.size()));
}
