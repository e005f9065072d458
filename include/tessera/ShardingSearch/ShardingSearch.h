//===- ShardingSearch.h - The cheapest shardings of a program ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds how each op of a program is run and how each tensor is sharded, and how
// far from the best that can be (docs/search.md).
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

/// What the time of a program is made of, in picoseconds.
struct SearchedTimes {
  int64_t kernels = 0;
  /// Of the longest kernel: what it waits for does not run beside it.
  int64_t longest = 0;
  /// Transfers that are waited for, and those that run beside kernels.
  int64_t waited = 0, beside = 0;

  /// All of it, one after the other.
  int64_t blocking() const { return kernels + waited + beside; }
  /// All of it, where kernels hide what they can.
  int64_t overlapped() const {
    return waited + std::max(kernels, beside + longest);
  }
};

/// Shardings that were found for a program.
struct FoundShardings {
  /// For each op and tensor in the program's order; only a module of equal ops
  /// can take them.
  std::shared_ptr<const ShardingSolution> solution;
  /// Picoseconds of the network, and what no shardings of its space take less
  /// than.
  int64_t cost = 0, bound = 0;
  /// Bytes that a device holds, about, where the program holds most.
  int64_t bytes = 0;
  SearchedTimes times;
  /// Variables of the network, and of the one with equal layers as one.
  size_t variables = 0, solved = 0;

  /// The most by which other shardings of the space may be faster, as a share
  /// of the cost.
  double gap() const { return cost > 0 ? 1 - double(bound) / double(cost) : 0; }
};

/// What is searched.
struct ShardingSearchOptions {
  /// Bytes that a device may hold where the program holds most; 0: no limit.
  int64_t memoryLimit = 0;
  /// Where nothing is within the limit, what holds least is found; else that is
  /// an error.
  bool takesLeast = false;
  /// Picoseconds above which shardings are of no use: where the bound is above
  /// it, a search ends early.
  int64_t ceiling = std::numeric_limits<int64_t>::max();
  /// What else each op might do is priced, for remarks: as long again.
  bool explains = false;
  /// Layers that are equal are solved as one.
  bool foldsLayers = true;
  /// A file for the network, in toulbar2's format; empty: none.
  std::string dump;
};

/// The best of searches of several kinds, the fastest first: transfers beside
/// kernels count as what they slow kernels down by, or in full, and where a
/// mesh has many axes, some stay together. Seeds and constraints hold. The
/// module is left with its constants copied. Reports an error at what has no
/// sharding.
mlir::FailureOr<std::vector<FoundShardings>>
searchShardings(mlir::ModuleOp module, const ShardingSearchOptions &options);

/// The first of searchShardings(), written into the module as
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
