//===- ConfigReader.cpp - Values of a config.json by key ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConfigReader.h"
#include "tessera/Support/Json.h"
#include "tessera/Support/Spelling.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace tessera;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;
namespace json = llvm::json;

std::string tessera::printShort(const json::Value &value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  if (text.size() > 40)
    text = text.substr(0, 37) + "...";
  return text;
}

/// Escapes a key from the file to fit in one line.
static std::string escape(StringRef key) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::printEscapedString(key, stream);
  return text;
}

static bool isOff(const json::Value &value) {
  if (const json::Object *object = value.getAsObject())
    return object->empty();
  if (const json::Array *array = value.getAsArray())
    return array->empty();
  return value.getAsNull() || value.getAsBoolean() == false ||
         value.getAsNumber() == 0.0;
}

void ConfigReader::fail(StringRef key, const Twine &text) {
  if (error)
    return;
  error = llvm::createStringError(file + ": key '" + path + key + "': " + text);
}

const json::Value *ConfigReader::find(StringRef key) const {
  const json::Value *value = object.get(key);
  return value && !value->getAsNull() ? value : nullptr;
}

bool ConfigReader::isNull(StringRef key) const {
  const json::Value *value = object.get(key);
  return value && value->getAsNull();
}

int64_t ConfigReader::integer(StringRef key, std::optional<int64_t> byDefault,
                              int64_t least, int64_t limit,
                              StringRef expected) {
  const json::Value *value = get(key, expected, !byDefault);
  if (!value)
    return byDefault.value_or(1);
  std::optional<int64_t> number = value->getAsInteger();
  if (number && *number >= least && *number <= limit)
    return *number;
  if (number && *number > limit)
    wrong(key, ("an integer of at most " + Twine(limit)).str(), *value);
  else
    wrong(key, expected, *value);
  return 1;
}

int64_t ConfigReader::size(StringRef key, std::optional<int64_t> byDefault,
                           int64_t limit) {
  return integer(key, byDefault, 1, limit, "a positive integer");
}

int64_t ConfigReader::count(StringRef key, int64_t byDefault) {
  return integer(key, byDefault, 0, kMaxSize, "an integer of at least 0");
}

double ConfigReader::positive(StringRef key, std::optional<double> byDefault) {
  const json::Value *value = get(key, "a positive number", !byDefault);
  if (!value)
    return byDefault.value_or(1.0);
  std::optional<double> number = value->getAsNumber();
  if (number && *number > 0.0 && std::isfinite(*number))
    return *number;
  wrong(key, "a positive number", *value);
  return 1.0;
}

bool ConfigReader::boolean(StringRef key, bool byDefault) {
  const json::Value *value = find(key);
  if (!value)
    return byDefault;
  if (std::optional<bool> flag = value->getAsBoolean())
    return *flag;
  wrong(key, "true or false", *value);
  return byDefault;
}

/// Returns "\"a\", \"b\" or \"c\"".
static std::string listChoices(ArrayRef<StringRef> choices) {
  std::string text;
  for (auto [index, choice] : llvm::enumerate(choices)) {
    if (index > 0)
      text += index + 1 == choices.size() ? " or " : ", ";
    text += ("\"" + choice + "\"").str();
  }
  return text;
}

/// Returns the index of a string among the choices.
static std::optional<size_t> findChoice(const json::Value &value,
                                        ArrayRef<StringRef> choices) {
  std::optional<StringRef> text = value.getAsString();
  const StringRef *found = text ? llvm::find(choices, *text) : choices.end();
  if (found == choices.end())
    return std::nullopt;
  return found - choices.begin();
}

size_t ConfigReader::choice(StringRef key, ArrayRef<StringRef> choices,
                            std::optional<size_t> byDefault, bool areNames) {
  std::string expected = listChoices(choices);
  const json::Value *value = get(key, expected, !byDefault);
  if (!value)
    return byDefault.value_or(0);
  if (std::optional<size_t> found = findChoice(*value, choices))
    return *found;
  std::optional<StringRef> text = value->getAsString();
  fail(key, "expects " + expected + " but got " + printShort(*value) +
                (text && areNames ? didYouMean(*text, choices) : ""));
  return 0;
}

