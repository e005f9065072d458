//===- CollectiveReport.h - Communication of a local program ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums the collectives of a partitioned function by kind and axes, with what of
// their time is exposed.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COLLECTIVES_COLLECTIVEREPORT_H
#define TESSERA_COLLECTIVES_COLLECTIVEREPORT_H

#include "tessera/LocalCollectives/CollectiveUse.h"
#include "tessera/Report/Document.h"

namespace tessera {

/// The collectives of a local function, each with the share of its time that is
/// exposed by the order of the program.
std::vector<CollectiveUse>
getExposedCollectives(mlir::FunctionOpInterface func);

/// All collectives of one kind over the same axes, or the values that a pp rank
/// receives from others.
struct CollectiveRow {
  /// Marks unknown exposed bytes.
  static constexpr int64_t kUnknown = -1;

  /// `all_gather`.
  std::string name;
  std::string axes;
  int64_t count = 0, bytes = 0, exposedBytes = 0;
  double time = 0;
};

/// Sums uses by kind, then by axes in the order in which they first occur.
std::vector<CollectiveRow> summarize(llvm::ArrayRef<CollectiveUse> uses);

/// Rows of the values that a pp rank receives from others in a step: during its
/// list ("recv", each a value of a micro-batch) and after it ("exchange").
/// Empty for a function that does not belong to a pp rank.
std::vector<CollectiveRow> getPipelineTransfers(mlir::FunctionOpInterface func);

/// Seconds that an exchange takes on the links between pp ranks, which carry
/// both directions at once; 0 in a module without a stage axis.
double getExchangeSeconds(dist::ExchangeOp op);

/// The fewest and the most pairs of a query and a visible key on a device; none
/// without attention.
using AttentionPairs = std::optional<std::pair<int64_t, int64_t>>;

/// Prints an aligned table with a line of totals, and a line on attention if
/// `pairs` is set.
void printCollectives(llvm::raw_ostream &os, llvm::StringRef function,
                      llvm::ArrayRef<CollectiveRow> rows,
                      const AttentionPairs &pairs = std::nullopt);
/// {"function", "collectives": [{"kind", "axes", "count", "bytes",
/// "exposed_bytes" unless unknown, "seconds"}], "total": {...},
/// "attention_pairs": [fewest, most]}; bytes are received by one device in one
/// call.
llvm::json::Value toJson(llvm::StringRef function,
                         llvm::ArrayRef<CollectiveRow> rows,
                         const AttentionPairs &pairs = std::nullopt);

/// The section "collectives" of a document: a table with a line for each row,
/// one of exposed and hidden bytes, and one of `pairs` if they are set.
DocumentSection
makeCollectiveSection(llvm::StringRef function,
                      llvm::ArrayRef<CollectiveRow> rows,
                      const AttentionPairs &pairs = std::nullopt);

/// Writes the report of all local functions of a module: a document if `path`
/// ends in ".json", else text; "-" is text on stdout. A document has the fields
/// of toJson(), in "functions" if there are several, and the command line that
/// makes it.
mlir::LogicalResult reportCollectives(mlir::ModuleOp module,
                                      llvm::StringRef path,
                                      llvm::StringRef command);

} // namespace tessera

#endif // TESSERA_COLLECTIVES_COLLECTIVEREPORT_H
