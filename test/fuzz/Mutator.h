//===- Mutator.h - Damaged inputs -------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Damages inputs as libFuzzer's mutators do: bits, bytes, numbers, words, and
// ranges that are removed, repeated or copied from elsewhere. One seed gives
// the same inputs on every machine.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_FUZZ_MUTATOR_H
#define TESSERA_TEST_FUZZ_MUTATOR_H

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::fuzz {

class Mutator {
public:
  explicit Mutator(uint64_t seed) : state(seed) {}

  /// A number below `limit`.
  size_t below(size_t limit) { return limit ? size_t(next() % limit) : 0; }

  /// Returns one of `examples`, damaged at one or several positions.
  std::string damage(const std::vector<std::string> &examples);

private:
  /// SplitMix64 (Steele, Lea and Flood, 2014).
  uint64_t next();
  void damageOnce(std::string &text, const std::vector<std::string> &examples);

  uint64_t state;
};

} // namespace tessera::fuzz

#endif // TESSERA_TEST_FUZZ_MUTATOR_H
