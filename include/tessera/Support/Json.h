//===- Json.h - JSON with a bound on its nesting ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All readers of user-written JSON use this parser, since LLVM's parser
// recurses without a limit.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_JSON_H
#define TESSERA_SUPPORT_JSON_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <vector>

namespace tessera {

/// The deepest accepted nesting of lists and objects.
inline constexpr int kMaxJsonNesting = 100;

/// True if lists and objects nest more than `limit` deep. Brackets in strings
/// do not count.
inline bool isJsonNestedDeeper(llvm::StringRef text, int limit) {
  int depth = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size() && depth <= limit; ++i) {
    char c = text[i];
    if (c == '"')
      inString = !inString;
    else if (inString)
      i += c == '\\';
    else if (c == '[' || c == '{')
      ++depth;
    else if (c == ']' || c == '}')
      --depth;
  }
  return depth > limit;
}

/// The keys of an object in alphabetical order.
inline std::vector<llvm::StringRef> sortKeys(const llvm::json::Object &object) {
  std::vector<llvm::StringRef> keys;
  for (const auto &entry : object)
    keys.push_back(entry.first);
  llvm::sort(keys);
  return keys;
}

/// Parses one JSON value. The error is worded to follow a file's name.
inline llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text) {
  if (isJsonNestedDeeper(text, kMaxJsonNesting))
    return llvm::createStringError("expects JSON of at most " +
                                   llvm::Twine(kMaxJsonNesting) +
                                   " levels but got more");
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value)
    return llvm::createStringError("is not JSON: " +
                                   llvm::toString(value.takeError()));
  return value;
}

} // namespace tessera

#endif // TESSERA_SUPPORT_JSON_H
