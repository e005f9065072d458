//===- ExploreSection.cpp - Explored layouts as tables --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row for each layout. Numbers of one kind share a unit and decimals, so that
// a column of many rows is packed (Document.h).
//
//===----------------------------------------------------------------------===//

#include "PlanFigures.h"
#include "tessera/Planning/Explore.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>

using namespace tessera;
using namespace tessera::cost;
using llvm::formatv;
using llvm::StringRef;

namespace {

/// A unit for numbers of one kind, and their decimals.
struct Scale {
  std::string unit;
  /// Units in the number 1.
  double factor = 1;
  int digits = 0;
};

/// A column of numbers of the layouts.
struct NumberColumn {
  std::string name;
  Scale scale;
  std::function<double(const ExploredLayout &)> get;
  std::string suffix = "";
};

/// Makes the tables of an exploration.
class ExploreTables {
public:
  explicit ExploreTables(const Exploration &exploration);

  Table makeOptions() const;
  Table makeLayouts() const;
  Table makeInvalid() const;
  Table makeParts() const;
  Table makeCategories() const;
  Table makeLinks() const;
  bool hasTokens() const { return differ(&ExploredLayout::tokens); }

private:
  /// Whether layouts differ in a number.
  template <typename T> bool differ(T ExploredLayout::*member) const {
    return llvm::any_of(exploration.layouts, [&](const ExploredLayout &layout) {
      return layout.*member != exploration.layouts.front().*member;
    });
  }
  template <typename GetT> std::pair<double, double> findEnds(GetT get) const;
  bool isOption(StringRef name) const;
  Scale makeScale(std::function<double(const ExploredLayout &)> get,
                  llvm::ArrayRef<std::pair<const char *, double>> units) const;
  std::string nameOfPart(const Cause &part) const;
  std::vector<Table::Column> listOptionColumns() const;
  void addOptionCells(size_t index, std::vector<Table::Cell> &cells) const;
  std::vector<NumberColumn> listFollowing() const;
  std::vector<NumberColumn> listNumbers() const;

  const Exploration &exploration;
  /// A cell for each value of each option.
  std::vector<std::vector<Table::Cell>> optionCells;
};

} // namespace

//===----------------------------------------------------------------------===//
// Units and names
//===----------------------------------------------------------------------===//

template <typename GetT>
std::pair<double, double> ExploreTables::findEnds(GetT get) const {
  std::pair<double, double> ends(INFINITY, 0);
  for (const ExploredLayout &layout : exploration.layouts) {
    double number = get(layout);
    ends.first = std::min(ends.first, number);
    ends.second = std::max(ends.second, number);
  }
  return ends;
}

/// The first unit that the largest number reaches, and so many decimals that
/// the least number has four digits.
Scale ExploreTables::makeScale(
    std::function<double(const ExploredLayout &)> get,
    llvm::ArrayRef<std::pair<const char *, double>> units) const {
  auto [least, most] = findEnds(get);
  auto *unit = llvm::find_if(units, [&, most = most](const auto &each) {
    return most * each.second >= 1;
  });
  if (unit == units.end())
    unit = std::prev(units.end());
  double shown = least * unit->second;
  int digits = shown > 0 ? 3 - int(std::floor(std::log10(shown))) : 3;
  return {unit->first, unit->second, std::clamp(digits, 0, 6)};
}

bool ExploreTables::isOption(StringRef name) const {
  return llvm::any_of(
      exploration.space.getOptions(),
      [&](const ExploredOption &option) { return option.field->name == name; });
}

