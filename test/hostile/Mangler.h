//===- Mangler.h - Changes programs at random -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes the text of a program without regard to rules: lines are dropped and
// copied, sizes become 0, huge, negative or dynamic, values, types, attributes
// and names of ops are exchanged, regions lose their ends. A type is mostly
// changed at all its occurrences, so that many programs stay valid.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_HOSTILE_MANGLER_H
#define TESSERA_TEST_HOSTILE_MANGLER_H

#include "../random/Random.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace tessera::hostile {

using test::Random;

/// A word, a number, a string, a type of one word or a punctuation character.
struct Token {
  std::string text;
  /// White space before the token.
  std::string space;
};

std::vector<Token> tokenize(llvm::StringRef text);
std::string join(const std::vector<Token> &tokens);

/// The programs with one of the sizes of `program` replaced by 0, 1 or 2^32 in
/// all shapes, and those where the number outside of shapes is replaced as
/// well.
std::vector<std::string> changeSizes(llvm::StringRef program);

class Mangler {
public:
  /// Takes tokens and lines from the programs `donors`.
  explicit Mangler(const std::vector<std::string> &donors);

  /// Makes one to `most` changes in `program`; none for 0.
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
