//===- Observations.cpp - Reads runs of a model ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Three formats: comma-separated rows, JSON, the log of a program.
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/Observe.h"
#include "tessera/Support/Errors.h"
#include "tessera/Support/Json.h"
#include "tessera/Support/Spelling.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>

using namespace llvm;
using namespace tessera;
using namespace tessera::cost;

/// Derives the missing fields. The sequences per step are taken from `base` if
/// the layout does not give them.
static Expected<ExecutedPlan> complete(GivenExecutedPlan &given,
                                       const ExecutedPlan &base) {
  if (Error error = given.complete())
    return std::move(error);
  if (!given.has("global-batch") && !given.has("micro-batches"))
    if (Error error = given.plan.setGlobalBatch(base.globalBatch()))
      return std::move(error);
  return given.plan;
}

/// Returns `base` with the fields of a text replaced.
static Expected<ExecutedPlan> parseLayout(StringRef text,
                                          const ExecutedPlan &base) {
  GivenExecutedPlan given;
  given.plan = base;
  if (Error error = given.parse(text))
    return std::move(error);
  return complete(given, base);
}

static Expected<ExecutedPlan> readLayout(const json::Value &value,
                                         const ExecutedPlan &base) {
  if (auto text = value.getAsString())
    return parseLayout(*text, base);
  const json::Object *object = value.getAsObject();
  if (!object)
    return createStringError("expects an object or a text");
  GivenExecutedPlan given;
  given.plan = base;
  if (Error error = readPlan(*object, given))
    return std::move(error);
  return complete(given, base);
}

static bool isPositive(double number) {
  return std::isfinite(number) && number > 0;
}

//===----------------------------------------------------------------------===//
// Comma-separated
//===----------------------------------------------------------------------===//

/// Splits a line into cells; quotes keep commas.
static SmallVector<std::string> splitCells(StringRef line) {
  SmallVector<std::string> cells(1);
  bool quoted = false;
  for (char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      cells.emplace_back();
    else
      cells.back() += c;
  }
  return cells;
}

namespace {

/// Reads rows into observations, by column name.
class RowReader {
public:
  RowReader(StringRef file, const ExecutedPlan &base)
      : file(file), base(base) {}

  Error readHeader(StringRef line, unsigned number) {
    if (Error error = checkQuotes(line, number))
      return error;
    static constexpr StringRef known[] = {"layout", "seconds", "ms",
                                          "bytes",  "model",   "cluster"};
    for (const std::string &cell : splitCells(line)) {
      columns.push_back(StringRef(cell).trim().lower());
      if (!is_contained(known, StringRef(columns.back())))
        return fail(number, columns.size(),
                    "expects a column of " +
                        join(ArrayRef<StringRef>(known), ", ") + " but got '" +
                        columns.back() + "'" +
                        didYouMean(columns.back(), known));
      if (llvm::count(columns, columns.back()) > 1)
        return fail(number, columns.size(),
                    "expects each column once but got '" + columns.back() +
                        "' again");
    }
    bool hasSeconds = is_contained(columns, "seconds"),
         hasTime = hasSeconds || is_contained(columns, "ms");
    if (hasSeconds && is_contained(columns, "ms"))
      return createStringError(file + ":" + Twine(number) +
                               ": expects a column seconds or ms but got both");
    if (!is_contained(columns, "layout") || !hasTime)
      return createStringError(file + ":" + Twine(number) +
                               ": expects columns layout and seconds or ms "
                               "but got '" +
                               line + "'");
    return Error::success();
  }

  Expected<Observation> readRow(StringRef line, unsigned number) {
    if (Error error = checkQuotes(line, number))
      return std::move(error);
    SmallVector<std::string> cells = splitCells(line);
    if (cells.size() != columns.size())
      return createStringError(formatv("{0}:{1}: expects {2} cells but got {3}",
                                       file, number, columns.size(),
                                       cells.size()));
    Observation observation;
    observation.where = formatv("{0}:{1}", file, number);
    for (size_t i = 0; i < cells.size(); ++i)
      if (Error error =
              readCell(StringRef(cells[i]).trim(), number, i, observation))
        return std::move(error);
    return observation;
  }

private:
  Error checkQuotes(StringRef line, unsigned number) const {
    if (line.count('"') % 2 == 0)
      return Error::success();
    return createStringError(file + ":" + Twine(number) + ": column " +
                             Twine(splitCells(line).size()) +
                             ": expects a closing quote");
  }

  Error readCell(StringRef cell, unsigned number, size_t column,
                 Observation &observation) {
    StringRef name = columns[column];
    if (name == "layout") {
      auto plan = parseLayout(cell, base);
      if (!plan)
        return fail(number, column + 1, toString(plan.takeError()));
      observation.plan = *plan;
    } else if (name == "model") {
      observation.model = cell.str();
    } else if (name == "cluster") {
      observation.cluster = cell.str();
    } else {
      double value = 0;
      if (cell.getAsDouble(value) || !isPositive(value))
        return fail(number, column + 1,
                    name + ": expects a number above 0 but got '" + cell + "'");
      if (name == "bytes")
        observation.bytes = value;
      else
        observation.seconds = name == "ms" ? value * 1e-3 : value;
    }
    return Error::success();
  }

  Error fail(unsigned line, size_t column, const Twine &what) const {
    return createStringError(file + ":" + Twine(line) + ": column " +
                             Twine(column) + ": " + what);
  }

  StringRef file;
  const ExecutedPlan &base;
  SmallVector<std::string> columns;
};

} // namespace

