//===- TableTest.cpp - Rows of texts and of the numbers behind them -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/Table.h"
#include "gtest/gtest.h"

using namespace tessera;

namespace {

std::string print(const Table &table, bool hasHead = true) {
  std::string text;
  llvm::raw_string_ostream os(text);
  table.print(os, hasHead);
  return text;
}

TEST(Table, lines_up) {
  Table table;
  table.addRow({"name", "bytes", "why"});
  table.addRow({"a", "1", "first"});
  table.addRow({"longer", "12345678", ""});
  table.alignLeft(2);
  EXPECT_EQ(print(table), "  name       bytes  why\n"
                          "  a              1  first\n"
                          "  longer  12345678\n");
}

/// Columns format numbers, a cell may have another text.
TEST(Table, columns) {
  Table table({"step", {"seconds", "s", 2}, {"share", "%", 1, " %"}, "note"});
  table.addRow({"compute", 1.005, 99.95, "x"});
  table.addRow(
      {"bubble", Table::Cell("-", std::nullopt), Table::Cell("none", 0), ""});
  EXPECT_EQ(print(table), "  step     seconds    share  note\n"
                          "  compute     1.00  100.0 %     x\n"
                          "  bubble         -     none\n");
  EXPECT_EQ(print(table, /*hasHead=*/false), "  compute  1.00  100.0 %  x\n"
                                             "  bubble      -     none\n");
  EXPECT_EQ(table.getRows()[0][1].value, 1.005);
  EXPECT_EQ(table.getRows()[1][1].value, std::nullopt);
  EXPECT_EQ(table.getRows()[1][2].value, 0);
}

/// Names cannot move the cursor, turn the text or end a line.
TEST(Table, plain_names) {
  EXPECT_EQ(plainText("a name"), "a name");
  EXPECT_EQ(plainText("\x1b[31m\n"), "?[31m?");
  EXPECT_EQ(plainText("\xe2\x80\xae"), "?");
  EXPECT_EQ(plainText("\xc3\xa4\xff"), "\xc3\xa4\xef\xbf\xbd");
  EXPECT_EQ(plainText("\xe6\x97\xa5"), "\xe6\x97\xa5");
  Table table;
  table.addRow({"\x1b[2J"});
  EXPECT_EQ(print(table), "  ?[2J\n");
}

TEST(Table, texts_of_numbers) {
  EXPECT_EQ(fixedText(2.5, 0), "2");
  EXPECT_EQ(fixedText(-0.001, 2), "-0.00");
  EXPECT_EQ(differenceText(-0.001, 2), "0.00");
  EXPECT_EQ(differenceText(1.5, 2), "+1.50");
  EXPECT_EQ(groupedText(999), "999");
  EXPECT_EQ(groupedText(-999), "-999");
  EXPECT_EQ(groupedText(16777216), "16,777,216");
}

} // namespace
