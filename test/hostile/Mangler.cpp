//===- Mangler.cpp - Changes programs at random ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mangler.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace tessera::hostile;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

static bool isWord(char c) {
  return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$';
}

/// Length of the first token of `text`. Words have a sigil, and may be
/// `dialect.op`; all other tokens are one character.
static size_t tokenLength(StringRef text) {
  if (text[0] == '"') {
    size_t end = text.find('"', 1);
    return end == StringRef::npos ? text.size() : end + 1;
  }
  size_t n = StringRef("%@#!^").contains(text[0]) ? 1 : 0;
  while (n < text.size() && isWord(text[n]))
    ++n;
  return std::max<size_t>(n, 1);
}

std::vector<Token> tessera::hostile::tokenize(StringRef text) {
  std::vector<Token> tokens;
  while (true) {
    StringRef trimmed = text.ltrim();
    std::string space = text.take_front(text.size() - trimmed.size()).str();
    if (trimmed.empty())
      return tokens;
    size_t n = tokenLength(trimmed);
    tokens.push_back({trimmed.take_front(n).str(), space});
    text = trimmed.drop_front(n);
  }
}

std::string tessera::hostile::join(const std::vector<Token> &tokens) {
  std::string text;
  for (const Token &token : tokens)
    text += token.space + token.text;
  return text + "\n";
}

static bool isNumber(StringRef text) {
  return !text.empty() && llvm::all_of(text, llvm::isDigit);
}

/// True for `8x16xf32`, the text between the brackets of a tensor type.
static bool isShape(StringRef text) {
  return !text.empty() && (llvm::isDigit(text[0]) || text[0] == 'x') &&
         text.contains('x') && !text.starts_with("0x");
}

static bool isElement(StringRef text) {
  static const std::set<std::string> known{
      "f32", "f16", "bf16", "f64", "i1", "i8", "i16", "i32", "i64", "index"};
  return known.count(text.str()) != 0;
}

//===----------------------------------------------------------------------===//
// Replacements
//===----------------------------------------------------------------------===//

// clang-format off
static const std::vector<std::string> kNumbers{
    "0",  "1",  "2",    "3",     "4",          "5",          "7",
    "8",  "16", "17",   "64",    "-1",         "-2",         "-7",
    "31", "63", "1000", "65537", "2147483647", "2147483648", "4294967296",
    "1099511627776", "9223372036854775807", "-9223372036854775808",
    "18446744073709551616", "0.0", "1.0e30", "-1.5"};
static const std::vector<std::string> kSizes{
    "0", "1", "2", "3", "4", "5", "6", "7", "8", "12", "16", "17", "?",
    "4294967296", "1099511627776", "9223372036854775807"};
static const std::vector<std::string> kElements{
    "f32", "f16",  "bf16",  "f64",          "f8E4M3FN", "f8E5M2",
    "i1",  "i8",   "i16",   "i32",          "i64",      "index",
    "i4",  "i128", "ui8",   "complex<f32>", "tf32",     "si32",
    "f128", "vector<2xf32>"};
// clang-format on

/// Changes, drops or adds one size of a shape, or changes its element type.
static std::string changeShape(StringRef shape, Random &random) {
  llvm::SmallVector<StringRef> parts;
  shape.split(parts, 'x');
  std::vector<std::string> all(parts.begin(), parts.end());
  std::string &size = all[random.below(all.size())];
  switch (random.below(5)) {
  case 0:
    all.back() = random.pick(kElements);
    break;
  case 1:
    all.insert(all.begin() + random.below(all.size()), random.pick(kSizes));
    break;
  case 2:
    if (all.size() > 1)
      all.erase(all.begin() + random.below(all.size() - 1));
    break;
  default:
    if (&size != &all.back())
      size = random.pick(kSizes);
    else
      all.front() = random.pick(kSizes);
  }
  return llvm::join(all, "x");
}

