//===- TextPicture.cpp - Figures for a terminal ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/TextPicture.h"
#include "tessera/Report/Choices.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Unicode.h"
#include <algorithm>
#include <cmath>

using namespace tessera;
using llvm::StringRef;

/// Lines are never shorter or longer.
static constexpr size_t kLeastWidth = 40, kMostWidth = 400;

std::optional<PictureStyle> tessera::findPictureStyle(PictureChoice choice,
                                                      bool isStdout) {
  using llvm::sys::Process;
  bool isTerminal = isStdout && Process::StandardOutIsDisplayed();
  auto variable = [](const char *name) {
    return Process::GetEnv(name).value_or("");
  };
  std::string locale = variable("LC_ALL");
  for (const char *name : {"LC_CTYPE", "LANG"})
    if (locale.empty())
      locale = variable(name);
  std::string lower = StringRef(locale).lower();
  bool isUtf8 =
      StringRef(lower).contains("utf-8") || StringRef(lower).contains("utf8");
  if (choice == PictureChoice::Off ||
      (choice == PictureChoice::Auto && !(isTerminal && isUtf8)))
    return std::nullopt;
  PictureStyle style;
  unsigned columns = Process::StandardOutColumns();
  if (!columns && StringRef(variable("COLUMNS")).getAsInteger(10, columns))
    columns = 0;
  if (columns)
    style.width = std::clamp<size_t>(columns, kLeastWidth, kMostWidth);
  style.isAscii = choice == PictureChoice::Ascii;
  style.hasColour =
      isTerminal && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
  return style;
}

namespace {

/// A line of cells, each a character with a colour.
class Canvas {
public:
  Canvas(size_t width, const PictureStyle &style)
      : cells(width, {" ", -1}), style(style) {}

  /// Fills the cells [begin, end) with a character, in a colour of the 256 of
  /// terminals; -1: none.
  void fill(size_t begin, size_t end, StringRef text, int colour = -1) {
    for (size_t i = begin; i < std::min(end, cells.size()); ++i)
      cells[i] = {text.str(), colour};
  }
  void print(llvm::raw_ostream &os) const;

private:
  std::vector<std::pair<std::string, int>> cells;
  const PictureStyle &style;
};

} // namespace

void Canvas::print(llvm::raw_ostream &os) const {
  int current = -1;
  for (const auto &[text, colour] : cells) {
    if (style.hasColour && colour != current) {
      os << "\x1b[0m";
      // Dark text on each of the colours below.
      if (colour >= 0)
        os << llvm::formatv("\x1b[48;5;{0}m\x1b[38;5;16m", colour);
      current = colour;
    }
    os << text;
  }
  if (style.hasColour && current >= 0)
    os << "\x1b[0m";
}

static size_t columnsOf(StringRef text) {
  int width = llvm::sys::unicode::columnWidthUTF8(text);
  return width < 0 ? text.size() : size_t(width);
}

/// Pads or cuts a name to so many columns.
static std::string fitName(StringRef name, size_t width) {
  std::string text = plainText(name);
  while (columnsOf(text) > width) {
    while (text.size() > 1 && (text.back() & 0xc0) == 0x80)
      text.pop_back();
    text.pop_back();
  }
  return text + std::string(width - columnsOf(text), ' ');
}

/// The columns that the names of a table take, at most a third of a line.
static size_t widestName(const Table &table, const PictureStyle &style) {
  size_t width = 1;
  for (const auto &row : table.getRows())
    width = std::max(width, columnsOf(plainText(row[0].text)));
  return std::min(width, style.width / 3);
}

/// The columns that texts to the right of bars take, at most a quarter of a
/// line.
static size_t widestText(const Table &table, llvm::ArrayRef<size_t> columns,
                         const PictureStyle &style) {
  size_t width = 1;
  for (const auto &row : table.getRows())
    for (size_t column : columns)
      width = std::max(width, columnsOf(plainText(row[column].text)));
  return std::min(width, style.width / 4);
}

/// The cell of a number in a scale from 0 to `most` over `width` cells.
static size_t cellOf(double value, double most, size_t width) {
  double share = most > 0 ? std::clamp(value / most, 0.0, 1.0) : 0;
  return size_t(std::lround(share * double(width)));
}

/// The columns of a table by name; none if one of them is missing.
static std::optional<std::vector<size_t>>
findColumns(const Table *table, llvm::ArrayRef<StringRef> names) {
  if (!table || table->isEmpty())
    return std::nullopt;
  std::vector<size_t> columns;
  for (StringRef name : names) {
    const auto *found =
        llvm::find_if(table->getColumns(), [&](const Table::Column &column) {
          return column.name == name;
        });
    if (found == table->getColumns().end())
      return std::nullopt;
    columns.push_back(found - table->getColumns().begin());
  }
  return columns;
}

