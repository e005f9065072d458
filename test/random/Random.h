//===- Random.h - Numbers that look drawn -----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_RANDOM_RANDOM_H
#define TESSERA_TEST_RANDOM_RANDOM_H

#include <cstddef>
#include <cstdint>

namespace tessera::test {

/// Numbers by SplitMix64 (Steele, Lea, Flood 2014).
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t bits() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// A number in [0, n).
  size_t below(size_t n) { return n ? bits() % n : 0; }
  /// A number in [low, high].
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(below(high - low + 1));
  }
  bool oneIn(size_t n) { return below(n) == 0; }
  bool percent(size_t n) { return below(100) < n; }
  template <typename List> auto &pick(List &list) {
    return list[below(list.size())];
  }

private:
  uint64_t state;
};

} // namespace tessera::test

#endif // TESSERA_TEST_RANDOM_RANDOM_H