static std::string change(const std::string &token, Random &random,
                          const std::vector<Token> &tokens,
                          const std::vector<std::string> &ops,
                          const std::vector<std::string> &attributes) {
  if (isShape(token))
    return changeShape(token, random);
  if (isElement(token))
    return random.pick(kElements);
  if (isNumber(token))
    return random.pick(kNumbers);
  char sigil = token[0];
  if (token.find('.') != std::string::npos && llvm::isAlpha(sigil)) {
    bool isAttribute = llvm::is_contained(attributes, token);
    return random.pick(isAttribute ? attributes : ops);
  }
  // Another token of the same kind.
  for (int tries = 0; tries < 20; ++tries) {
    const std::string &other = tokens[random.below(tokens.size())].text;
    bool isAlike = StringRef("%@#!^\"").contains(sigil)
                       ? other[0] == sigil
                       : isWord(other[0]) == isWord(sigil);
    if (isAlike && other != token)
      return other;
  }
  return token;
}

//===----------------------------------------------------------------------===//
// The mangler
//===----------------------------------------------------------------------===//

Mangler::Mangler(const std::vector<std::string> &donors) {
  std::set<std::string> opNames, attributeNames;
  for (const std::string &donor : donors) {
    llvm::SmallVector<StringRef> parts;
    StringRef(donor).split(parts, '\n', -1, /*KeepEmpty=*/false);
    lines.insert(lines.end(), parts.begin(), parts.end());
    std::vector<Token> tokens = tokenize(donor);
    for (size_t i = 0; i + 1 < tokens.size(); ++i) {
      const std::string &text = tokens[i].text;
      if (text.find('.') == std::string::npos || !llvm::isAlpha(text[0]))
        continue;
      const std::string &next = tokens[i + 1].text;
      (next == "=" || next == "}" || next == "," ? attributeNames : opNames)
          .insert(text);
    }
  }
  ops.assign(opNames.begin(), opNames.end());
  attributes.assign(attributeNames.begin(), attributeNames.end());
}

/// True for tokens whose change has an effect: sizes, element types, values,
/// names.
static bool isTelling(const std::string &text) {
  return isShape(text) || isElement(text) || isNumber(text) ||
         StringRef("%@#\"").contains(text[0]) ||
         (llvm::isAlpha(text[0]) && text.find('.') != std::string::npos);
}

/// Replaces `from` by `to` in all shapes and, with `alone`, outside of shapes.
static void replaceAlike(std::vector<Token> &tokens, StringRef from,
                         StringRef to, bool alone) {
  for (Token &token : tokens) {
    if (alone && token.text == from)
      token.text = to.str();
    if (!isShape(token.text))
      continue;
    llvm::SmallVector<StringRef> all;
    std::string shape = token.text;
    StringRef(shape).split(all, 'x');
    for (StringRef &part : all)
      if (part == from)
        part = to;
    token.text = llvm::join(all, "x");
  }
}

std::vector<std::string> tessera::hostile::changeSizes(StringRef program) {
  std::vector<Token> tokens = tokenize(program);
  std::set<std::string> sizes;
  for (const Token &token : tokens) {
    if (!isShape(token.text))
      continue;
    llvm::SmallVector<StringRef> parts;
    StringRef(token.text).split(parts, 'x');
    for (StringRef part : parts)
      if (isNumber(part))
        sizes.insert(part.str());
  }
  std::vector<std::string> programs;
  for (const std::string &from : sizes)
    for (StringRef to : {"0", "1", "4294967296"})
      for (bool alone : {false, true}) {
        std::vector<Token> changed = tokens;
        replaceAlike(changed, from, to, alone);
        std::string text = join(changed);
        if (programs.empty() || text != programs.back())
          programs.push_back(std::move(text));
      }
  return programs;
}

/// Changes a size, or the element type, in all tensor types.
static void changeAlike(std::vector<Token> &tokens, Random &random) {
  std::vector<std::string> shapes;
  for (const Token &token : tokens)
    if (isShape(token.text))
      shapes.push_back(token.text);
  if (shapes.empty())
    return;
  llvm::SmallVector<StringRef> parts;
  std::string chosen = random.pick(shapes);
  StringRef(chosen).split(parts, 'x');
  std::string from = parts[random.below(parts.size())].str();
  bool isSize = isNumber(from);
  bool inNumbers = isSize && random.oneIn(2);
  replaceAlike(tokens, from, random.pick(isSize ? kSizes : kElements),
               inNumbers || !isSize);
}

