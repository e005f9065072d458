//===- DocumentTest.cpp - Reports as versioned JSON -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/Document.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace tessera;
using llvm::StringRef;
namespace json = llvm::json;

namespace {

Document makeDocument(Table table) {
  Document document{"model", "tessera plan model", {}, {}};
  document.fields["seconds"] = 1.5;
  DocumentSection section{"plan", "model", {{"step", "a finding"}}, {}};
  section.tables.emplace_back("step", std::move(table));
  document.sections.push_back(std::move(section));
  return document;
}

std::string print(const Document &document) {
  std::string text;
  llvm::raw_string_ostream os(text);
  document.print(os);
  return text;
}

Document read(StringRef text) {
  auto document = parseDocument(text, "f.json");
  EXPECT_TRUE(bool(document)) << llvm::toString(document.takeError());
  return document ? *document : Document();
}

std::string errorOf(StringRef text) {
  auto document = parseDocument(text, "f.json");
  return document ? "" : llvm::toString(document.takeError());
}

const json::Object &columnOf(const json::Object &document, size_t index) {
  return *(*(*document.getArray("sections"))[0]
                .getAsObject()
                ->getObject("tables")
                ->getObject("step")
                ->getArray("columns"))[index]
              .getAsObject();
}

/// Texts, numbers and fields come back.
TEST(Document, round_trip) {
  Table table({"step", {"seconds", "s", 4}});
  table.addRow({"optimizer", 0.0000081});
  table.addRow({"loss", Table::Cell("nan", NAN)});
  table.addRow({"total", Table::Cell("", std::nullopt)});
  Document document = makeDocument(table);
  Document again = read(print(document));
  EXPECT_EQ(print(again), print(document));
  EXPECT_EQ(again.title, "model");
  EXPECT_EQ(again.command, "tessera plan model");
  EXPECT_EQ(again.fields.getNumber("seconds"), 1.5);
  EXPECT_EQ(again.fields.size(), 1u);
  ASSERT_EQ(again.sections.size(), 1u);
  EXPECT_EQ(again.sections[0].findings, document.sections[0].findings);
  const Table *step = again.sections[0].find("step");
  ASSERT_TRUE(step);
  EXPECT_EQ(again.sections[0].find("steps"), nullptr);
  EXPECT_EQ(step->getRows()[0][1].text, "0.0000");
  EXPECT_EQ(step->getRows()[0][1].value, 0.0000081);
  EXPECT_EQ(step->getRows()[1][1].text, "nan");
  EXPECT_EQ(step->getRows()[1][1].value, std::nullopt);
  EXPECT_EQ(step->getColumns()[1].unit, "s");
}

/// Both printers write the same object.
TEST(Document, prints_its_object) {
  Table table({"step", {"seconds", "s", 4}});
  table.addRow({"</script>\"\\\n\x1b", 1});
  Document document = makeDocument(table);
  auto value = json::parse(print(document));
  ASSERT_TRUE(bool(value));
  EXPECT_EQ(*value, json::Value(document.toJson()));
}

/// Texts that are not UTF-8 are repaired.
TEST(Document, invalid_utf8) {
  Table table({"st\xff"});
  table.addRow({"\xc3\x28"});
  Document document = makeDocument(table);
  document.title = "\x80";
  Document again = read(print(document));
  EXPECT_EQ(again.title, "\xef\xbf\xbd");
  EXPECT_EQ(again.sections[0].find("step")->getRows()[0][0].text,
            "\xef\xbf\xbd(");
}

/// Columns of more than 2,000 rows are integers where each text comes back.
TEST(Document, packed) {
  Table table({{"us", "us", 4},
               {"share", "%", 1, " %"},
               {"difference", "s", 2},
               "name"});
  for (int i = 0; i < 2001; ++i)
    table.addRow({i / 7.0, i, i == 2000 ? -0.001 : i, std::to_string(i)});
  Document document = makeDocument(table);
  json::Object object = document.toJson();
  EXPECT_EQ((*columnOf(object, 0).getArray("packed"))[1].getAsInteger(), 1429);
  EXPECT_TRUE(columnOf(object, 1).get("packed"));
  // "-0.00" does not come back from 0.
  EXPECT_FALSE(columnOf(object, 2).get("packed"));
  EXPECT_FALSE(columnOf(object, 3).get("packed"));
  Document again = read(print(document));
  const Table *step = again.sections[0].find("step");
  ASSERT_TRUE(step);
  for (size_t row : {0, 1, 1999, 2000})
    for (size_t column : {0, 1, 2, 3})
      EXPECT_EQ(step->getRows()[row][column].text,
                table.getRows()[row][column].text);
  EXPECT_EQ(step->getRows()[1][0].value, 0.1429);
  EXPECT_EQ(print(again), print(document));
}

/// A number in the middle of two texts is packed as its text is.
TEST(Document, packs_texts) {
  Table table({{"GB", "GB", 2}, {"share", "%", 1, " %"}});
  for (int i = 0; i < 2001; ++i)
    table.addRow({0.125 * i, -0.25 * (i + 1)});
  json::Object object = makeDocument(table).toJson();
  const json::Array *packed = columnOf(object, 0).getArray("packed");
  ASSERT_TRUE(packed);
  EXPECT_EQ((*packed)[1].getAsInteger(), 12);
  EXPECT_EQ((*packed)[3].getAsInteger(), 38);
  // "-0.2 %" and "-0.8 %".
  const json::Array *shares = columnOf(object, 1).getArray("packed");
  ASSERT_TRUE(shares);
  EXPECT_EQ((*shares)[0].getAsInteger(), -2);
  EXPECT_EQ((*shares)[2].getAsInteger(), -8);
}

TEST(Document, not_packed) {
  Table small({{"a", "", 0}});
  for (int i = 0; i < 2000; ++i)
    small.addRow({i});
  EXPECT_FALSE(columnOf(makeDocument(small).toJson(), 0).get("packed"));
  Table large({{"a", "", 0}});
  for (int i = 0; i < 2001; ++i)
    large.addRow({9007199254740992.0});
  EXPECT_FALSE(columnOf(makeDocument(large).toJson(), 0).get("packed"));
}

TEST(Document, errors) {
  EXPECT_NE(errorOf("{").find("f.json: is not JSON: "), std::string::npos);
  EXPECT_EQ(errorOf("[]"),
            "f.json: expects a report, a JSON object, but got another value");
  EXPECT_EQ(errorOf("{}"), "f.json: tessera_report: expects the version of a "
                           "report but got nothing");
  EXPECT_EQ(errorOf(R"({"tessera_report": 2})"),
            "f.json: tessera_report: expects at most version 1, which this "
            "tessera reads, but got 2");
  EXPECT_EQ(errorOf(R"({"tessera_report": 1.5})"),
            "f.json: tessera_report: expects the version of a report but got "
            "1.5");
  EXPECT_EQ(errorOf(R"({"tessera_report": 1, "title": 3})"),
            "f.json: title: expects a text but got 3");
  auto inSections = [](StringRef sections) {
    return errorOf((R"({"tessera_report": 1, "title": "", "command": "",)"
                    R"("sections": )" +
                    sections + "}")
                       .str());
  };
  EXPECT_EQ(inSections("{}"),
            "f.json: sections: expects a list but got an object");
  EXPECT_EQ(inSections("[1]"),
            "f.json: sections[0]: expects an object but got 1");
  EXPECT_EQ(inSections(R"([{"kind": "plan"}])"),
            "f.json: sections[0].tables: expects an object but got nothing");
  auto inColumns = [&](StringRef columns) {
    return inSections((R"([{"kind": "plan", "tables": {"step": {"columns": )" +
                       columns + "}}}]")
                          .str());
  };
  std::string at = "f.json: sections[0].tables.step.columns";
  EXPECT_EQ(inColumns("[]"), at + ": expects a list of columns but got a list");
  EXPECT_EQ(inColumns(R"([{"text": []}])"),
            at + "[0].name: expects a text but got nothing");
  EXPECT_EQ(inColumns(R"([{"name": "a"}])"),
            at + "[0].text: expects a list but got nothing");
  EXPECT_EQ(inColumns(R"([{"name": "a", "text": ["x", 1]}])"),
            at + "[0].text[1]: expects a text but got 1");
  EXPECT_EQ(inColumns(R"([{"name": "a", "text": ["x"], "value": []}])"),
            at + "[0].value: expects 1 values, one for each text, but got 0");
  EXPECT_EQ(inColumns(R"([{"name": "a", "text": ["x"], "value": ["y"]}])"),
            at + "[0].value[0]: expects a number or null but got a text");
  EXPECT_EQ(inColumns(R"([{"name": "a", "text": ["x"]},)"
                      R"({"name": "b", "text": []}])"),
            at + "[1]: expects 1 cells, as the first column has, but got 0");
  EXPECT_EQ(inColumns(R"([{"name": "a", "packed": [1]}])"),
            at + "[0].packed: expects digits, an integer, with packed cells "
                 "but got nothing");
  EXPECT_EQ(inColumns(R"([{"name": "a", "digits": 1, "packed": [1, 2.5]}])"),
            at + "[0].packed[1]: expects an integer of less than 2^53 but got "
                 "2.5");
  EXPECT_EQ(inColumns(R"([{"name": "a", "digits": 16, "packed": []}])"),
            at + "[0].digits: expects an integer from 0 to 15 but got 16");
}

} // namespace
