//===- TextTable.cpp - Tables with aligned columns --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/TextTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include <algorithm>

using namespace tessera;

void TextTable::print(llvm::raw_ostream &os) const {
  std::vector<size_t> widths;
  for (const auto &row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (const auto &[i, cell] : llvm::enumerate(row))
      widths[i] = std::max(widths[i], cell.size());
  }
  for (const auto &row : rows) {
    std::string line;
    for (const auto &[i, cell] : llvm::enumerate(row)) {
      std::string pad(widths[i] - cell.size(), ' ');
      line += "  " + (left.count(i) ? cell + pad : pad + cell);
    }
    // Remove the spaces after the last cell.
    line.erase(line.find_last_not_of(' ') + 1);
    os << line << "\n";
  }
}

std::string tessera::differenceText(double difference, int digits) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%+.*f", digits, difference);
  // A zero has no sign.
  if (text.find_first_not_of("+-0.") == std::string::npos)
    text.erase(0, 1);
  return text;
}
