//===- ModuleText.cpp - Text that MLIR's parser cannot handle -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/ModuleText.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>

using namespace tessera;
using llvm::StringRef;

namespace {

/// Scans a text, skipping strings and comments.
class Scan {
public:
  explicit Scan(StringRef text) : text(text) {}

  /// Describes the construct at `at` that exceeds a limit; empty if there is
  /// none.
  std::string run();
  size_t at = 0;

private:
  void skipString();
  bool isTooMany() const;
  bool isIndexArray() const;

  StringRef text;
  int64_t depth = 0;
};

} // namespace

void Scan::skipString() {
  while (++at < text.size() && text[at] != '"' && text[at] != '\n')
    at += text[at] == '\\';
}

/// Whether a number of results begins after `at`, as in %x:N or %x#N.
bool Scan::isTooMany() const {
  StringRef name = text.take_front(at).rtrim(
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$.-");
  StringRef digits = text.substr(at + 1).take_while(llvm::isDigit);
  int64_t number = 0;
  return name.ends_with("%") && !digits.empty() &&
         (digits.getAsInteger(10, number) || number > kMaxOpResults);
}

/// Whether the bracket at `at` belongs to array<index: ...>: the parser asks
/// for a width of its elements that they do not have.
bool Scan::isIndexArray() const {
  StringRef before = text.take_front(at), after = text.substr(at + 1).ltrim();
  if (!before.consume_back("array") || !after.consume_front("index"))
    return false;
  bool isWhole =
      before.empty() || !(llvm::isAlnum(before.back()) ||
                          StringRef("_$.!#").contains(before.back()));
  after = after.ltrim();
  return isWhole && (after.starts_with(":") || after.starts_with(">"));
}

std::string Scan::run() {
  for (; at < text.size(); ++at) {
    switch (text[at]) {
    case '"':
      skipString();
      break;
    case '/':
      if (text.substr(at).starts_with("//"))
        at = std::min(text.find('\n', at), text.size()) - 1;
      break;
    case '(':
    case '[':
    case '{':
    case '<':
      if (++depth > kMaxBracketDepth)
        return "expects at most " + std::to_string(kMaxBracketDepth) +
               " brackets inside of each other";
      if (text[at] == '<' && isIndexArray())
        return "expects an array of integers or floats but got one of index";
      break;
    case '>':
      // An arrow does not close a bracket.
      if (at > 0 && text[at - 1] == '-')
        break;
      [[fallthrough]];
    case ')':
    case ']':
    case '}':
      depth = std::max<int64_t>(depth - 1, 0);
      break;
    case ':':
    case '#':
      if (isTooMany())
        return "expects at most " + std::to_string(kMaxOpResults) +
               " results of an op";
      break;
    default:
      break;
    }
  }
  return std::string();
}

llvm::Error tessera::checkModuleText(StringRef path, StringRef text) {
  if (text.starts_with("ML\xefR"))
    return llvm::Error::success();
  if (text.starts_with("\x7f"
                       "ELF"))
    return llvm::createStringError(
        path +
        ": expects the text or bytecode of a module but got an executable"
        "; `tessera run` runs it");
  Scan scan(text);
  std::string fault = scan.run();
  if (fault.empty())
    return llvm::Error::success();
  StringRef before = text.take_front(scan.at);
  size_t lineStart = before.rfind('\n') + 1;
  return llvm::createStringError(
      path + ":" + llvm::Twine(before.count('\n') + 1) + ":" +
      llvm::Twine(scan.at - lineStart + 1) + ": " + fault);
}