SmallVector<size_t>
ConfigReader::list(StringRef key, ArrayRef<StringRef> choices, int64_t length) {
  const json::Value *value = find(key);
  if (!value)
    return {};
  const json::Array *array = value->getAsArray();
  SmallVector<size_t> indices;
  for (size_t i = 0; array && i < array->size(); ++i)
    if (std::optional<size_t> found = findChoice((*array)[i], choices))
      indices.push_back(*found);
  if (array && static_cast<int64_t>(array->size()) == length &&
      indices.size() == array->size())
    return indices;
  wrong(key,
        "a list of " + std::to_string(length) + " of " + listChoices(choices),
        *value);
  return {};
}

SmallVector<int64_t> ConfigReader::integers(StringRef key, int64_t least,
                                            int64_t limit) {
  const json::Value *value = find(key);
  if (!value)
    return {};
  const json::Array *array = value->getAsArray();
  SmallVector<int64_t> list;
  for (size_t i = 0; array && i < array->size(); ++i)
    if (std::optional<int64_t> number = (*array)[i].getAsInteger();
        number && *number >= least && *number <= limit)
      list.push_back(*number);
  if (array && list.size() == array->size())
    return list;
  wrong(key,
        "a list of integers from " + std::to_string(least) + " to " +
            std::to_string(limit),
        *value);
  return {};
}

std::vector<double> ConfigReader::positives(StringRef key, int64_t length) {
  std::string expected =
      "a list of " + std::to_string(length) + " positive numbers";
  const json::Value *value = get(key, expected, /*required=*/true);
  if (!value)
    return {};
  const json::Array *array = value->getAsArray();
  std::vector<double> list;
  for (size_t i = 0; array && i < array->size(); ++i)
    if (std::optional<double> number = (*array)[i].getAsNumber();
        number && *number > 0.0 && std::isfinite(*number))
      list.push_back(*number);
  if (array && list.size() == array->size() &&
      static_cast<int64_t>(list.size()) == length)
    return list;
  wrong(key, expected, *value);
  return {};
}

std::optional<ConfigReader> ConfigReader::nested(StringRef key) {
  const json::Value *value = find(key);
  if (!value)
    return std::nullopt;
  if (const json::Object *nested = value->getAsObject())
    return ConfigReader(*nested, file, use, ignored, error,
                        (path + key + ".").str());
  wrong(key, "an object or null", *value);
  return std::nullopt;
}

void ConfigReader::checkDivides(StringRef key, int64_t size, StringRef what,
                                int64_t by) {
  if (size % by != 0)
    fail(key, "expects a multiple of " + what + " = " + Twine(by) +
                  " but got " + Twine(size));
}

void ConfigReader::checkKeys(ArrayRef<ArrayRef<StringRef>> lists,
                             ArrayRef<ArrayRef<StringRef>> off,
                             const Twine &where) {
  std::vector<StringRef> known;
  for (ArrayRef<StringRef> list :
       llvm::concat<const ArrayRef<StringRef>>(lists, off))
    llvm::append_range(known, list);
  for (StringRef key : sortKeys(object)) {
    if (llvm::is_contained(known, key))
      continue;
    std::string full = (path + key).str();
    const StringRef *wanted = llvm::find(ignored.wanted, full);
    if (wanted == ignored.wanted.end()) {
      std::string hint = didYouMean(key, known);
      if (hint.empty())
        hint = "; --ignore-key " + escape(full) + " ignores it";
      return fail(escape(key), "unknown key " + where + hint);
    }
    ignored.found.push_back(*wanted);
  }
  for (ArrayRef<StringRef> list : off)
    for (StringRef key : list)
      if (const json::Value *value = find(key); value && !isOff(*value))
        return wrong(key, "null, false or nothing (it is not supported)",
                     *value);
}

const json::Value *ConfigReader::get(StringRef key, StringRef expected,
                                     bool required) {
  const json::Value *value = find(key);
  if (!value && required)
    fail(key, "expects " + expected + " but got " +
                  (object.get(key) ? "null" : "nothing: it is missing"));
  return value;
}

void ConfigReader::wrong(StringRef key, StringRef expected,
                         const json::Value &value) {
  fail(key, "expects " + expected + " but got " + printShort(value));
}
