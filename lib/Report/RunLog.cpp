//===- RunLog.cpp - The log of a run as tables ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/RunLog.h"
#include "tessera/Support/Json.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>
#include <set>

using namespace tessera;
using llvm::formatv;
using llvm::StringRef;
namespace json = llvm::json;

namespace {

/// A number of a step: its key in the log, its column, and the factor between
/// them. A column without decimals has scientific texts.
struct LogNumber {
  const char *key;
  Table::Column column;
  double factor = 1;
};

/// Reads the lines of a log.
class LogReader {
public:
  LogReader(StringRef text, StringRef file) : text(text), file(file) {}

  llvm::Expected<DocumentSection> read();

private:
  llvm::Error fail(const llvm::Twine &what) const {
    return llvm::createStringError(file + ": line " + llvm::Twine(line) + ": " +
                                   what);
  }
  llvm::Error readLine(StringRef object);
  llvm::Error readEvent(const json::Object &event);
  llvm::Expected<Table::Cell> readNumber(const json::Object &event,
                                         const LogNumber &number) const;
  llvm::Expected<double> readStep(const json::Object &event) const;

  StringRef text, file;
  int64_t line = 0;
  std::vector<std::vector<Table::Cell>> steps, evaluations;
};

} // namespace

/// The numbers of a step, with the decimals that the text log prints.
static const std::vector<LogNumber> &listNumbers() {
  static const std::vector<LogNumber> numbers{
      {"loss", {"loss", "", 6}},
      {"grad_norm", {"grad norm", "", 5}},
      {"lr", {"lr"}},
      {"ms", {"ms", "ms", 2}},
      {"tokens_per_second", {"tokens/s", "tokens/s", 0}},
      {"mfu", {"MFU", "%", 1, " %"}, 100},
      {"memory_bytes", {"memory", "MB", 2, " MB"}, 1e-6},
  };
  return numbers;
}

llvm::Expected<Table::Cell>
LogReader::readNumber(const json::Object &event,
                      const LogNumber &number) const {
  const json::Value *value = event.get(number.key);
  if (!value || value->getAsNull())
    return Table::Cell("-", std::nullopt);
  auto got = value->getAsNumber();
  if (!got)
    return fail(llvm::Twine(number.key) +
                ": expects a number or null but got " +
                formatv("{0}", *value).str());
  if (number.column.digits)
    return Table::Cell(*got * number.factor);
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.3e", *got);
  return Table::Cell(std::move(text), *got);
}

llvm::Expected<double> LogReader::readStep(const json::Object &event) const {
  auto step = event.getNumber("step");
  if (!step)
    return fail("step: expects a number but got " +
                (event.get("step") ? formatv("{0}", *event.get("step")).str()
                                   : std::string("nothing")));
  return *step;
}

llvm::Error LogReader::readEvent(const json::Object &event) {
  auto kind = event.getString("event");
  bool isStep = kind == "step";
  if ((!isStep && kind != "eval") || event.getBoolean("undone").value_or(false))
    return llvm::Error::success();
  auto step = readStep(event);
  if (!step)
    return step.takeError();
  std::vector<Table::Cell> row{*step};
  for (const LogNumber &number : listNumbers()) {
    auto cell = readNumber(event, number);
    if (!cell)
      return cell.takeError();
    row.push_back(std::move(*cell));
    // An evaluation has a loss alone.
    if (!isStep)
      break;
  }
  (isStep ? steps : evaluations).push_back(std::move(row));
  return llvm::Error::success();
}

llvm::Error LogReader::readLine(StringRef object) {
  auto value = parseJson(object);
  if (!value)
    return fail(llvm::toString(value.takeError()));
  if (!value->getAsObject())
    return fail("expects an object but got another value");
  return readEvent(*value->getAsObject());
}

/// Returns a table of rows. Columns without a number are left out, except the
/// first.
static Table makeLogTable(std::vector<std::vector<Table::Cell>> rows,
                          size_t count) {
  std::vector<Table::Column> columns{{"step", "", 0}};
  std::vector<size_t> kept{0};
  for (size_t i = 0; i < count; ++i) {
    bool isThere = llvm::any_of(
        rows, [&](const auto &row) { return row[i + 1].value.has_value(); });
    if (!isThere)
      continue;
    columns.push_back(listNumbers()[i].column);
    kept.push_back(i + 1);
  }
  Table table(std::move(columns));
  for (auto &row : rows) {
    std::vector<Table::Cell> cells;
    for (size_t i : kept)
      cells.push_back(std::move(row[i]));
    table.addRow(std::move(cells));
  }
  return table;
}

/// The numbers of a column of a table; empty if it has no such column.
static std::vector<std::optional<double>> valuesOf(const Table &table,
                                                   StringRef name) {
  std::vector<std::optional<double>> values;
  for (auto [i, column] : llvm::enumerate(table.getColumns()))
    if (column.name == name)
      for (const auto &row : table.getRows())
        values.push_back(row[i].value);
  return values;
}

