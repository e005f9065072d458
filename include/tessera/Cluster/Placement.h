//===- Placement.h - Groups of devices on a cluster -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device numbers fill the levels of a cluster from the inside out. Groups that
// fill them evenly have one span per level. Other groups (6 devices over nodes
// of 8: one has all of them in a node, the next has 2 in one and 4 in another)
// have the span of the worst one: with the most steps over outer links, and the
// fewest devices of a node, which drive its outer links together.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CLUSTER_PLACEMENT_H
#define TESSERA_CLUSTER_PLACEMENT_H

#include "tessera/Cluster/MeshLinks.h"

namespace tessera {

struct LevelSpec;

/// The links of a level of a cluster.
LevelLinks makeLevelLinks(const LevelSpec &level);

/// The spans of groups that run the same collective at once.
class Placement {
public:
  /// `levels` from the inside out, at least one. `othersIdle`: only the added
  /// groups use the links.
  explicit Placement(llvm::ArrayRef<LevelLinks> levels,
                     bool othersIdle = false);

  /// Adds a group: its device numbers in ascending order, at least one. All
  /// groups have the same number of devices.
  void addGroup(llvm::ArrayRef<int64_t> devices);

  /// One span per level if all groups are distributed over it alike; otherwise
  /// one span for the worst group, with the mean latency of the steps of a ring
  /// and LinkSpan::parallel.
  LinkSpans spans() const;

private:
  /// The number of groups of a level that a group of devices is in, and the
  /// least and most devices that it has in one.
  struct Footprint {
    int64_t groups = 0, least = 0, most = 0;
  };
  LinkSpans evenSpans() const;
  LinkSpan worstSpan() const;

  /// Bandwidth of a level for a span of `size`, whose links `drivers` devices
  /// drive together.
  double bandwidthOf(size_t level, int64_t size, int64_t drivers) const;

  llvm::ArrayRef<LevelLinks> levels;
  bool othersIdle;
  /// One entry for each level but the outermost, which holds all devices.
  llvm::SmallVector<Footprint, 4> footprints;
  int64_t ranks = 0;
};

/// The spans of all groups of devices of a mesh that differ in `group`.
LinkSpans placeGroups(llvm::ArrayRef<LevelLinks> levels, const Mesh &mesh,
                      llvm::ArrayRef<AxisRef> group);

/// The spans of one group of devices, in ascending order; all others are idle.
LinkSpans placeDevices(const ClusterSpec &cluster,
                       llvm::ArrayRef<int64_t> devices);

} // namespace tessera

#endif // TESSERA_CLUSTER_PLACEMENT_H
