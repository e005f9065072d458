//===- Mangler.h - Changes programs at random -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Works on the text of a program, which knows no rules: lines are dropped and
// copied, sizes become 0, huge, negative or dynamic, values, types, attributes
// and names of ops are exchanged, regions lose their ends. A change of a type is
// mostly made wherever the type stands, so that many programs stay valid.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_HOSTILE_MANGLER_H
#define TESSERA_TEST_HOSTILE_MANGLER_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::hostile {

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
  /// In [0, n).
  size_t below(size_t n) { return n ? bits() % n : 0; }
  bool oneIn(size_t n) { return below(n) == 0; }
  template <typename List> auto &pick(List &list) {
    return list[below(list.size())];
  }

private:
  uint64_t state;
};

/// A word, a number, a string, a type of one word or a sign of a program.
struct Token {
  std::string text;
  /// White space before it.
  std::string space;
};

std::vector<Token> tokenize(llvm::StringRef text);
std::string join(const std::vector<Token> &tokens);

class Mangler {
public:
  /// `donors` are programs to take tokens and lines of.
  explicit Mangler(std::vector<std::string> donors);

  /// `program` with one change to as many as `most`; unchanged for 0.
  std::string mangle(llvm::StringRef program, size_t most,
                     Random &random) const;

private:
  void changeTokens(std::vector<Token> &tokens, Random &random) const;
  void changeLines(std::string &text, Random &random) const;

  std::vector<std::string> lines;
  /// Names of ops and attributes of all donors.
  std::vector<std::string> ops, attributes;
};

} // namespace tessera::hostile

#endif // TESSERA_TEST_HOSTILE_MANGLER_H
