//===- MeshLinks.h - The links under the axes of a mesh ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For each axis of a mesh, which links its groups span and how fast they are.
// An axis may span several levels of a cluster: a data axis of 16 over nodes of
// 8 has 8 devices on near links and 2 groups of them on far ones.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CLUSTER_MESHLINKS_H
#define TESSERA_CLUSTER_MESHLINKS_H

#include "tessera/Interfaces/Axes.h"
#include "llvm/ADT/SmallVector.h"

namespace tessera {

struct ClusterSpec;

/// The part of an axis, or of a group of devices, that is on one level.
struct LinkSpan {
  /// Parts of the level below that are joined here; devices at the innermost.
  int64_t size = 1;
  /// Seconds of one step between neighbours.
  double latency = 0;
  /// Bytes per second that one device sends while it receives as many.
  double bandwidth = 0;
  /// Index into the cluster's levels, 0 innermost.
  unsigned level = 0;
  /// Devices that drive these links together beside those of the spans inside
  /// this one. More than 1 where groups do not fill the levels evenly, so that
  /// one span is all of the group (Placement).
  double parallel = 1;

  bool operator==(const LinkSpan &o) const {
    return size == o.size && latency == o.latency && bandwidth == o.bandwidth &&
           level == o.level && parallel == o.parallel;
  }
};

/// The links of a level: what Placement needs of a LevelSpec.
struct LevelLinks {
  int64_t devices = 1;
  double latency = 0;
  /// Bytes per second that large transfers of a device reach.
  double bandwidth = 0;
  /// Each pair of devices has links of its own.
  bool direct = false;
  /// LevelSpec::alone.
  double alone = 1;

  /// What a device of a group of `size` can send. Without a switch it reaches
  /// each of the others over their own part of the links only.
  double bandwidthOf(int64_t size) const {
    if (!direct || size <= 1 || size >= devices)
      return bandwidth;
    return bandwidth * (double(size - 1) / double(devices - 1));
  }
  bool operator==(const LevelLinks &o) const {
    return devices == o.devices && latency == o.latency &&
           bandwidth == o.bandwidth && direct == o.direct && alone == o.alone;
  }
};

/// Spans from the innermost level outwards; their sizes multiply to the number
/// of devices.
using LinkSpans = llvm::SmallVector<LinkSpan, 2>;

/// Constants of the collective library, the same on every cluster. Fitted on
/// nccl-tests of A100 nodes with Slingshot links, on all-reduces of an 8-GPU
/// A100 node, and on the tuning table of NCCL 2.27 for H100 nodes, with groups
/// of 8 nodes left out.
struct CollectiveConstants {
  /// Seconds before the first byte moves, low-latency and bulk protocol.
  double baseLow = 7.3e-6, baseBulk = 28e-6;
  /// A step of the bulk protocol takes so many times the link's latency; at
  /// least 1.
  double bulkStep = 1.8;
  /// Share of the bandwidth that the low-latency protocol has: flags travel
  /// with the data.
  double lowShare = 0.27;

  /// One protocol, which begins after `base` seconds.
  static CollectiveConstants simple(double base) { return {base, base, 1, 1}; }

  bool operator==(const CollectiveConstants &o) const {
    return baseLow == o.baseLow && baseBulk == o.baseBulk &&
           bulkStep == o.bulkStep && lowShare == o.lowShare;
  }
};

/// The links that the groups along each axis of a mesh use.
struct MeshLinks {
  /// One entry for each mesh axis. A span of size 1 is left out.
  llvm::SmallVector<LinkSpans, 4> axes;
  CollectiveConstants library;
  /// The cluster's levels if some axis does not fill them evenly: groups are
  /// then placed one by one. Otherwise empty.
  llvm::SmallVector<LevelLinks, 2> levels;

  /// What is assumed when no cluster is given: the same link under every axis,
  /// and collectives that take `base` seconds and their bytes. Steps take no
  /// time, so that no collective is taken apart to have fewer of them.
  static MeshLinks uniform(const Mesh &mesh, double base = 2e-6,
                           double bandwidth = 100e9);

  /// The spans of a group of devices that differ in `group`, a list of axes or
  /// sub-axes. Without `levels`, those that split a span at no boundary of it
  /// count as wholly on the outer level that they touch.
  LinkSpans spansOf(const Mesh &mesh, llvm::ArrayRef<AxisRef> group) const;

  bool operator==(const MeshLinks &o) const {
    return axes == o.axes && library == o.library && levels == o.levels;
  }
};

/// The links of a mesh on a cluster: device numbers are row-major over the mesh
/// (last axis innermost), and neighbouring numbers fill the cluster's levels
/// from the inside out. Groups that do not fill a level evenly are priced as
/// the worst of them lies (Placement.h). The constants of the library are the
/// fitted ones.
MeshLinks makeMeshLinks(const ClusterSpec &cluster, const Mesh &mesh);

} // namespace tessera

#endif // TESSERA_CLUSTER_MESHLINKS_H
