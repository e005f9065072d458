//===- Json.h - A reader of JSON --------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Just enough JSON for the manifest: a tree of values, no exceptions, and
// getters that return a default if a member is missing or has another type.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_JSON_H
#define TESSERA_RT_SRC_JSON_H

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace tessera::rt {

struct Json {
  enum Kind { Null, Bool, Number, String, Array, Object };
  Kind kind = Null;
  double number = 0;
  /// Value of a Number without fraction or exponent.
  int64_t integer = 0;
  bool isInteger = false;
  bool boolean = false;
  std::string string;
  std::vector<Json> items;
  std::vector<std::pair<std::string, Json>> members;

  /// The member of that name, or null.
  const Json *find(const char *name) const;
  std::string getString(const char *name, const char *otherwise = "") const;
  int64_t getInteger(const char *name, int64_t otherwise) const;
  double getNumber(const char *name, double otherwise) const;
  /// The array's items; empty if it is missing.
  const std::vector<Json> &getArray(const char *name) const;
};

/// Parses `text`. Returns false, and a message with the byte's position in
/// `error`, if it is not one JSON value.
bool parseJson(const std::string &text, Json &value, std::string &error);

/// Checks that `value` is an object with each of these members once and no
/// other. Returns a message, or nothing.
std::string checkMembers(const Json &value,
                         std::initializer_list<const char *> expected);

/// Formats `text` as a JSON string, with quotes.
std::string quoteJson(const std::string &text);

/// Formats a number for JSON with `pattern`. NaN and infinity, which JSON
/// lacks, become null.
std::string numberJson(double value, const char *pattern = "%.9g");

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_JSON_H
