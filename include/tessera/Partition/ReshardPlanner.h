//===- ReshardPlanner.h - Collectives between two shardings -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans the collectives that take a tensor from one sharding to another, in
// plain C++. The order is fixed and each step is as cheap as it can be:
//
//  1. slice over every wanted axis that is free (no bytes),
//  2. reduce-scatter over partial axes that a dimension wants,
//  3. all-reduce over the other axes to be reduced, now on the smallest shard,
//  4. one permute where axes only change places between shards of equal sizes,
//     or all-to-all of axes from one dimension to another,
//  5. all-gather over what is not wanted.
//
// It is not a search: a plan is correct for every pair of shardings but need
// not be the cheapest one.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PARTITION_RESHARDPLANNER_H
#define TESSERA_PARTITION_RESHARDPLANNER_H

#include "tessera/Interfaces/Axes.h"
#include <vector>

namespace tessera {

/// One collective of a plan; each is an op of `dist`.
struct ReshardStep {
  enum class Kind {
    Slice,
    ReduceScatter,
    AllReduce,
    Permute,
    AllToAll,
    AllGather,
    /// The value on coordinate 0 of the axes, the neutral element elsewhere.
    ToPartial,
  };
  Kind kind;
  /// The axes that span a group, adjacent parts merged.
  AxisList axes;
  /// The dimension; the one that is gathered in an all-to-all.
  int64_t dim = 0;
  /// The dimension that an all-to-all splits.
  int64_t splitDim = 0;
  /// Of a permute: member i of a group sends to member targets[i].
  llvm::SmallVector<int64_t> targets;
  /// The sharding after the step.
  Sharding to;
  /// Elements that one device receives, by bandwidth-optimal algorithms.
  int64_t elements = 0;
};

/// "all_gather" and so on: the mnemonic of the op in `dist`.
llvm::StringRef stringifyReshardStep(ReshardStep::Kind kind);

struct ReshardPlan {
  std::vector<ReshardStep> steps;
  /// Why there is no plan; empty if there is one.
  std::string error;
  /// A dimension was gathered whole because sub-axes of the two shardings cut
  /// an axis at borders that do not nest, or a size does not divide.
  bool gatheredWhole = false;

  /// Elements that one device receives.
  int64_t elements() const;
};

/// Plans the way from `from` to `to` for a tensor of this (padded) global
/// shape. The axes partial in `to` but not in `from` are added by a ToPartial.
/// There is no plan if a shape does not divide.
ReshardPlan planReshard(const Mesh &mesh, const Sharding &from,
                        const Sharding &to, llvm::ArrayRef<int64_t> shape);

} // namespace tessera

#endif // TESSERA_PARTITION_RESHARDPLANNER_H