static double numberOf(const Table::Cell &cell) {
  return cell.value.value_or(0);
}

/// Prints a text to the right of a bar and ends the line.
static void endLine(StringRef text, size_t width, llvm::raw_ostream &os) {
  std::string fitted = fitName(StringRef(text).trim(), width);
  StringRef bare = StringRef(fitted).rtrim();
  os << " " << std::string(width - columnsOf(bare), ' ') << bare << "\n";
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

namespace {
/// A category of memory in the order of the table: its letter and colour.
struct Category {
  const char *letter;
  int colour;
};
} // namespace

static constexpr Category kCategories[] = {
    {"p", 36}, {"g", 73},  {"o", 115}, {"a", 142}, {"z", 150},
    {"c", 65}, {"l", 187}, {"w", 144}, {"x", 246}, {"m", 252}};

/// Prints the categories that occur, in lines of the style's width.
static void printLegend(const Table &memory, const Table &names,
                        const PictureStyle &style, llvm::raw_ostream &os) {
  std::string line;
  auto add = [&](const std::string &entry) {
    if (!line.empty() && columnsOf(line) + entry.size() + 4 > style.width) {
      os << "  " << StringRef(line).rtrim() << "\n";
      line.clear();
    }
    line += (line.empty() ? "" : "  ") + entry;
  };
  for (auto [i, category, name] :
       llvm::enumerate(llvm::ArrayRef(kCategories), names.getRows()))
    if (llvm::any_of(memory.getRows(), [&, i = i](const auto &row) {
          return numberOf(row[i + 2]) > 0;
        }))
      add(category.letter + (" " + fitName(name[0].text, 20)));
  os << "  " << StringRef(line).rtrim() << "\n";
}

/// Prints a bar for each stage up to the end of the device, and a legend.
static void printMemoryBars(const DocumentSection &section,
                            const PictureStyle &style, llvm::raw_ostream &os) {
  const Table *memory = section.find("memory"),
              *device = section.find("device"),
              *names = section.find("categories");
  auto totals = findColumns(memory, {"total"}),
       marks = findColumns(device, {"GB"});
  if (!totals || !marks || !names ||
      memory->getColumns().size() < std::size(kCategories) + 2 ||
      names->getRows().size() != std::size(kCategories))
    return;
  double capacity = numberOf(device->getRows().back()[marks->front()]);
  double most = capacity;
  for (const auto &row : memory->getRows())
    most = std::max(most, numberOf(row[totals->front()]));
  size_t left = std::max<size_t>(5, widestName(*memory, style));
  size_t width = style.width - left - 4;
  size_t end = cellOf(capacity, most, width);
  os << "\nmemory of a device up to its end, GB\n";
  for (const auto &row : memory->getRows()) {
    Canvas line(width + 1, style);
    line.fill(0, end, style.isAscii ? "." : "·");
    double sum = 0;
    for (auto [i, category] : llvm::enumerate(kCategories)) {
      double bytes = numberOf(row[i + 2]);
      line.fill(cellOf(sum, most, width), cellOf(sum + bytes, most, width),
                category.letter, category.colour);
      sum += bytes;
    }
    line.fill(end, end + 1, style.isAscii ? "|" : "│");
    os << "  " << fitName(row[0].text, left) << " ";
    line.print(os);
    os << "\n";
  }
  printLegend(*memory, *names, style, os);
}

/// Prints each part of a step from where the one before ends.
static void printStep(const DocumentSection &section, const PictureStyle &style,
                      llvm::raw_ostream &os) {
  const Table *table = section.find("waterfall");
  auto columns = findColumns(table, {"begin", "seconds"});
  if (!columns)
    return;
  size_t begins = columns->front(), seconds = columns->back();
  double most = 0;
  for (const auto &row : table->getRows())
    most = std::max({most, numberOf(row[begins]),
                     numberOf(row[begins]) + numberOf(row[seconds])});
  size_t left = widestName(*table, style),
         right = widestText(*table, seconds, style);
  size_t width = style.width - left - right - 5;
  os << "\nthe step, seconds\n";
  for (const auto &row : table->getRows()) {
    double begin = numberOf(row[begins]);
    double end = begin + numberOf(row[seconds]);
    size_t from = cellOf(std::min(begin, end), most, width);
    size_t to = cellOf(std::max(begin, end), most, width);
    Canvas line(width, style);
    if (from == to)
      line.fill(std::min(from, width - 1), std::min(from, width - 1) + 1,
                style.isAscii ? "|" : "▏");
    else
      line.fill(from, to, style.isAscii ? "#" : "█");
    os << "  " << fitName(row[0].text, left) << " ";
    line.print(os);
    endLine(row[seconds].text, right, os);
  }
}

/// The letter of an action, and its colour.
static std::pair<const char *, int> actionLetter(StringRef action) {
  return llvm::StringSwitch<std::pair<const char *, int>>(action)
      .Case("F", {"F", 75})
      .Case("W", {"W", 179})
      .Case("F+BW", {"X", 141})
      .Default({"B", 173});
}

/// Prints a line for each rank: what runs in the middle of each cell.
static void printPipeline(const DocumentSection &section,
                          const PictureStyle &style, llvm::raw_ostream &os) {
  /// Pictures of more ranks would be longer than anybody reads.
  constexpr double kMostRanks = 128;
  const Table *table = section.find("pipeline");
  auto columns = findColumns(table, {"rank", "action", "begin", "end"});
  if (!columns)
    return;
  double longest = 0, last = 0;
  for (const auto &row : table->getRows()) {
    longest = std::max(longest, numberOf(row[(*columns)[3]]));
    last = std::max(last, numberOf(row[(*columns)[0]]));
  }
  if (longest <= 0 || last >= kMostRanks)
    return;
  size_t left = std::to_string(size_t(last)).size() + 5;
  size_t width = style.width - left - 3;
  std::vector<Canvas> lines(size_t(last) + 1, Canvas(width, style));
  for (Canvas &line : lines)
    line.fill(0, width, style.isAscii ? "." : "·");
  // A cell shows the action at its middle.
  auto cellAt = [&](const Table::Cell &cell) {
    double at = numberOf(cell) / longest * double(width);
    return size_t(std::ceil(std::clamp(at - 0.5, 0.0, double(width))));
  };
  for (const auto &row : table->getRows()) {
    auto [letter, colour] = actionLetter(row[(*columns)[1]].text);
    auto rank = size_t(std::max(0.0, numberOf(row[(*columns)[0]])));
    lines[rank].fill(cellAt(row[(*columns)[2]]), cellAt(row[(*columns)[3]]),
                     letter, colour);
  }
  os << "\nthe pipeline: F forward, B backward, W gradients of parameters, X "
        "both passes\n";
  for (auto [rank, line] : llvm::enumerate(lines)) {
    os << "  " << fitName("rank " + std::to_string(rank), left) << " ";
    line.print(os);
    os << "\n";
  }
}

//===----------------------------------------------------------------------===//
// Comparisons and runs
//===----------------------------------------------------------------------===//

/// Prints two bars for each row of a table of pairs.
static void printPairs(const Table *table, const PictureStyle &style,
                       llvm::raw_ostream &os) {
  if (!table || table->isEmpty() || table->getColumns().size() < 3)
    return;
  double most = 0;
  for (const auto &row : table->getRows())
    most = std::max({most, numberOf(row[1]), numberOf(row[2])});
  size_t left = widestName(*table, style),
         right = widestText(*table, {1, 2}, style);
  size_t width = style.width - left - right - 7;
  os << "\n"
     << plainText(table->getColumns()[0].name) << "; A "
     << plainText(table->getColumns()[1].name) << ", B "
     << plainText(table->getColumns()[2].name) << "\n";
  for (const auto &row : table->getRows())
    for (size_t i : {1, 2}) {
      Canvas line(width, style);
      line.fill(0, cellOf(numberOf(row[i]), most, width),
                style.isAscii ? "#" : "█");
      os << "  " << fitName(i == 1 ? StringRef(row[0].text) : "", left) << " "
         << (i == 1 ? "A " : "B ");
      line.print(os);
      endLine(row[i].text, right, os);
    }
}

/// The means of a column over equal parts of the rows; none where a part has no
/// number.
static std::vector<std::optional<double>> meansOf(const Table &table,
                                                  size_t column, size_t parts) {
  size_t count = table.getRows().size();
  parts = std::min(parts, count);
  std::vector<double> sums(parts, 0);
  std::vector<size_t> counts(parts, 0);
  for (auto [row, cells] : llvm::enumerate(table.getRows()))
    if (cells[column].value) {
      sums[row * parts / count] += *cells[column].value;
      ++counts[row * parts / count];
    }
  std::vector<std::optional<double>> means(parts);
  for (size_t i = 0; i < parts; ++i)
    if (counts[i])
      means[i] = sums[i] / double(counts[i]);
  return means;
}

/// Prints a line of heights for each number of a run.
static void printCurves(const Table *table, const PictureStyle &style,
                        llvm::raw_ostream &os) {
  static constexpr const char *kHeights[] = {"▁", "▂", "▃", "▄",
                                             "▅", "▆", "▇", "█"};
  static constexpr const char *kAsciiHeights[] = {"_", ".", ":", "-",
                                                  "=", "+", "*", "#"};
  if (!table || table->isEmpty())
    return;
  size_t left = 0;
  for (const Table::Column &column : table->getColumns())
    left = std::max(left, columnsOf(plainText(column.name)));
  left = std::min(left, style.width / 4);
  os << "\nmeans by step, from the least to the most\n";
  for (size_t i = 1; i < table->getColumns().size(); ++i) {
    const Table::Column &column = table->getColumns()[i];
    // The least and the most have 25 columns at most.
    auto means = meansOf(*table, i, style.width - left - 28);
    double least = INFINITY, most = -INFINITY;
    for (std::optional<double> mean : means)
      if (mean) {
        least = std::min(least, *mean);
        most = std::max(most, *mean);
      }
    if (least > most)
      continue;
    os << "  " << fitName(column.name, left) << " ";
    for (std::optional<double> mean : means) {
      size_t height = mean && most > least
                          ? size_t(7.999 * (*mean - least) / (most - least))
                          : 0;
      os << (!mean           ? " "
             : style.isAscii ? kAsciiHeights[height]
                             : kHeights[height]);
    }
    os << llvm::format(" %.4g to %.4g\n", least, most);
  }
}

//===----------------------------------------------------------------------===//
// Explanations
//===----------------------------------------------------------------------===//

/// The columns of a table that are parts of a bar: numbers in the unit of the
/// first ones, but their sum.
static std::vector<size_t> findParts(const Table &table) {
  std::vector<size_t> parts;
  StringRef unit;
  for (size_t i = 0; i < table.getColumns().size(); ++i) {
    const Table::Column &column = table.getColumns()[i];
    bool isNumber = llvm::any_of(table.getRows(), [&](const auto &row) {
      return row[i].value.has_value();
    });
    if (!isNumber)
      continue;
    if (unit.empty())
      unit = column.unit;
    if (!column.unit.empty() && column.unit == unit && column.name != "sum" &&
        column.name != "total")
      parts.push_back(i);
  }
  return parts;
}

/// Prints a bar for each row, with a letter for each part.
static void printStack(const Table &table, const PictureStyle &style,
                       llvm::raw_ostream &os) {
  static constexpr int kColours[] = {36, 73, 152, 142, 179, 173, 141, 75};
  std::vector<size_t> parts = findParts(table);
  if (parts.empty())
    return;
  bool isNamed = parts.front() > 0;
  std::vector<double> sums;
  for (const auto &row : table.getRows()) {
    sums.push_back(0);
    for (size_t part : parts)
      sums.back() += std::max(0.0, numberOf(row[part]));
  }
  double most = *llvm::max_element(sums);
  size_t left = isNamed ? widestName(table, style) : 0;
  size_t width = style.width - left - 14;
  for (auto [row, cells] : llvm::enumerate(table.getRows())) {
    Canvas line(width, style);
    double begin = 0;
    for (auto [i, part] : llvm::enumerate(parts)) {
      double end = begin + std::max(0.0, numberOf(cells[part]));
      line.fill(cellOf(begin, most, width), cellOf(end, most, width),
                table.getColumns()[part].name.substr(0, 1),
                kColours[i % std::size(kColours)]);
      begin = end;
    }
    os << "  " << fitName(isNamed ? StringRef(cells[0].text) : "", left) << " ";
    line.print(os);
    os << " " << fixedText(sums[row], 2) << "\n";
  }
  for (size_t part : parts) {
    StringRef name = table.getColumns()[part].name;
    os << "  " << name.take_front() << " " << plainText(name) << "\n";
  }
}

/// Prints the bars and the pipeline of an explanation, of the chosen rows.
static void printExplained(const DocumentSection &section,
                           const PictureStyle &style, llvm::raw_ostream &os) {
  const Table *figures = section.find("figures");
  if (!figures || figures->getColumns().size() < 2)
    return;
  for (const auto &figure : figures->getRows()) {
    Table table = chooseRows(section, figure[0].text);
    if (table.isEmpty())
      continue;
    if (figure[1].text == "pipeline") {
      DocumentSection shown;
      shown.tables.emplace_back("pipeline", std::move(table));
      printPipeline(shown, style, os);
    } else if (figure[1].text == "stack" && table.getRows().size() <= 40) {
      os << "\n" << plainText(figure[0].text) << "\n";
      printStack(table, style, os);
    }
  }
}

void tessera::printPictures(const DocumentSection &section,
                            const PictureStyle &style, llvm::raw_ostream &os) {
  if (section.kind == "plan") {
    printMemoryBars(section, style, os);
    printStep(section, style, os);
    printPipeline(section, style, os);
  } else if (section.kind == "compare") {
    printPairs(section.find("step"), style, os);
    printPairs(section.find("memory"), style, os);
  } else if (section.kind == "run") {
    printCurves(section.find("steps"), style, os);
  } else if (section.kind == "explain") {
    printExplained(section, style, os);
  }
}
