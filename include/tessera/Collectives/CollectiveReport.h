//===- CollectiveReport.h - What a local program communicates ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts the collectives of a partitioned function by kind and axes. What
// is in a `dist.accumulate` counts once for each micro-batch.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COLLECTIVES_COLLECTIVEREPORT_H
#define TESSERA_COLLECTIVES_COLLECTIVEREPORT_H

#include "dialects/Dist/Dist.h"
#include "tessera/Cluster/CollectiveTime.h"
#include "llvm/Support/JSON.h"

namespace tessera {

/// One collective of a function, in program order; a bucket is one.
struct CollectiveUse {
  /// The first one of a bucket.
  dist::CollectiveOpInterface op;
  CollectiveKind kind;
  /// `{"x", "y"}`.
  std::string axes;
  /// Runs in one call of the function.
  int64_t count = 1;
  /// Bytes that one device receives in one run, and seconds of it.
  int64_t bytes = 0;
  double time = 0;
  /// The share of its time in which nothing else runs, by the order of the
  /// program (timeOverlap). 1 of what is waited for at once.
  double exposed = 1;
  /// Collectives that are done as this one.
  int64_t members = 1;
};

/// Prices collectives, each alone; looks a mesh up once.
class CollectivePricer {
public:
  /// None of a slice. `local` are bytes of a device that travel along.
  std::optional<CollectiveUse> price(dist::CollectiveOpInterface op,
                                     double local = 0);

private:
  dist::MeshOp meshOp;
  Mesh mesh;
  MeshLinks links;
};

/// The collectives of a local function.
std::vector<CollectiveUse> getCollectives(mlir::FunctionOpInterface func);

/// All collectives of one kind over the same axes, or what a pp rank receives
/// of others.
struct CollectiveRow {
  /// In place of exposed bytes that are not known.
  static constexpr int64_t kUnknown = -1;

  /// `all_gather`.
  std::string name;
  std::string axes;
  int64_t count = 0, bytes = 0, exposedBytes = 0;
  double time = 0;
};

/// By kind, then by axes in the order in which they first occur.
std::vector<CollectiveRow> summarize(llvm::ArrayRef<CollectiveUse> uses);

/// Rows of the values that a pp rank receives of others in a step: by its list
/// ("recv", each a value of a micro-batch) and after it ("exchange"). Empty for
/// a function that is none of a pp rank.
std::vector<CollectiveRow> getPipelineTransfers(mlir::FunctionOpInterface func);

/// The fewest and the most pairs of a query and a key that it sees on a device;
/// none without attention.
using AttentionPairs = std::optional<std::pair<int64_t, int64_t>>;

/// An aligned table with a line of totals, and one of attention where it is
/// known.
void printCollectives(llvm::raw_ostream &os, llvm::StringRef function,
                      llvm::ArrayRef<CollectiveRow> rows,
                      const AttentionPairs &pairs = std::nullopt);
/// {"function", "collectives": [{"kind", "axes", "count", "bytes",
/// "exposed_bytes" unless unknown, "seconds"}], "total": {...},
/// "attention_pairs": [fewest, most]}; bytes are those that one device receives
/// in one call.
llvm::json::Value toJson(llvm::StringRef function,
                         llvm::ArrayRef<CollectiveRow> rows,
                         const AttentionPairs &pairs = std::nullopt);

/// Writes the report of all local functions of a module: JSON, one line a
/// function, where `path` ends in ".json", else text; "-" is text on stdout.
mlir::LogicalResult reportCollectives(mlir::ModuleOp module,
                                      llvm::StringRef path);

} // namespace tessera

#endif // TESSERA_COLLECTIVES_COLLECTIVEREPORT_H
