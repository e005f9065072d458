//===- Document.cpp - Reports as versioned JSON ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/Document.h"
#include "tessera/Support/Json.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace tessera;
using llvm::StringRef;
namespace json = llvm::json;

static constexpr const char *kVersionKey = "tessera_report";
static constexpr const char *kOwnKeys[] = {kVersionKey, "title", "command",
                                           "sections"};

/// Every integer of less magnitude is a double.
static constexpr double kMaxPacked = 9007199254740992.0;

/// Every integer of less magnitude comes back from the double of its quotient
/// by a power of ten: their difference is below half a unit.
static constexpr int64_t kMaxWritten = int64_t(1) << 52;

/// The largest number of decimals that columns may have.
static constexpr int64_t kMaxDigits = 15;

const Table *DocumentSection::find(StringRef name) const {
  for (const auto &[key, table] : tables)
    if (key == name)
      return &table;
  return nullptr;
}

void tessera::eraseDocument(json::Object &object) {
  for (const char *key : kOwnKeys)
    object.erase(key);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static double unpack(double packed, int digits) {
  return packed / std::pow(10.0, digits);
}

/// Returns a text in a column's format as an integer of its last decimal; none
/// if the text does not come back from it, as "-0.00".
static std::optional<int64_t> packText(const Table::Column &column,
                                       StringRef text) {
  if (!text.consume_back(column.suffix))
    return std::nullopt;
  bool isNegative = text.consume_front("-");
  auto [whole, decimals] = text.split('.');
  bool hasPoint = whole.size() < text.size();
  if (whole.empty() || (whole.size() > 1 && whole.front() == '0') ||
      hasPoint != (*column.digits > 0) ||
      decimals.size() != size_t(*column.digits))
    return std::nullopt;
  int64_t packed = 0;
  for (StringRef digits : {whole, decimals})
    for (char digit : digits) {
      if (!llvm::isDigit(digit) || packed >= kMaxWritten / 10)
        return std::nullopt;
      packed = 10 * packed + (digit - '0');
    }
  if (isNegative && packed == 0)
    return std::nullopt;
  return isNegative ? -packed : packed;
}

/// Returns the cells of a column as integers of its last decimal; none if a
/// text does not come back from its integer.
static std::optional<json::Array> packColumn(const Table &table, size_t index) {
  const Table::Column &column = table.getColumns()[index];
  if (!column.digits)
    return std::nullopt;
  json::Array packed;
  packed.reserve(table.getRows().size());
  for (const auto &row : table.getRows()) {
    const Table::Cell &cell = row[index];
    std::optional<int64_t> number;
    if (cell.value)
      number = packText(column, cell.text);
    if (!number)
      return std::nullopt;
    packed.push_back(*number);
  }
  return packed;
}

static json::Object columnJson(const Table &table, size_t index) {
  const Table::Column &column = table.getColumns()[index];
  json::Object object{{"name", json::fixUTF8(column.name)}};
  if (!column.unit.empty())
    object["unit"] = json::fixUTF8(column.unit);
  if (column.digits)
    object["digits"] = *column.digits;
  if (!column.suffix.empty())
    object["suffix"] = json::fixUTF8(column.suffix);
  if (table.getRows().size() > kMaxPlainRows)
    if (std::optional<json::Array> packed = packColumn(table, index)) {
      object["packed"] = std::move(*packed);
      return object;
    }
  json::Array texts, values;
  texts.reserve(table.getRows().size());
  values.reserve(table.getRows().size());
  bool hasValues = false;
  for (const auto &row : table.getRows()) {
    const Table::Cell &cell = row[index];
    texts.push_back(json::fixUTF8(cell.text));
    bool isNumber = cell.value && std::isfinite(*cell.value);
    values.push_back(isNumber ? json::Value(*cell.value)
                              : json::Value(nullptr));
    hasValues |= cell.value.has_value();
  }
  object["text"] = std::move(texts);
  if (hasValues)
    object["value"] = std::move(values);
  return object;
}

static json::Object tableJson(const Table &table) {
  json::Array columns;
  for (size_t i = 0; i < table.getColumns().size(); ++i)
    columns.push_back(columnJson(table, i));
  return json::Object{{"columns", std::move(columns)}};
}

static json::Array findingsJson(const DocumentSection &section) {
  json::Array findings;
  for (const auto &[figure, text] : section.findings)
    findings.push_back(json::Object{{"figure", json::fixUTF8(figure)},
                                    {"text", json::fixUTF8(text)}});
  return findings;
}

static json::Object sectionJson(const DocumentSection &section) {
  json::Object tables;
  for (const auto &[name, table] : section.tables)
    tables[json::fixUTF8(name)] = tableJson(table);
  return json::Object{{"kind", json::fixUTF8(section.kind)},
                      {"title", json::fixUTF8(section.title)},
                      {"findings", findingsJson(section)},
                      {"tables", std::move(tables)}};
}

json::Object Document::toJson() const {
  json::Object object = fields;
  object[kVersionKey] = kDocumentVersion;
  object["title"] = json::fixUTF8(title);
  object["command"] = json::fixUTF8(command);
  json::Array list;
  for (const DocumentSection &section : sections)
    list.push_back(sectionJson(section));
  object["sections"] = std::move(list);
  return object;
}

/// Prints a section of toJson().
static void printSection(json::OStream &stream, const json::Object &section) {
  stream.object([&] {
    for (StringRef key : sortKeys(section)) {
      const json::Object *tables = section.getObject(key);
      if (!tables) {
        stream.attribute(key, *section.get(key));
        continue;
      }
      stream.attributeObject(key, [&] {
        for (StringRef name : sortKeys(*tables))
          stream.attributeObject(name, [&] {
            stream.attributeArray("columns", [&] {
              for (const json::Value &column :
                   *tables->getObject(name)->getArray("columns"))
                stream.rawValue([&](llvm::raw_ostream &os) { os << column; });
            });
          });
      });
    }
  });
}

void Document::print(llvm::raw_ostream &os) const {
  json::Object object = toJson();
  json::OStream stream(os, /*IndentSize=*/2);
  stream.object([&] {
    for (StringRef key : sortKeys(object)) {
      if (key != "sections") {
        stream.attribute(key, *object.get(key));
        continue;
      }
      stream.attributeArray(key, [&] {
        for (const json::Value &section : *object.getArray(key))
          printSection(stream, *section.getAsObject());
      });
    }
  });
  os << "\n";
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {

/// Reads the members of a document. Keys in errors are paths from the root.
class DocumentReader {
public:
  explicit DocumentReader(StringRef file) : file(file) {}

  llvm::Expected<Document> read(json::Object object);

private:
  llvm::Error fail(const llvm::Twine &key, const llvm::Twine &expected,
                   const llvm::Twine &got) const {
    return llvm::createStringError(file + ": " + key + ": expects " + expected +
                                   " but got " + got);
  }
  /// A short text of what a value is.
  static std::string describe(const json::Value *value);
  llvm::Expected<std::string> readText(const json::Object &object,
                                       const std::string &path, StringRef key,
                                       bool isNeeded = true) const;
  llvm::Expected<DocumentSection> readSection(const json::Value &value,
                                              const std::string &path) const;
  llvm::Error readFindings(const json::Object &object, const std::string &path,
                           DocumentSection &section) const;
  llvm::Expected<Table> readTable(const json::Value &value,
                                  const std::string &path) const;
  llvm::Expected<Table::Column> readHead(const json::Value &value,
                                         const std::string &path) const;
  llvm::Expected<std::vector<Table::Cell>>
  readCells(const json::Object &object, const Table::Column &column,
            const std::string &path) const;
  llvm::Expected<std::vector<Table::Cell>>
  readPacked(const json::Array &packed, const Table::Column &column,
             const std::string &path) const;
  llvm::Error readValues(const json::Array &values, const std::string &path,
                         std::vector<Table::Cell> &cells) const;

  StringRef file;
};

} // namespace

std::string DocumentReader::describe(const json::Value *value) {
  if (!value)
    return "nothing";
  switch (value->kind()) {
  case json::Value::Object:
    return "an object";
  case json::Value::Array:
    return "a list";
  case json::Value::String:
    return "a text";
  default:
    return llvm::formatv("{0}", *value);
  }
}

llvm::Expected<std::string> DocumentReader::readText(const json::Object &object,
                                                     const std::string &path,
                                                     StringRef key,
                                                     bool isNeeded) const {
  const json::Value *value = object.get(key);
  if (!value && !isNeeded)
    return "";
  if (!value || !value->getAsString())
    return fail(path + key, "a text", describe(value));
  return value->getAsString()->str();
}

llvm::Expected<Document> DocumentReader::read(json::Object object) {
  const json::Value *version = object.get(kVersionKey);
  std::optional<int64_t> number =
      version ? version->getAsInteger() : std::nullopt;
  if (!number || *number < 1)
    return fail(kVersionKey, "the version of a report", describe(version));
  if (*number > kDocumentVersion)
    return fail(kVersionKey,
                "at most version " + llvm::Twine(kDocumentVersion) +
                    ", which this tessera reads,",
                llvm::Twine(*number));
  Document document;
  for (auto [key, text] : {std::pair("title", &document.title),
                           std::pair("command", &document.command)}) {
    auto read = readText(object, "", key);
    if (!read)
      return read.takeError();
    *text = *read;
  }
  const json::Array *sections = object.getArray("sections");
  if (!sections)
    return fail("sections", "a list", describe(object.get("sections")));
  for (const auto &[i, value] : llvm::enumerate(*sections)) {
    auto section = readSection(value, "sections[" + std::to_string(i) + "]");
    if (!section)
      return section.takeError();
    document.sections.push_back(std::move(*section));
  }
  eraseDocument(object);
  document.fields = std::move(object);
  return document;
}

llvm::Expected<DocumentSection>
DocumentReader::readSection(const json::Value &value,
                            const std::string &path) const {
  const json::Object *object = value.getAsObject();
  if (!object)
    return fail(path, "an object", describe(&value));
  DocumentSection section;
  auto kind = readText(*object, path + ".", "kind");
  if (!kind)
    return kind.takeError();
  section.kind = *kind;
  auto title = readText(*object, path + ".", "title", /*isNeeded=*/false);
  if (!title)
    return title.takeError();
  section.title = *title;
  if (llvm::Error error = readFindings(*object, path, section))
    return std::move(error);
  const json::Object *tables = object->getObject("tables");
  if (!tables)
    return fail(path + ".tables", "an object", describe(object->get("tables")));
  for (StringRef name : sortKeys(*tables)) {
    auto table = readTable(*tables->get(name), path + ".tables." + name.str());
    if (!table)
      return table.takeError();
    section.tables.emplace_back(name.str(), std::move(*table));
  }
  return section;
}

llvm::Error DocumentReader::readFindings(const json::Object &object,
                                         const std::string &path,
                                         DocumentSection &section) const {
  const json::Value *value = object.get("findings");
  if (!value)
    return llvm::Error::success();
  const json::Array *findings = value->getAsArray();
  if (!findings)
    return fail(path + ".findings", "a list", describe(value));
  for (const auto &[i, entry] : llvm::enumerate(*findings)) {
    std::string at = path + ".findings[" + std::to_string(i) + "]";
    const json::Object *finding = entry.getAsObject();
    if (!finding)
      return fail(at, "an object", describe(&entry));
    auto figure = readText(*finding, at + ".", "figure");
    if (!figure)
      return figure.takeError();
    auto text = readText(*finding, at + ".", "text");
    if (!text)
      return text.takeError();
    section.findings.emplace_back(*figure, *text);
  }
  return llvm::Error::success();
}

llvm::Expected<Table::Column>
DocumentReader::readHead(const json::Value &value,
                         const std::string &path) const {
  const json::Object *object = value.getAsObject();
  if (!object)
    return fail(path, "an object", describe(&value));
  auto name = readText(*object, path + ".", "name");
  if (!name)
    return name.takeError();
  Table::Column column(*name);
  auto unit = readText(*object, path + ".", "unit", /*isNeeded=*/false);
  if (!unit)
    return unit.takeError();
  column.unit = *unit;
  auto suffix = readText(*object, path + ".", "suffix", /*isNeeded=*/false);
  if (!suffix)
    return suffix.takeError();
  column.suffix = *suffix;
  if (const json::Value *digits = object->get("digits")) {
    auto number = digits->getAsInteger();
    if (!number || *number < 0 || *number > kMaxDigits)
      return fail(path + ".digits",
                  "an integer from 0 to " + llvm::Twine(kMaxDigits),
                  describe(digits));
    column.digits = int(*number);
  }
  return column;
}

llvm::Expected<Table> DocumentReader::readTable(const json::Value &value,
                                                const std::string &path) const {
  const json::Object *object = value.getAsObject();
  const json::Array *list = object ? object->getArray("columns") : nullptr;
  if (!list || list->empty())
    return fail(path + ".columns", "a list of columns",
                describe(object ? object->get("columns") : &value));
  std::vector<Table::Column> columns;
  std::vector<std::vector<Table::Cell>> cells;
  for (const auto &[i, entry] : llvm::enumerate(*list)) {
    std::string at = path + ".columns[" + std::to_string(i) + "]";
    auto column = readHead(entry, at);
    if (!column)
      return column.takeError();
    auto read = readCells(*entry.getAsObject(), *column, at);
    if (!read)
      return read.takeError();
    if (i && read->size() != cells.front().size())
      return fail(at,
                  llvm::Twine(cells.front().size()) +
                      " cells, as the first column has,",
                  llvm::Twine(read->size()));
    columns.push_back(std::move(*column));
    cells.push_back(std::move(*read));
  }
  Table table(std::move(columns));
  for (size_t row = 0; row < cells.front().size(); ++row) {
    std::vector<Table::Cell> line;
    for (auto &column : cells)
      line.push_back(std::move(column[row]));
    table.addRow(std::move(line));
  }
  return table;
}

llvm::Expected<std::vector<Table::Cell>>
DocumentReader::readCells(const json::Object &object,
                          const Table::Column &column,
                          const std::string &path) const {
  if (const json::Value *value = object.get("packed")) {
    if (!value->getAsArray())
      return fail(path + ".packed", "a list", describe(value));
    return readPacked(*value->getAsArray(), column, path + ".packed");
  }
  const json::Array *texts = object.getArray("text");
  if (!texts)
    return fail(path + ".text", "a list", describe(object.get("text")));
  std::vector<Table::Cell> cells;
  for (const auto &[i, value] : llvm::enumerate(*texts)) {
    auto text = value.getAsString();
    if (!text)
      return fail(path + ".text[" + llvm::Twine(i) + "]", "a text",
                  describe(&value));
    cells.emplace_back(text->str());
  }
  if (const json::Value *value = object.get("value")) {
    if (!value->getAsArray())
      return fail(path + ".value", "a list", describe(value));
    if (llvm::Error error =
            readValues(*value->getAsArray(), path + ".value", cells))
      return std::move(error);
  }
  return cells;
}

llvm::Error DocumentReader::readValues(const json::Array &values,
                                       const std::string &path,
                                       std::vector<Table::Cell> &cells) const {
  if (values.size() != cells.size())
    return fail(path, llvm::Twine(cells.size()) + " values, one for each text,",
                llvm::Twine(values.size()));
  for (auto [i, value] : llvm::enumerate(values)) {
    if (value.getAsNull())
      continue;
    auto number = value.getAsNumber();
    if (!number)
      return fail(path + "[" + llvm::Twine(i) + "]", "a number or null",
                  describe(&value));
    cells[i].value = *number;
  }
  return llvm::Error::success();
}

llvm::Expected<std::vector<Table::Cell>>
DocumentReader::readPacked(const json::Array &packed,
                           const Table::Column &column,
                           const std::string &path) const {
  if (!column.digits)
    return fail(path, "digits, an integer, with packed cells", "nothing");
  std::vector<Table::Cell> cells;
  for (const auto &[i, value] : llvm::enumerate(packed)) {
    auto number = value.getAsInteger();
    if (!number || std::abs(double(*number)) >= kMaxPacked)
      return fail(path + "[" + llvm::Twine(i) + "]",
                  "an integer of less than 2^53", describe(&value));
    double unpacked = unpack(double(*number), *column.digits);
    cells.emplace_back(column.format(unpacked), unpacked);
  }
  return cells;
}

llvm::Expected<Document> tessera::parseDocument(StringRef text,
                                                StringRef file) {
  llvm::Expected<json::Value> value = parseJson(text);
  if (!value)
    return llvm::createStringError(file + ": " +
                                   llvm::toString(value.takeError()));
  if (!value->getAsObject())
    return llvm::createStringError(
        file + ": expects a report, a JSON object, but got another value");
  return DocumentReader(file).read(std::move(*value->getAsObject()));
}