/// The name of a part's column; parts that wait for several resources have
/// these in it.
std::string ExploreTables::nameOfPart(const Cause &part) const {
  bool isAlone =
      1 == llvm::count_if(exploration.parts, [&](const Cause &other) {
        return other.name == part.name;
      });
  return "step: " + part.name + (isAlone ? "" : " (" + part.resource + ")");
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

/// Whether all values of an option are numbers without decimals.
static bool hasIntegers(const ExploredOption &option) {
  return llvm::all_of(option.values, [](StringRef value) {
    int64_t number;
    return !value.getAsInteger(10, number) && std::to_string(number) == value;
  });
}

ExploreTables::ExploreTables(const Exploration &exploration)
    : exploration(exploration) {
  for (const ExploredOption &option : exploration.space.getOptions()) {
    std::vector<Table::Cell> &cells = optionCells.emplace_back();
    std::optional<double> number;
    for (const std::string &value : option.values) {
      if (hasIntegers(option))
        number = double(std::stoll(value));
      cells.emplace_back(value, number);
    }
  }
}

std::vector<Table::Column> ExploreTables::listOptionColumns() const {
  std::vector<Table::Column> columns;
  for (const ExploredOption &option : exploration.space.getOptions())
    columns.push_back(hasIntegers(option)
                          ? Table::Column(option.field->getOption(), "", 0)
                          : Table::Column(option.field->getOption()));
  return columns;
}

void ExploreTables::addOptionCells(size_t index,
                                   std::vector<Table::Cell> &cells) const {
  size_t numOptions = optionCells.size(), first = cells.size();
  cells.resize(first + numOptions, Table::Cell(""));
  for (size_t i = numOptions; i-- > 0;) {
    cells[first + i] = optionCells[i][index % optionCells[i].size()];
    index /= optionCells[i].size();
  }
}

/// The fields that follow from the options.
std::vector<NumberColumn> ExploreTables::listFollowing() const {
  std::vector<NumberColumn> columns;
  auto add = [&](const char *name, int64_t ExploredLayout::*member,
                 bool isShown) {
    if (!isOption(name) && isShown)
      columns.push_back(
          {name, {}, [=](const ExploredLayout &l) { return l.*member; }});
  };
  add("dp", &ExploredLayout::dp, true);
  add("ranks", &ExploredLayout::devices, differ(&ExploredLayout::devices));
  add("micro-batches", &ExploredLayout::microBatches,
      differ(&ExploredLayout::microBatches));
  add("global-batch", &ExploredLayout::globalBatch,
      differ(&ExploredLayout::globalBatch));
  return columns;
}

std::vector<NumberColumn> ExploreTables::listNumbers() const {
  using Layout = const ExploredLayout &;
  auto seconds = [](Layout l) { return l.seconds; };
  auto total = [](Layout l) { return l.totalBytes; };
  Scale time = makeScale(seconds, {{"s", 1}, {"ms", 1e3}, {"us", 1e6}});
  Scale memory = makeScale(total, {{"GB", 1e-9}, {"MB", 1e-6}, {"kB", 1e-3}});
  std::vector<NumberColumn> columns;
  columns.push_back({"step", time, seconds});
  if (hasTokens()) {
    auto each = [](Layout l) { return 1e6 * l.secondsPerToken(); };
    columns.push_back({"1e6 tokens",
                       makeScale(each, {{"s", 1}, {"ms", 1e3}, {"us", 1e6}}),
                       each});
  }
  auto rate = [](Layout l) { return l.tokensPerSecond; };
  columns.push_back({"tokens a second", makeScale(rate, {{"", 1}}), rate});
  columns.push_back(
      {"MFU", {"%", 100, 1}, [](Layout l) { return l.mfu; }, " %"});
  if (exploration.layouts.front().days > 0)
    columns.push_back({"days", {"", 1, 1}, [](Layout l) { return l.days; }});
  if (exploration.layouts.front().dollars > 0)
    columns.push_back(
        {"dollars", {"$", 1, 0}, [](Layout l) { return l.dollars; }});
  columns.push_back({"fits with",
                     {"%", 100, 0},
                     [](Layout l) { return l.fitProbability; },
                     " %"});
  double capacity = exploration.capacity;
  columns.push_back({"fill",
                     {"%", 100, 1},
                     [=](Layout l) { return l.totalBytes / capacity; },
                     " %"});
  columns.push_back(
      {"free", memory, [=](Layout l) { return capacity - l.totalBytes; }});
  columns.push_back(
      {"fullest stage", {}, [](Layout l) { return double(l.fullest); }});
  columns.push_back({"memory", memory, total});
  for (const auto &[i, name] : llvm::enumerate(exploration.categories))
    columns.push_back(
        {"memory: " + name, memory, [i = i](Layout l) { return l.bytes[i]; }});
  for (const auto &[i, part] : llvm::enumerate(exploration.parts))
    columns.push_back({nameOfPart(part), time, [i = i](Layout l) {
                         for (const auto &[index, seconds] : l.parts)
                           if (index == i)
                             return seconds;
                         return 0.0;
                       }});
  return columns;
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

/// A number in its unit; what rounds to zero has no sign.
static Table::Cell makeCell(const NumberColumn &column,
                            const Table::Column &head,
                            const ExploredLayout &layout) {
  double number = column.get(layout) * column.scale.factor;
  if (std::abs(number) * std::pow(10.0, column.scale.digits) <= 0.5)
    number = 0;
  return {head.format(number), number};
}

Table ExploreTables::makeLayouts() const {
  std::vector<Table::Column> heads = listOptionColumns();
  size_t numOptions = heads.size();
  std::vector<NumberColumn> numbers = listFollowing();
  for (NumberColumn &column : listNumbers())
    numbers.push_back(std::move(column));
  for (const NumberColumn &column : numbers)
    heads.emplace_back(column.name, column.scale.unit, column.scale.digits,
                       column.suffix);
  bool hasMethods =
      differ(&ExploredLayout::contextMethod) && !isOption("cp-method");
  heads.emplace_back("fits");
  heads.emplace_back("waits for");
  if (hasMethods)
    heads.emplace_back("cp-method");
  Table table(heads);
  for (const ExploredLayout &layout : exploration.layouts) {
    std::vector<Table::Cell> cells;
    cells.reserve(heads.size());
    addOptionCells(layout.index, cells);
    for (const auto &[i, column] : llvm::enumerate(numbers))
      cells.push_back(makeCell(column, heads[numOptions + i], layout));
    cells.emplace_back(layout.fits ? "yes" : "no");
    cells.emplace_back(layout.bottleneck);
    if (hasMethods)
      cells.emplace_back(layout.contextMethod);
    table.addRow(std::move(cells));
  }
  return table;
}

Table ExploreTables::makeInvalid() const {
  std::vector<Table::Column> heads = listOptionColumns();
  heads.emplace_back("error");
  Table table(heads);
  for (const auto &[index, error] : exploration.invalid) {
    std::vector<Table::Cell> cells;
    addOptionCells(index, cells);
    cells.emplace_back(error);
    table.addRow(std::move(cells));
  }
  return table;
}

Table ExploreTables::makeOptions() const {
  Table table({"option", "value", "argument", "shown", "meaning"});
  auto shown =
      exploration.space.getValues(exploration.layouts[exploration.best].index);
  for (auto [option, best] : llvm::zip(exploration.space.getOptions(), shown))
    for (StringRef value : option.values)
      table.addRow({option.field->getOption(), value.str(),
                    option.getArgument(value), value == best ? "yes" : "",
                    option.field->getBrief().empty()
                        ? option.field->getHelp()
                        : option.field->getBrief().str()});
  return table;
}

Table ExploreTables::makeParts() const {
  Table table({"part", "waits for", "column"});
  for (const Cause &part : exploration.parts)
    table.addRow({part.name, part.resource, nameOfPart(part)});
  return table;
}

Table ExploreTables::makeCategories() const {
  Table table({"category", "column"});
  for (const std::string &name : exploration.categories)
    table.addRow({name, "memory: " + name});
  return table;
}

Table ExploreTables::makeLinks() const {
  Table table({"link"});
  for (const std::string &name : exploration.links)
    table.addRow({name});
  return table;
}

//===----------------------------------------------------------------------===//
// The section
//===----------------------------------------------------------------------===//

static size_t countFitting(const Exploration &exploration) {
  return llvm::count_if(exploration.layouts,
                        [](const ExploredLayout &l) { return l.fits; });
}

static std::string verdictOf(const Exploration &exploration) {
  const ExploredLayout &best = exploration.layouts[exploration.best];
  std::string count = groupedText(double(exploration.space.size()));
  if (!best.fits)
    return formatv("None of {0} layouts fits; the smallest needs {1:f1} GB of "
                   "{2:f1}",
                   count, best.totalBytes / 1e9, exploration.capacity / 1e9);
  return formatv("{0} of {1} layouts fit; the fastest takes {2} a step",
                 groupedText(double(countFitting(exploration))), count,
                 secondsText(best.seconds));
}

DocumentSection tessera::makeExploreSection(const Exploration &exploration,
                                            StringRef command) {
  ExploreTables tables(exploration);
  DocumentSection section;
  section.kind = "explore";
  section.title = exploration.model;
  section.findings = {
      {"verdict", verdictOf(exploration)},
      {"subject",
       formatv("{0}, {1} parameters, on {2}", exploration.model,
               countText(exploration.parameters), exploration.cluster)},
  };
  Table base({"command"});
  base.addRow({command.str()});
  section.tables.emplace_back("options", tables.makeOptions());
  section.tables.emplace_back("layouts", tables.makeLayouts());
  if (!exploration.invalid.empty())
    section.tables.emplace_back("invalid", tables.makeInvalid());
  section.tables.emplace_back("parts", tables.makeParts());
  section.tables.emplace_back("categories", tables.makeCategories());
  section.tables.emplace_back("links", tables.makeLinks());
  section.tables.emplace_back("command", std::move(base));
  section.tables.emplace_back("device", makeDeviceTable(exploration.capacity));
  return section;
}

void tessera::print(const Exploration &exploration, llvm::raw_ostream &os) {
  const ExploredLayout &best = exploration.layouts[exploration.best];
  os << formatv("explored {0} layouts: {1} are valid, {2} fit\n",
                groupedText(double(exploration.space.size())),
                groupedText(double(exploration.layouts.size())),
                groupedText(double(countFitting(exploration))));
  os << (best.fits ? "the fastest that fits: "
                   : "the one of the least memory: ")
     << exploration.space.describe(best.index) << "\n\n";
}