static Expected<std::vector<Observation>>
parseRows(StringRef text, StringRef file, const ExecutedPlan &base) {
  RowReader reader(file, base);
  std::vector<Observation> observations;
  unsigned number = 0;
  bool hasHeader = false;
  while (!text.empty()) {
    StringRef line;
    std::tie(line, text) = text.split('\n');
    line = line.trim();
    ++number;
    if (line.empty())
      continue;
    if (!hasHeader) {
      hasHeader = true;
      if (Error error = reader.readHeader(line, number))
        return std::move(error);
      continue;
    }
    auto row = reader.readRow(line, number);
    if (!row)
      return row.takeError();
    observations.push_back(std::move(*row));
  }
  return observations;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static Expected<Observation> readObject(const json::Object &object,
                                        const std::string &where,
                                        const ExecutedPlan &base) {
  static constexpr StringRef known[] = {"layout", "seconds", "bytes", "model",
                                        "cluster"};
  Observation observation;
  observation.where = where;
  observation.plan = base;
  auto fail = [&](StringRef key, const Twine &what) {
    return createStringError(where + ": " + key + ": " + what);
  };
  std::vector<std::string> keys;
  for (const auto &entry : object)
    keys.push_back(entry.first.str());
  llvm::sort(keys);
  for (const std::string &key : keys)
    if (!is_contained(known, StringRef(key)))
      return createStringError(where + ": expects a known field but got '" +
                               key + "'" + didYouMean(key, known));
  for (auto [key, field] : {std::pair("seconds", &observation.seconds),
                            std::pair("bytes", &observation.bytes)}) {
    const json::Value *value = object.get(key);
    if (!value && StringRef(key) == "bytes")
      continue;
    auto number = value ? value->getAsNumber() : std::nullopt;
    if (!number || !isPositive(*number))
      return fail(key, "expects a number above 0 but got " +
                           (value ? formatv("{0}", *value).str() : "nothing"));
    *field = *number;
  }
  for (auto [key, field] : {std::pair("model", &observation.model),
                            std::pair("cluster", &observation.cluster)}) {
    const json::Value *value = object.get(key);
    if (!value)
      continue;
    auto text = value->getAsString();
    if (!text)
      return fail(key,
                  "expects a text but got " + formatv("{0}", *value).str());
    *field = text->str();
  }
  if (const json::Value *layout = object.get("layout")) {
    auto plan = readLayout(*layout, base);
    if (!plan)
      return fail("layout", toString(plan.takeError()));
    observation.plan = *plan;
  }
  return observation;
}

static Expected<std::vector<Observation>>
parseObjects(StringRef text, StringRef file, const ExecutedPlan &base) {
  Expected<json::Value> value = parseJson(text);
  if (!value)
    return prefixError(file + ": ", value.takeError());
  json::Array single;
  const json::Array *list = value->getAsArray();
  if (!list) {
    single.push_back(*value);
    list = &single;
  }
  std::vector<Observation> observations;
  for (auto [index, entry] : enumerate(*list)) {
    std::string where = formatv("{0}: run {1}", file, index + 1);
    const json::Object *object = entry.getAsObject();
    if (!object)
      return createStringError(where + ": expects an object");
    auto observation = readObject(*object, where, base);
    if (!observation)
      return observation.takeError();
    observations.push_back(std::move(*observation));
  }
  return observations;
}

//===----------------------------------------------------------------------===//
// The log of a program
//===----------------------------------------------------------------------===//

/// Uses the median of the steps after the first one, which loads and allocates.
static Expected<std::vector<Observation>>
parseLog(StringRef text, StringRef file, const ExecutedPlan &base) {
  std::vector<double> seconds;
  unsigned number = 0;
  while (!text.empty()) {
    StringRef line;
    std::tie(line, text) = text.split('\n');
    ++number;
    if (line.trim().empty())
      continue;
    Expected<json::Value> value = parseJson(line);
    const json::Object *object = value ? value->getAsObject() : nullptr;
    if (!object) {
      Error error =
          value ? createStringError("expects an object") : value.takeError();
      return prefixError(file + ":" + Twine(number) + ": ", std::move(error));
    }
    if (object->getString("event") != StringRef("step"))
      continue;
    std::optional<double> ms = object->getNumber("ms");
    if (!ms || !isPositive(*ms))
      return createStringError(file + ":" + Twine(number) +
                               ": ms: expects a number above 0");
    seconds.push_back(*ms * 1e-3);
  }
  if (seconds.size() < 2)
    return createStringError(file +
                             ": expects the log of at least 2 steps but got " +
                             Twine(seconds.size()));
  seconds.erase(seconds.begin());
  std::sort(seconds.begin(), seconds.end());
  Observation observation;
  observation.plan = base;
  observation.seconds = seconds[seconds.size() / 2];
  observation.where = file.str();
  return std::vector<Observation>{std::move(observation)};
}

Expected<std::vector<Observation>>
tessera::cost::parseObservations(StringRef text, StringRef fileName,
                                 const ExecutedPlan &base) {
  StringRef start = text.ltrim();
  Expected<std::vector<Observation>> observations =
      start.starts_with("{") && start.contains("\"event\"")
          ? parseLog(text, fileName, base)
      : start.starts_with("{") || start.starts_with("[")
          ? parseObjects(text, fileName, base)
          : parseRows(text, fileName, base);
  if (observations && observations->empty())
    return createStringError(fileName + ": expects runs but got none");
  return observations;
}
