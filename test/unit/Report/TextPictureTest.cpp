//===- TextPictureTest.cpp - Figures for a terminal -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/TextPicture.h"
#include "gtest/gtest.h"

using namespace tessera;
using llvm::StringRef;

namespace {

std::string print(const DocumentSection &section, PictureStyle style) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printPictures(section, style, os);
  return text;
}

PictureStyle ascii(size_t width) { return {width, true, false}; }

DocumentSection makeSection(const char *kind, const char *name, Table table) {
  DocumentSection section;
  section.kind = kind;
  section.tables.emplace_back(name, std::move(table));
  return section;
}

/// Stages up to the device's end; what is more than a device has goes on.
TEST(TextPicture, memory) {
  std::vector<Table::Column> columns{"stage", {"live", "", 1}};
  Table names({"category"});
  for (const char *name : {"parameters", "gradients", "optimizer", "a", "b",
                           "c", "d", "e", "f", "margin"}) {
    columns.emplace_back(name, "GB", 2);
    names.addRow({name});
  }
  columns.emplace_back("total", "GB", 2);
  Table memory(std::move(columns));
  memory.addRow({"0-1", 1, 10, 5, 0, 0, 0, 0, 0, 0, 0, 1, 16});
  memory.addRow({"2", 1, 32, 8, 0, 0, 0, 0, 0, 0, 0, 0, 40});
  Table device({"mark", {"GB", "GB", 1}});
  device.addRow({"75 %", 15});
  device.addRow({"device", 20});
  DocumentSection section = makeSection("plan", "memory", memory);
  section.tables.emplace_back("device", device);
  EXPECT_EQ(print(section, ascii(49)), "");
  section.tables.emplace_back("categories", names);
  EXPECT_EQ(print(section, ascii(49)),
            "\nmemory of a device up to its end, GB\n"
            "  0-1   ppppppppppgggggm....|                    \n"
            "  2     pppppppppppppppppppp|pppppppppppgggggggg \n"
            "  p parameters            g gradients\n"
            "  m margin\n");
}

TEST(TextPicture, step) {
  Table table({"part", {"begin", "s", 1}, {"seconds", "s", 1}});
  table.addRow({"compute", 0, 8});
  table.addRow({"less", 8, -2});
  table.addRow({"little", 6, 0.01});
  table.addRow({"rest", 6, 4});
  EXPECT_EQ(print(makeSection("plan", "waterfall", table), ascii(40)),
            "\nthe step, seconds\n"
            "  compute ###################       8.0\n"
            "  less                  #####      -2.0\n"
            "  little                |           0.0\n"
            "  rest                  ##########  4.0\n");
}

/// A cell shows the action at its middle.
TEST(TextPicture, pipeline) {
  Table table({{"rank", "", 0}, "action", {"begin", "s", 2}, {"end", "s", 2}});
  table.addRow({0, "F", 0, 10});
  table.addRow({0, "BW", 20, 30.4});
  table.addRow({1, "F+BW", 10, 20});
  table.addRow({1, "W", 20, 31});
  EXPECT_EQ(print(makeSection("plan", "pipeline", table), ascii(40)),
            "\nthe pipeline: F forward, B backward, W gradients of "
            "parameters, X both passes\n"
            "  rank 0 FFFFFFFFFF..........BBBBBBBBBB.\n"
            "  rank 1 ..........XXXXXXXXXXWWWWWWWWWWW\n");
  EXPECT_NE(print(makeSection("plan", "pipeline", table), {40, false, true})
                .find("\x1b[48;5;75m"),
            std::string::npos);
}

/// Names keep to their columns and cannot move the cursor or turn the text.
TEST(TextPicture, names) {
  Table table({"\x1b[31m", "a\xe2\x80\xae", {"b", "s", 1}});
  table.addRow({std::string(300, 'x'),
                {"\x1b[2J", 1},
                {"long" + std::string(300, '0'), 2}});
  table.addRow({"\xc3\xa4\xff\n", {"1", 1}, {"2", 2}});
  std::string text = print(makeSection("compare", "step", table), ascii(40));
  for (StringRef bad : {"\x1b", "\xe2\x80\xae", "\xff"})
    EXPECT_FALSE(StringRef(text).contains(bad)) << text;
  llvm::SmallVector<StringRef> lines;
  StringRef(text).split(lines, '\n');
  EXPECT_EQ(lines.size(), 7u) << text;
  for (StringRef line : llvm::ArrayRef(lines).drop_front(2))
    EXPECT_LE(line.size(), 44u) << line.str();
}

/// Tables of another form have no picture.
TEST(TextPicture, other_tables) {
  Table table({"a"});
  table.addRow({"x"});
  for (const char *kind : {"plan", "compare", "run", "other"})
    for (const char *name :
         {"memory", "device", "categories", "waterfall", "pipeline", "step"})
      EXPECT_EQ(print(makeSection(kind, name, table), ascii(40)), "");
  Table ranks({{"rank", "", 0}, "action", {"begin", "s", 2}, {"end", "s", 2}});
  ranks.addRow({1e300, "F", 0, 10});
  EXPECT_EQ(print(makeSection("plan", "pipeline", ranks), ascii(40)), "");
}

} // namespace