/// Adds sentences about the loss and the speed of a run.
static void addRunFindings(DocumentSection &section) {
  const Table &steps = *section.find("steps");
  std::vector<double> losses, rates;
  for (std::optional<double> value : valuesOf(steps, "loss"))
    if (value)
      losses.push_back(*value);
  for (std::optional<double> value : valuesOf(steps, "tokens/s"))
    if (value)
      rates.push_back(*value);
  std::string text =
      formatv("{0} steps", groupedText(double(steps.getRows().size())));
  if (!losses.empty())
    text = formatv("Loss {0:f4} after {1}", losses.back(), text);
  section.findings.emplace_back("verdict", text);
  if (losses.size() > 1)
    section.findings.emplace_back(
        "loss", formatv("The loss {0} from {1:f4} to {2:f4}",
                        losses.back() < losses.front()   ? "falls"
                        : losses.back() > losses.front() ? "rises"
                                                         : "stays",
                        losses.front(), losses.back()));
  if (rates.empty())
    return;
  llvm::sort(rates);
  section.findings.emplace_back(
      "tokens/s", formatv("Half of the steps reach {0} tokens a second",
                          groupedText(rates[rates.size() / 2])));
}

llvm::Expected<DocumentSection> LogReader::read() {
  StringRef rest = text;
  while (!rest.empty()) {
    ++line;
    auto [object, after] = rest.split('\n');
    bool isLast = object.size() == rest.size();
    rest = after;
    if (object.trim().empty())
      continue;
    if (llvm::Error error = readLine(object)) {
      if (!isLast || line == 1)
        return std::move(error);
      llvm::consumeError(std::move(error));
    }
  }
  if (steps.empty())
    return llvm::createStringError(
        file + ": expects a step of a run, \"event\": \"step\", but got none");
  DocumentSection section;
  section.kind = "run";
  section.title = file.str();
  section.tables.emplace_back(
      "steps", makeLogTable(std::move(steps), listNumbers().size()));
  if (!evaluations.empty())
    section.tables.emplace_back("evaluations",
                                makeLogTable(std::move(evaluations), 1));
  addRunFindings(section);
  return section;
}

llvm::Expected<DocumentSection> tessera::readRunLog(StringRef text,
                                                    StringRef file) {
  return LogReader(text, file).read();
}

//===----------------------------------------------------------------------===//
// Two runs
//===----------------------------------------------------------------------===//

/// The cells of a column by step; of a repeated step the last one counts.
static std::map<double, Table::Cell> cellsByStep(const Table &steps,
                                                 size_t column) {
  std::map<double, Table::Cell> cells;
  for (const auto &row : steps.getRows())
    cells.insert_or_assign(row[0].value.value_or(0), row[column]);
  return cells;
}

/// The column of a name; none if there is no such column.
static std::optional<size_t> findColumn(const Table &table, StringRef name) {
  for (auto [i, column] : llvm::enumerate(table.getColumns()))
    if (column.name == name)
      return i;
  return std::nullopt;
}

/// Adds both losses at the last step that both runs have.
static void addCommonLoss(DocumentSection &section, const Table &table) {
  for (const auto &row : llvm::reverse(table.getRows()))
    if (row[1].value && row[2].value) {
      section.findings.emplace_back(
          "verdict", formatv("Losses {0:f4} and {1:f4} at step {2}",
                             *row[1].value, *row[2].value, row[0].text));
      return;
    }
}

DocumentSection tessera::compareRuns(const DocumentSection &a,
                                     const DocumentSection &b, StringRef nameA,
                                     StringRef nameB) {
  DocumentSection section;
  section.kind = "compare-runs";
  section.title = (nameA + " and " + nameB).str();
  const Table *first = a.find("steps"), *second = b.find("steps");
  if (!first || !second)
    return section;
  for (auto [i, column] : llvm::enumerate(first->getColumns().drop_front())) {
    auto other = findColumn(*second, column.name);
    if (!other)
      continue;
    auto x = cellsByStep(*first, i + 1), y = cellsByStep(*second, *other);
    std::set<double> steps;
    for (const auto *cells : {&x, &y})
      for (const auto &[step, cell] : *cells)
        steps.insert(step);
    Table::Column columnA = column, columnB = column;
    columnA.name = nameA.str();
    columnB.name = nameB.str();
    Table table({{"step", "", 0}, columnA, columnB});
    Table::Cell none("-", std::nullopt);
    for (double step : steps)
      table.addRow({step, x.count(step) ? x.at(step) : none,
                    y.count(step) ? y.at(step) : none});
    if (column.name == "loss")
      addCommonLoss(section, table);
    section.tables.emplace_back(column.name, std::move(table));
  }
  return section;
}
