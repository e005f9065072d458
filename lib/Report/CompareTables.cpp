//===- CompareTables.cpp - Differences of two tables ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/CompareTables.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"
#include <array>
#include <cmath>
#include <map>

using namespace tessera;
using llvm::ArrayRef;
using llvm::StringRef;

namespace {
/// The value of a row in both documents.
struct Pair {
  double values[2] = {0, 0};
  double difference() const { return values[1] - values[0]; }
};

/// The pairs of a column by the name of their row, in the order in which rows
/// occur.
struct ColumnPairs {
  Table::Column column;
  llvm::MapVector<std::string, Pair, std::map<std::string, unsigned>> rows;
};
} // namespace

/// The texts of a row, and the title of its section.
static std::string rowName(const Table &table,
                           const std::vector<Table::Cell> &row,
                           StringRef title) {
  std::string name;
  for (auto [column, cell] : llvm::zip(table.getColumns(), row))
    if (!column.digits && !cell.text.empty())
      name += (name.empty() ? "" : " ") + cell.text;
  return title.empty() ? name : (title + ": " + name).str();
}

static void addPairs(std::vector<ColumnPairs> &columns, const Table &table,
                     StringRef title, size_t side) {
  for (auto [i, column] : llvm::enumerate(table.getColumns())) {
    if (!column.digits)
      continue;
    auto known = llvm::find_if(columns, [&](const ColumnPairs &each) {
      return each.column.name == column.name;
    });
    if (known == columns.end())
      known = columns.insert(columns.end(), {column, {}});
    // Rows of the same texts are one.
    for (const auto &row : table.getRows())
      if (row[i].value)
        known->rows[rowName(table, row, title)].values[side] += *row[i].value;
  }
}

/// The rows that differ, the largest difference first.
static Table differenceTable(const ColumnPairs &pairs, StringRef nameA,
                             StringRef nameB) {
  const Table::Column &column = pairs.column;
  int digits = *column.digits;
  std::vector<std::pair<std::string, Pair>> rows;
  for (const auto &[name, pair] : pairs.rows)
    if (column.format(pair.values[0]) != column.format(pair.values[1]))
      rows.emplace_back(name, pair);
  llvm::stable_sort(rows, [](const auto &x, const auto &y) {
    return std::abs(x.second.difference()) > std::abs(y.second.difference());
  });
  Table table({column.name,
               {nameA.str(), column.unit, digits, column.suffix},
               {nameB.str(), column.unit, digits, column.suffix},
               "difference"});
  for (const auto &[name, pair] : rows)
    table.addRow({name, pair.values[0], pair.values[1],
                  Table::Cell(differenceText(pair.difference(), digits),
                              pair.difference())});
  return table;
}

DocumentSection tessera::compareTables(StringRef table,
                                       ArrayRef<DocumentSection> a,
                                       ArrayRef<DocumentSection> b,
                                       StringRef nameA, StringRef nameB) {
  std::vector<ColumnPairs> columns;
  bool hasTitles = a.size() > 1 || b.size() > 1;
  for (auto [side, sections] : llvm::enumerate(std::array{a, b}))
    for (const DocumentSection &section : sections)
      if (const Table *found = section.find(table))
        addPairs(columns, *found, hasTitles ? section.title : "", side);
  DocumentSection section;
  section.kind = "compare-tables";
  section.title = (nameA + " and " + nameB).str();
  std::string changed;
  for (const ColumnPairs &each : columns) {
    Table differences = differenceTable(each, nameA, nameB);
    if (differences.isEmpty())
      continue;
    changed += (changed.empty() ? "" : ", ") + each.column.name;
    section.tables.emplace_back(each.column.name, std::move(differences));
  }
  section.findings.emplace_back(
      "verdict",
      changed.empty()
          ? llvm::formatv("{0} and {1} have the same {2}", nameA, nameB, table)
                .str()
          : llvm::formatv("The {0} of {1} and {2} differ in {3}", table, nameA,
                          nameB, changed)
                .str());
  return section;
}
