//===- ReshardPlanner.h - Collectives between two shardings -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans the collectives that take a tensor from one sharding to another, in
// plain C++. A plan is a shortest path: states are shardings, steps are
//
//  * slice over an axis that is free (no bytes),
//  * all-gather and all-to-all of the minor axes of a dimension,
//  * permute to any sharding with the same number of shards per dimension,
//  * all-reduce and reduce-scatter over some of the partial axes,
//
// and lengths are times on the links that the axes span (CollectiveTime.h).
// Axes are split where one of the two shardings splits them, and finer, if that
// saves time and is quick enough: at every divisor on small meshes, else where
// a part is as large as another axis. Splits need not nest: the parts 2 x 3 of
// an axis of 6 become the whole axis, and this the parts 3 x 2. Axes that
// neither sharding uses take part: a value that is the same along a near axis
// is sliced over it before it crosses a far one.
//
// No intermediate state is larger than the larger of the two ends, unless the
// shape allows no such path. Plans are deterministic.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RESHARD_RESHARDPLANNER_H
#define TESSERA_RESHARD_RESHARDPLANNER_H

#include "tessera/Cluster/CollectiveTime.h"
#include "tessera/Interfaces/Axes.h"
#include <string>
#include <unordered_map>
#include <vector>

namespace tessera {

/// One collective of a plan; each is an op of `dist`.
struct ReshardStep {
  /// The collective, or the local op, of a step.
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
  Kind kind = Kind::Slice;
  /// The axes that span a group, with adjacent parts merged.
  AxisList axes;
  /// The dimension; for an all-to-all, the one that is gathered.
  int64_t dim = 0;
  /// The dimension that an all-to-all splits.
  int64_t splitDim = 0;
  /// For a permute: member i of a group sends to member targets[i].
  llvm::SmallVector<int64_t> targets;
  /// The sharding after the step.
  Sharding to;
  /// Elements that one device receives, by bandwidth-optimal algorithms.
  int64_t elements = 0;
  /// Seconds.
  double time = 0;
};

/// "all_gather" and so on: the mnemonic of the op in `dist`.
llvm::StringRef stringifyReshardStep(ReshardStep::Kind kind);
/// None for a slice and a to_partial, which move nothing.
std::optional<CollectiveKind> getCollectiveKind(ReshardStep::Kind kind);

/// The steps from one sharding to another, in order, and their price.
struct ReshardPlan {
  std::vector<ReshardStep> steps;
  /// The reason why there is no plan; empty if there is one.
  std::string error;
  /// Seconds of all steps.
  double time = 0;
  /// Elements of the largest value that a device holds during the plan, both
  /// ends included.
  int64_t peakElements = 0;
  /// The shape allows no path without a value larger than both ends.
  bool exceedsEnds = false;
  /// False if the search was cut short: there may be a cheaper plan even
  /// without finer splits.
  bool exact = true;

  /// Elements that one device receives.
  int64_t elements() const;
};

/// A collective that a plan must not use.
struct BannedStep {
  ReshardStep::Kind kind;
  AxisList axes;
};

/// Plans the steps from `from` to `to` for a tensor of this (padded) global
/// shape with elements of `elementBytes`. A ToPartial adds the axes that are
/// partial in `to` but not in `from`. There is no plan if a shape does not
/// divide or if a value partial by one reduction is wanted partial by another.
ReshardPlan planReshard(const Mesh &mesh, const MeshLinks &links,
                        const Sharding &from, const Sharding &to,
                        llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
                        const BannedStep *banned = nullptr);

/// A lower bound of the seconds of all plans, found in a hundredth of the time
/// of a plan. The shape must divide by both shardings, and `to` may be partial
/// only over axes that `from` is partial over.
double getLeastReshardTime(const Mesh &mesh, const MeshLinks &links,
                           const Sharding &from, const Sharding &to,
                           llvm::ArrayRef<int64_t> shape, int64_t elementBytes);

/// Caches the plans of one mesh.
class ReshardPlanner {
public:
  ReshardPlanner(Mesh mesh, MeshLinks links)
      : mesh(std::move(mesh)), links(std::move(links)) {}
  /// Assumes equal links under all axes.
  explicit ReshardPlanner(const Mesh &mesh)
      : ReshardPlanner(mesh, MeshLinks::uniform(mesh)) {}

  const Mesh &getMesh() const { return mesh; }
  const MeshLinks &getLinks() const { return links; }
  /// Calls planReshard() on this mesh. The reference stays valid as long as the
  /// planner.
  const ReshardPlan &plan(const Sharding &from, const Sharding &to,
                          llvm::ArrayRef<int64_t> shape, int64_t elementBytes);

private:
  Mesh mesh;
  MeshLinks links;
  std::unordered_map<std::string, ReshardPlan> plans;
  std::string key;
};

} // namespace tessera

#endif // TESSERA_RESHARD_RESHARDPLANNER_H
