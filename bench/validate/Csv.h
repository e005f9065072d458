//===- Csv.h - Tables of published measurements -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_BENCH_VALIDATE_CSV_H
#define TESSERA_BENCH_VALIDATE_CSV_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace tessera::validate {

/// A file with a header line; fields may be quoted (RFC 4180).
struct Table {
  /// The file's name without folder and extension.
  std::string name;
  llvm::StringMap<size_t> columns;
  std::vector<std::vector<std::string>> rows;

  bool has(llvm::StringRef column) const { return columns.count(column); }
  /// The field of a row; empty if the table has no such column.
  llvm::StringRef get(size_t row, llvm::StringRef column) const;
};

/// Parses a whole field as a number; none if it is anything else.
std::optional<double> number(llvm::StringRef text);

llvm::Expected<Table> readTable(llvm::StringRef path);

} // namespace tessera::validate

#endif // TESSERA_BENCH_VALIDATE_CSV_H
