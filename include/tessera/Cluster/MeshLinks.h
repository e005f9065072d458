//===- MeshLinks.h - The links under the axes of a mesh ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The links that the groups of each mesh axis span, and their speed. An axis
// may span several levels of a cluster: a data axis of 16 over nodes of 8 has 8
// devices on near links and 2 groups of them on far links.
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
  /// Number of parts of the level below that are joined here; devices at the
  /// innermost level.
  int64_t size = 1;
  /// Seconds of one step between neighbours.
  double latency = 0;
  /// Bytes per second that one device sends while it receives as many.
  double bandwidth = 0;
  /// Index into the cluster's levels, 0 innermost.
  unsigned level = 0;
  /// Number of devices that drive these links together, in addition to the
  /// devices of the inner spans. More than 1 if groups do not fill the levels
  /// evenly, so that one span holds the whole group (Placement).
  double parallel = 1;

  bool operator==(const LinkSpan &o) const {
    return size == o.size && latency == o.latency && bandwidth == o.bandwidth &&
           level == o.level && parallel == o.parallel;
  }
};

/// The links of a level, as Placement needs them from a LevelSpec.
struct LevelLinks {
  int64_t devices = 1;
  double latency = 0;
  /// Bytes per second that large transfers of a device reach.
  double bandwidth = 0;
  /// Each pair of devices has its own links.
  bool direct = false;
  /// LevelSpec::alone.
  double alone = 1;

  /// Bytes per second that a device of a group of `size` can send. Without a
  /// switch it reaches each other device over their own part of the links only.
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

/// Constants of the collective library, the same on every cluster. Fitted to
/// nccl-tests of A100 nodes with Slingshot links, to all-reduces of an 8-GPU
/// A100 node, and to the tuning table of NCCL 2.27 for H100 nodes, with groups
/// of 8 nodes left out.
struct CollectiveConstants {
  /// Seconds before the first byte moves, for the low-latency and bulk
  /// protocols.
  double baseLow = 7.3e-6, baseBulk = 28e-6;
  /// Latency of a step of the bulk protocol, relative to the link's latency; at
  /// least 1.
  double bulkStep = 1.8;
  /// Share of the bandwidth that the low-latency protocol reaches: flags travel
  /// with the data.
  double lowShare = 0.27;

  /// Constants of a single protocol, which begins after `base` seconds.
  static CollectiveConstants simple(double base) { return {base, base, 1, 1}; }

  bool operator==(const CollectiveConstants &o) const {
    return baseLow == o.baseLow && baseBulk == o.baseBulk &&
           bulkStep == o.bulkStep && lowShare == o.lowShare;
  }
};

/// The links that the groups along each axis of a mesh use.
struct MeshLinks {
  /// One entry per mesh axis. Spans of size 1 are left out.
  llvm::SmallVector<LinkSpans, 4> axes;
  CollectiveConstants library;
  /// The cluster's levels if some axis does not fill them evenly, so that
  /// groups are placed one by one. Otherwise empty.
  llvm::SmallVector<LevelLinks, 2> levels;

  /// The default without a cluster: the same link under every axis, and
  /// collectives that take `base` seconds and the time of their bytes. Steps
  /// take no time, so that no collective is decomposed to have fewer of them.
  static MeshLinks uniform(const Mesh &mesh, double base = 2e-6,
                           double bandwidth = 100e9);

  /// The spans of a group of devices that differ in `group`, a list of axes or
  /// sub-axes. Without `levels`, axes that split a span inside count as wholly
  /// on the outer level that they touch.
  LinkSpans spansOf(const Mesh &mesh, llvm::ArrayRef<AxisRef> group) const;

  bool operator==(const MeshLinks &o) const {
    return axes == o.axes && library == o.library && levels == o.levels;
  }
};

/// The links of a mesh on a cluster: device numbers are row-major over the mesh
/// (last axis innermost), and neighbouring numbers fill the cluster's levels
/// from the inside out. Groups that do not fill a level evenly have the price
/// of the worst of them (Placement.h). The constants of the library are the
/// fitted ones.
MeshLinks makeMeshLinks(const ClusterSpec &cluster, const Mesh &mesh);

} // namespace tessera

#endif // TESSERA_CLUSTER_MESHLINKS_H
