//===- CompareTablesTest.cpp - Differences of two tables ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/CompareTables.h"
#include "gtest/gtest.h"

using namespace tessera;

namespace {

using Rows = std::vector<std::pair<std::string, int>>;

DocumentSection makeSection(std::string title, const Rows &rows) {
  Table table({"kind", "axes", {"bytes", "bytes", 0}, {"same", "", 0}});
  for (const auto &[kind, bytes] : rows)
    table.addRow({kind, "dp", bytes, 7});
  DocumentSection section{"collectives", std::move(title), {}, {}};
  section.tables.emplace_back("collectives", std::move(table));
  return section;
}

/// "name: first second difference" of each row.
std::vector<std::string> linesOf(const Table &table) {
  std::vector<std::string> lines;
  for (const auto &row : table.getRows())
    lines.push_back(row[0].text + ": " + row[1].text + " " + row[2].text + " " +
                    row[3].text);
  return lines;
}

std::vector<std::string> linesOf(llvm::ArrayRef<DocumentSection> a,
                                 llvm::ArrayRef<DocumentSection> b) {
  DocumentSection section = compareTables("collectives", a, b, "A", "B");
  const Table *bytes = section.find("bytes");
  return bytes ? linesOf(*bytes) : std::vector<std::string>();
}

TEST(CompareTables, rows_that_differ_come_by_the_size_of_the_difference) {
  DocumentSection a = makeSection("f", {{"gather", 10}, {"reduce", 5}});
  DocumentSection b =
      makeSection("f", {{"reduce", 5}, {"gather", 12}, {"permute", 100}});
  EXPECT_EQ(linesOf(a, b), (std::vector<std::string>{"permute dp: 0 100 +100",
                                                     "gather dp: 10 12 +2"}));
  EXPECT_EQ(linesOf(b, a), (std::vector<std::string>{"permute dp: 100 0 -100",
                                                     "gather dp: 12 10 -2"}));
}

TEST(CompareTables, equal_columns_are_left_out) {
  DocumentSection a = makeSection("f", {{"gather", 10}});
  DocumentSection section = compareTables("collectives", a, a, "A", "B");
  EXPECT_TRUE(section.tables.empty());
  EXPECT_EQ(section.findings[0].second, "A and B have the same collectives");
  DocumentSection b = makeSection("f", {{"gather", 11}});
  section = compareTables("collectives", a, b, "A", "B");
  EXPECT_EQ(section.kind, "compare-tables");
  EXPECT_EQ(section.tables.size(), 1u);
  EXPECT_EQ(section.findings[0].second,
            "The collectives of A and B differ in bytes");
}

/// Rows of the same texts in one table are added; those of other sections are
/// other rows.
TEST(CompareTables, rows_are_known_by_their_texts_and_sections) {
  DocumentSection twice = makeSection("f", {{"gather", 1}, {"gather", 2}});
  EXPECT_EQ(linesOf(twice, makeSection("f", {})),
            (std::vector<std::string>{"gather dp: 3 0 -3"}));
  std::vector<DocumentSection> a{makeSection("f", {{"gather", 1}}),
                                 makeSection("g", {{"gather", 2}})};
  std::vector<DocumentSection> b{makeSection("f", {{"gather", 1}}),
                                 makeSection("g", {{"gather", 5}})};
  EXPECT_EQ(linesOf(a, b), (std::vector<std::string>{"g: gather dp: 2 5 +3"}));
  EXPECT_TRUE(linesOf({}, {}).empty());
}

} // namespace