/// Changes a dimension of a sharding: `{"x"}` becomes `{}`, `{}` gets an axis.
static void changeSharding(std::vector<Token> &tokens, Random &random) {
  std::vector<size_t> braces;
  std::vector<std::string> axes;
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    const std::string &next = tokens[i + 1].text;
    if (tokens[i].text == "{" && (next == "}" || next[0] == '"'))
      braces.push_back(i);
    if (tokens[i].text[0] == '"' && next == "=")
      axes.push_back(tokens[i].text);
  }
  if (braces.empty() || axes.empty())
    return;
  size_t at = random.pick(braces);
  if (tokens[at + 1].text == "}")
    tokens.insert(tokens.begin() + at + 1, {random.pick(axes), ""});
  else if (random.oneIn(2))
    tokens[at + 1].text = random.pick(axes);
  else
    tokens.erase(tokens.begin() + at + 1);
}

/// Replaces an op by another op of the same dialect.
static void changeOp(std::vector<Token> &tokens,
                     const std::vector<std::string> &ops, Random &random) {
  for (int tries = 0; tries < 50; ++tries) {
    std::string &text = random.pick(tokens).text;
    auto [dialect, name] = StringRef(text).split('.');
    if (name.empty() || !llvm::is_contained(ops, text))
      continue;
    std::vector<std::string> others;
    for (const std::string &op : ops)
      if (StringRef(op).split('.').first == dialect)
        others.push_back(op);
    text = random.pick(others);
    return;
  }
}

void Mangler::changeTokens(std::vector<Token> &tokens, Random &random) const {
  if (tokens.empty())
    return;
  switch (random.below(8)) {
  case 0:
  case 1:
    return changeAlike(tokens, random);
  case 2:
    return changeSharding(tokens, random);
  case 3:
  case 4:
    return changeOp(tokens, ops, random);
  default:
    break;
  }
  size_t at = random.below(tokens.size());
  for (int tries = 0; tries < 20 && !isTelling(tokens[at].text); ++tries)
    at = random.below(tokens.size());
  if (random.oneIn(10)) {
    if (random.oneIn(2))
      tokens.erase(tokens.begin() + at);
    else
      tokens.insert(tokens.begin() + at, Token(tokens[at]));
    return;
  }
  std::string before = tokens[at].text;
  std::string after = change(before, random, tokens, ops, attributes);
  bool everywhere = (isShape(before) || isElement(before)) && !random.oneIn(4);
  for (Token &token : tokens)
    if (everywhere && token.text == before)
      token.text = after;
  tokens[at].text = after;
}

void Mangler::changeLines(std::string &text, Random &random) const {
  llvm::SmallVector<StringRef> parts;
  StringRef(text).split(parts, '\n');
  std::vector<std::string> mine(parts.begin(), parts.end());
  size_t at = random.below(mine.size());
  switch (random.below(4)) {
  case 0:
    mine.erase(mine.begin() + at);
    break;
  case 1:
    mine.insert(mine.begin() + random.below(mine.size()), mine[at]);
    break;
  case 2:
    std::swap(mine[at], mine[random.below(mine.size())]);
    break;
  default:
    mine.insert(mine.begin() + at, random.pick(lines));
  }
  text = llvm::join(mine, "\n");
}

std::string Mangler::mangle(StringRef program, size_t most,
                            Random &random) const {
  std::string text = program.str();
  // Mostly few changes, since each may make the program invalid.
  size_t count = most ? 1 + random.below(1 + random.below(most)) : 0;
  for (size_t i = 0; i < count; ++i) {
    if (random.oneIn(5)) {
      changeLines(text, random);
      continue;
    }
    std::vector<Token> tokens = tokenize(text);
    changeTokens(tokens, random);
    text = join(tokens);
  }
  return text;
}
