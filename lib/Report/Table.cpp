//===- Table.cpp - Rows of texts and of the numbers behind them -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/Table.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Unicode.h"
#include <algorithm>
#include <cassert>
#include <charconv>

using namespace tessera;

std::string Table::Column::format(double value) const {
  return fixedText(value, *digits) + suffix;
}

void Table::addRow(std::vector<Cell> cells) {
  assert((columns.empty() || cells.size() == columns.size()) &&
         "a row has a cell for each column");
  for (auto [column, cell] : llvm::zip(columns, cells))
    if (cell.value && cell.text.empty() && column.digits)
      cell.text = column.format(*cell.value);
  rows.push_back(std::move(cells));
}

void Table::print(llvm::raw_ostream &os, bool hasHead) const {
  std::vector<std::vector<std::string>> lines;
  if (hasHead && !columns.empty())
    for (const Column &column : (lines.emplace_back(), columns))
      lines.back().push_back(plainText(column.name));
  for (const auto &row : rows)
    for (const Cell &cell : (lines.emplace_back(), row))
      lines.back().push_back(plainText(cell.text));
  std::vector<size_t> widths;
  for (const auto &cells : lines) {
    widths.resize(std::max(widths.size(), cells.size()), 0);
    for (const auto &[i, cell] : llvm::enumerate(cells))
      widths[i] = std::max(widths[i], cell.size());
  }
  for (const auto &cells : lines) {
    std::string line;
    for (const auto &[i, cell] : llvm::enumerate(cells)) {
      std::string pad(widths[i] - cell.size(), ' ');
      line += "  " + (left.count(i) ? cell + pad : pad + cell);
    }
    // Remove the spaces after the last cell.
    line.erase(line.find_last_not_of(' ') + 1);
    os << line << "\n";
  }
}

std::string tessera::plainText(llvm::StringRef name) {
  auto isPlain = [](char c) { return llvm::isPrint(c); };
  if (llvm::all_of(name, isPlain))
    return name.str();
  std::string text = llvm::json::fixUTF8(name), plain;
  llvm::StringRef rest = text;
  while (!rest.empty()) {
    size_t length = llvm::getNumBytesForUTF8(uint8_t(rest.front()));
    llvm::StringRef character = rest.take_front(length);
    rest = rest.drop_front(length);
    plain +=
        llvm::sys::unicode::columnWidthUTF8(character) < 0 ? "?" : character;
  }
  return plain;
}

std::string tessera::fixedText(double value, int digits) {
  // The texts of tables of many rows are made here.
  char buffer[64];
  auto [end, error] = std::to_chars(std::begin(buffer), std::end(buffer), value,
                                    std::chars_format::fixed, digits);
  if (error == std::errc())
    return std::string(buffer, end);
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.*f", digits, value);
  return text;
}

std::string tessera::differenceText(double difference, int digits) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%+.*f", digits, difference);
  // A zero has no sign.
  if (text.find_first_not_of("+-0.") == std::string::npos)
    text.erase(0, 1);
  return text;
}

std::string tessera::groupedText(double number) {
  std::string digits = fixedText(number, 0);
  size_t first = digits.front() == '-';
  for (size_t i = digits.size(); i > first + 3; i -= 3)
    digits.insert(i - 3, ",");
  return digits;
}
