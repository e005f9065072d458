//===- Csv.cpp - Tables of published measurements ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Csv.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace tessera::validate;

StringRef Table::get(size_t row, StringRef column) const {
  auto found = columns.find(column);
  if (found == columns.end() || found->second >= rows[row].size())
    return "";
  return rows[row][found->second];
}

std::optional<double> tessera::validate::number(StringRef text) {
  double value = 0;
  if (text.trim().empty() || text.trim().getAsDouble(value))
    return std::nullopt;
  return value;
}

/// Splits a text into records of fields.
static std::vector<std::vector<std::string>> split(StringRef text) {
  std::vector<std::vector<std::string>> records(1);
  std::string field;
  bool quoted = false;
  auto endField = [&] {
    records.back().push_back(std::move(field));
    field.clear();
  };
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      field += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      endField();
    } else if (c == '\n' && !quoted) {
      endField();
      records.emplace_back();
    } else if (c != '\r') {
      field += c;
    }
  }
  endField();
  // Empty lines are skipped.
  std::vector<std::vector<std::string>> result;
  for (auto &record : records)
    if (record.size() > 1 || !record[0].empty())
      result.push_back(std::move(record));
  return result;
}

Expected<Table> tessera::validate::readTable(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return createStringError(path + ": " + buffer.getError().message());
  Table table;
  table.name = sys::path::stem(path).str();
  table.rows = split((*buffer)->getBuffer());
  if (table.rows.empty())
    return createStringError(path + ": expects a header line but got nothing");
  for (auto [index, name] : enumerate(table.rows.front()))
    table.columns[name] = index;
  table.rows.erase(table.rows.begin());
  return table;
}
