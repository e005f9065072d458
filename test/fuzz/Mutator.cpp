//===- Mutator.cpp - Damaged inputs ---------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Mutator.h.
//
//===----------------------------------------------------------------------===//

#include "Mutator.h"

#include <cctype>

using namespace tessera::fuzz;

/// Words that are hard for readers: limits of numbers, other types, nesting.
static const char *const words[] = {"-1",
                                    "0",
                                    "1",
                                    "2147483648",
                                    "4294967296",
                                    "9223372036854775807",
                                    "9223372036854775808",
                                    "-9223372036854775808",
                                    "1e999",
                                    "0.5",
                                    "nan",
                                    "null",
                                    "true",
                                    "\"\"",
                                    "\"a\"",
                                    "[]",
                                    "{}",
                                    "..",
                                    "/",
                                    ",",
                                    "\\u0000",
                                    "\\"};

uint64_t Mutator::next() {
  uint64_t z = (state += 0x9e3779b97f4a7c15ull);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

void Mutator::damageOnce(std::string &text,
                         const std::vector<std::string> &examples) {
  size_t at = below(text.size() + 1);
  size_t length = below(below(2) ? 8 : text.size() + 1);
  const std::string &other = examples[below(examples.size())];
  const char *word = words[below(sizeof(words) / sizeof(words[0]))];
  switch (below(9)) {
  case 0: // a bit
    if (at < text.size())
      text[at] = char(text[at] ^ 1 << below(8));
    break;
  case 1: // a byte
    if (at < text.size())
      text[at] = char(below(256));
    break;
  case 2:
    text.erase(at, length);
    break;
  case 3: // everything after
    text.resize(at);
    break;
  case 4:
    text.insert(at, word);
    break;
  case 5: { // a number
    size_t digit = text.find_first_of("0123456789", at), end = digit;
    while (end < text.size() && isdigit(static_cast<unsigned char>(text[end])))
      ++end;
    if (digit != std::string::npos)
      text.replace(digit, end - digit, word);
    break;
  }
  case 6: // repeated
    text.insert(at, text.substr(at, length));
    break;
  case 7: { // of another example
    size_t from = below(other.size() + 1);
    text.replace(at, length, other.substr(from, length));
    break;
  }
  default: // many of one kind; rarely very many
    text.insert(at, std::string(below(64) ? below(64) : 100000,
                                "[{\"(9 \0\xff"[below(8)]));
    break;
  }
}

std::string Mutator::damage(const std::vector<std::string> &examples) {
  std::string text = examples[below(examples.size())];
  for (size_t left = 1 + below(4); left > 0; --left)
    damageOnce(text, examples);
  return text;
}
