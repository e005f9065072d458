//===- Table.h - Rows of texts and of the numbers behind them ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table holds what a report prints and the unrounded numbers that the texts
// show. It prints as lines of text; a document (Document.h) has both.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_REPORT_TABLE_H
#define TESSERA_REPORT_TABLE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

namespace tessera {

/// Rows of text. The first column is aligned to the left, the others to the
/// right; two spaces precede each column. With columns, their names are printed
/// above the rows, and each row has a cell for each of them.
class Table {
public:
  /// A column. Numbers are in its unit and have its format.
  struct Column {
    Column(std::string name) : name(std::move(name)) {}
    Column(const char *name) : name(name) {}
    /// A column of numbers with so many decimals, then `suffix`.
    Column(std::string name, std::string unit, int digits,
           std::string suffix = "")
        : name(std::move(name)), unit(std::move(unit)), digits(digits),
          suffix(std::move(suffix)) {}

    std::string name;
    /// The unit of the values, such as "s" or "GB" (1e9 bytes); empty: none.
    std::string unit;
    /// Decimals of the texts; none: texts do not follow from the values.
    std::optional<int> digits;
    /// The text after each number, such as " %".
    std::string suffix;

    /// The text of a number in this column, which has `digits`.
    std::string format(double value) const;
  };

  /// A text, a number, or both.
  struct Cell {
    template <typename T,
              std::enable_if_t<std::is_convertible_v<T, std::string>, int> = 0>
    Cell(T &&text) : text(std::string(std::forward<T>(text))) {}
    /// A number, whose text is in its column's format.
    template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, long> = 0>
    Cell(T value) : value(double(value)) {}
    /// A number whose text is not in its column's format.
    Cell(std::string text, std::optional<double> value)
        : text(std::move(text)), value(value) {}

    std::string text;
    std::optional<double> value;
  };

  Table() = default;
  explicit Table(std::vector<Column> columns) : columns(std::move(columns)) {}

  /// Adds a row. Columns are as wide as their widest cell; rows of a table
  /// without columns may have different numbers of cells.
  void addRow(std::vector<Cell> cells);
  /// Aligns another column to the left.
  void alignLeft(size_t column) { left.insert(column); }
  bool isEmpty() const { return rows.empty(); }
  /// Prints the rows, below the names of the columns if `hasHead`.
  void print(llvm::raw_ostream &os, bool hasHead = true) const;

  llvm::ArrayRef<Column> getColumns() const { return columns; }
  llvm::ArrayRef<std::vector<Cell>> getRows() const { return rows; }

private:
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  std::set<size_t> left{0};
};

/// A name with "?" for each character that moves the cursor of a terminal or
/// turns its text, such as an escape. Invalid UTF-8 is repaired.
std::string plainText(llvm::StringRef name);

/// A number with so many decimals: "3.10".
std::string fixedText(double value, int digits);

/// "+1.50", "-0.20": a difference with its sign; "0.00" if it rounds to zero.
std::string differenceText(double difference, int digits);

/// "16,777,216": a number without decimals, in groups of three digits.
std::string groupedText(double number);

} // namespace tessera

#endif // TESSERA_REPORT_TABLE_H
