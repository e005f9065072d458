//===- CollectiveRows.h - Measured collectives ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_BENCH_VALIDATE_COLLECTIVEROWS_H
#define TESSERA_BENCH_VALIDATE_COLLECTIVEROWS_H

#include "Csv.h"
#include "Evaluate.h"
#include "Scores.h"

namespace tessera::validate {

/// True for tables of collectives: rows with an operation, ranks and a size, or
/// the library's own tuning table.
bool isCollectiveTable(const Table &table);

/// Prices every row of such a table. Rows with a bandwidth and no size are
/// evaluated at 1 GiB; rows of a tuning table at powers of two, with the best
/// of their algorithms.
void scoreCollectives(const Table &table, Evaluator &evaluator,
                      SourceScore &score);

} // namespace tessera::validate

#endif // TESSERA_BENCH_VALIDATE_COLLECTIVEROWS_H
