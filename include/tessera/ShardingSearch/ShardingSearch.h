//===- ShardingSearch.h - The cheapest shardings of a program ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the sharding of each op and tensor of a program, and a bound on the
// distance from the best sharding (docs/search.md).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SHARDINGSEARCH_SHARDINGSEARCH_H
#define TESSERA_SHARDINGSEARCH_SHARDINGSEARCH_H

#include "mlir/IR/BuiltinOps.h"
#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace tessera {

struct ShardingSolution;

/// The components of a program's time, in picoseconds.
struct SearchedTimes {
  int64_t kernels = 0;
  /// Time of the longest kernel, since a transfer that it waits for does not
  /// overlap with it.
  int64_t longest = 0;
  /// Exposed transfers, and transfers that overlap with kernels.
  int64_t waited = 0, beside = 0;

  /// Sum of all, one after the other.
  int64_t blocking() const { return kernels + waited + beside; }
  /// Total time, if kernels hide as many transfers as they can.
  int64_t overlapped() const {
    return waited + std::max(kernels, beside + longest);
  }
};

/// Shardings that were found for a program.
struct FoundShardings {
  /// Shardings of each op and tensor in the program's order; they fit only a
  /// module with the same ops.
  std::shared_ptr<const ShardingSolution> solution;
  /// Picoseconds of the network, and a lower bound for all shardings of its
  /// space.
  int64_t cost = 0, bound = 0;
  /// Approximate bytes on a device at the program's peak.
  int64_t bytes = 0;
  SearchedTimes times;
  /// Variables of the network, and of the one with equal layers merged.
  size_t variables = 0, solved = 0;

  /// The largest possible speedup from other shardings of the space, as a share
  /// of the cost.
  double gap() const { return cost > 0 ? 1 - double(bound) / double(cost) : 0; }
};

/// The options of a search.
struct ShardingSearchOptions {
  /// Limit of a device's bytes at the program's peak; 0: no limit.
  int64_t memoryLimit = 0;
  /// If nothing is within the limit, returns the shardings with the fewest
  /// bytes instead of an error.
  bool takesLeast = false;
  /// Picoseconds above which shardings are useless: a search ends early if its
  /// bound is above.
  int64_t ceiling = std::numeric_limits<int64_t>::max();
  /// Also prices the alternatives of each op, for remarks; doubles the time.
  bool explains = false;
  /// Solves equal layers as one.
  bool foldsLayers = true;
  /// File to write the network to, in toulbar2's format; empty: none.
  std::string dump;
};

/// Runs searches of several kinds and returns their results, the fastest first.
/// The kinds count overlapped transfers by their slowdown of kernels, or in
/// full, and with many mesh axes keep some together. Seeds and constraints
/// hold. Copies the module's constants. Reports an error at an op or value that
/// has no sharding.
mlir::FailureOr<std::vector<FoundShardings>>
searchShardings(mlir::ModuleOp module, const ShardingSearchOptions &options);

/// Writes the first result of searchShardings() into the module, as
/// applyShardings() does.
mlir::FailureOr<FoundShardings>
searchAndApplyShardings(mlir::ModuleOp module,
                        const ShardingSearchOptions &options);

/// Writes shardings as closed seeds, with dist.factors, dist.exact and
/// dist.apart.
mlir::LogicalResult applyShardings(mlir::ModuleOp module,
                                   const FoundShardings &found);

} // namespace tessera

#endif // TESSERA_SHARDINGSEARCH_SHARDINGSEARCH_H
