//===- Json.cpp - A reader of JSON ----------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Json.h.
//
//===----------------------------------------------------------------------===//

#include "Json.h"

#include "Support.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace tessera::rt;

namespace {
/// Recursive descent over one text.
struct Parser {
  const std::string &text;
  size_t at = 0;
  std::string error;

  bool failHere(const char *expected) {
    if (error.empty())
      error = format("expects %s at byte %zu", expected, at);
    return false;
  }
  void skipSpace() {
    while (at < text.size() && strchr(" \t\r\n", text[at]))
      ++at;
  }
  bool take(char c) {
    skipSpace();
    if (at >= text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }
  bool takeWord(const char *word) {
    size_t length = strlen(word);
    if (text.compare(at, length, word) != 0)
      return false;
    at += length;
    return true;
  }

  bool parseValue(Json &value, int depth);
  bool parseString(std::string &out);
  bool parseEscape(std::string &out);
  bool parseNumber(Json &value);
  bool parseArray(Json &value, int depth);
  bool parseObject(Json &value, int depth);
};
} // namespace

bool Parser::parseEscape(std::string &out) {
  char c = at < text.size() ? text[at++] : 0;
  const char *from = "\"\\/bfnrt", *to = "\"\\/\b\f\n\r\t";
  if (const char *found = c ? strchr(from, c) : nullptr) {
    out += to[found - from];
    return true;
  }
  if (c != 'u' || at + 4 > text.size())
    return failHere("an escape");
  char *end;
  std::string digits = text.substr(at, 4);
  unsigned long code = strtoul(digits.c_str(), &end, 16);
  if (end != digits.c_str() + 4)
    return failHere("four hexadecimal digits");
  at += 4;
  // Encodes UTF-8. Surrogates are kept unchanged, because names do not need
  // them.
  if (code < 0x80) {
    out += char(code);
  } else if (code < 0x800) {
    out += char(0xc0 | (code >> 6));
    out += char(0x80 | (code & 0x3f));
  } else {
    out += char(0xe0 | (code >> 12));
    out += char(0x80 | ((code >> 6) & 0x3f));
    out += char(0x80 | (code & 0x3f));
  }
  return true;
}

bool Parser::parseString(std::string &out) {
  if (!take('"'))
    return failHere("a string");
  while (at < text.size() && text[at] != '"') {
    char c = text[at++];
    if (c != '\\')
      out += c;
    else if (!parseEscape(out))
      return false;
  }
  return take('"') || failHere("the end of a string");
}

bool Parser::parseNumber(Json &value) {
  const char *begin = text.c_str() + at;
  char *end;
  value.kind = Json::Number;
  value.number = strtod(begin, &end);
  if (end == begin)
    return failHere("a value");
  std::string digits(begin, size_t(end - begin));
  value.isInteger = digits.find_first_of(".eEnN") == std::string::npos;
  if (value.isInteger)
    value.integer = strtoll(digits.c_str(), nullptr, 10);
  at += digits.size();
  return true;
}

bool Parser::parseArray(Json &value, int depth) {
  value.kind = Json::Array;
  take('[');
  if (take(']'))
    return true;
  do {
    value.items.emplace_back();
    if (!parseValue(value.items.back(), depth + 1))
      return false;
  } while (take(','));
  return take(']') || failHere("',' or ']'");
}

bool Parser::parseObject(Json &value, int depth) {
  value.kind = Json::Object;
  take('{');
  if (take('}'))
    return true;
  do {
    value.members.emplace_back();
    if (!parseString(value.members.back().first))
      return false;
    if (!take(':'))
      return failHere("':'");
    if (!parseValue(value.members.back().second, depth + 1))
      return false;
  } while (take(','));
  return take('}') || failHere("',' or '}'");
}

bool Parser::parseValue(Json &value, int depth) {
  skipSpace();
  if (depth > 64)
    return failHere("less nesting");
  char c = at < text.size() ? text[at] : 0;
  if (c == '{')
    return parseObject(value, depth);
  if (c == '[')
    return parseArray(value, depth);
  if (c == '"') {
    value.kind = Json::String;
    return parseString(value.string);
  }
  if (takeWord("null"))
    return true;
  if (takeWord("true") || takeWord("false")) {
    value.kind = Json::Bool;
    value.boolean = text[at - 2] == 'u';
    return true;
  }
  return parseNumber(value);
}

bool tessera::rt::parseJson(const std::string &text, Json &value,
                            std::string &error) {
  Parser parser{text, 0, {}};
  bool good = parser.parseValue(value, 0);
  parser.skipSpace();
  if (good && parser.at != text.size())
    good = parser.failHere("the end");
  error = parser.error;
  return good;
}

const Json *Json::find(const char *name) const {
  for (const auto &member : members)
    if (member.first == name)
      return &member.second;
  return nullptr;
}

std::string Json::getString(const char *name, const char *otherwise) const {
  const Json *member = find(name);
  return member && member->kind == String ? member->string : otherwise;
}

int64_t Json::getInteger(const char *name, int64_t otherwise) const {
  const Json *member = find(name);
  return member && member->isInteger ? member->integer : otherwise;
}

double Json::getNumber(const char *name, double otherwise) const {
  const Json *member = find(name);
  return member && member->kind == Number ? member->number : otherwise;
}

const std::vector<Json> &Json::getArray(const char *name) const {
  static const std::vector<Json> empty;
  const Json *member = find(name);
  return member ? member->items : empty;
}

std::string
tessera::rt::checkMembers(const Json &value,
                          std::initializer_list<const char *> expected) {
  std::string names;
  for (const char *name : expected)
    names += (names.empty() ? "" : ", ") + quoteJson(name);
  std::string expects = "expects the fields " + names + ", but got ";
  for (const char *name : expected) {
    auto count =
        std::count_if(value.members.begin(), value.members.end(),
                      [&](const auto &member) { return member.first == name; });
    if (count != 1)
      return expects + (count ? "several " : "no ") + quoteJson(name);
  }
  for (const auto &[name, member] : value.members)
    if (std::find(expected.begin(), expected.end(), name) == expected.end())
      return expects + quoteJson(name);
  return std::string();
}

std::string tessera::rt::quoteJson(const std::string &text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      out += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      out += format("\\u%04x", unsigned(c));
    else
      out += c;
  }
  return out + "\"";
}

std::string tessera::rt::numberJson(double value, const char *pattern) {
  char text[64];
  snprintf(text, sizeof(text), pattern, value);
  return std::isfinite(value) ? text : "null";
}
