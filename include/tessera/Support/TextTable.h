//===- TextTable.h - Columns that line up -----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_TEXTTABLE_H
#define TESSERA_SUPPORT_TEXTTABLE_H

#include "llvm/Support/raw_ostream.h"
#include <set>
#include <string>
#include <vector>

namespace tessera {

/// Rows of text. The first column is aligned to the left, the others to the
/// right; two spaces precede each column.
class TextTable {
public:
  /// Adds a row. Columns are as wide as their widest cell; rows may have
  /// different numbers of cells.
  void addRow(std::vector<std::string> cells) {
    rows.push_back(std::move(cells));
  }
  /// Aligns another column to the left.
  void alignLeft(size_t column) { left.insert(column); }
  bool isEmpty() const { return rows.empty(); }
  void print(llvm::raw_ostream &os) const;

private:
  std::vector<std::vector<std::string>> rows;
  std::set<size_t> left{0};
};

/// "+1.50", "-0.20": a difference with its sign; "0.00" if it rounds to zero.
std::string differenceText(double difference, int digits);

} // namespace tessera

#endif // TESSERA_SUPPORT_TEXTTABLE_H
