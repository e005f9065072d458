//===- CollectiveModel.h - Seconds of a collective --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The best of ring and tree, each with a low-latency and a bulk protocol, over
// the links that a group spans.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COST_COLLECTIVEMODEL_H
#define TESSERA_COST_COLLECTIVEMODEL_H

#include "tessera/Cluster/MeshLinks.h"
#include "tessera/Cost/Work.h"

namespace tessera::cost {

/// Constants of the collective library, the same on every cluster. Fitted on
/// nccl-tests of A100 nodes with Slingshot links, on all-reduces of an 8-GPU
/// A100 node, and on the tuning table of NCCL 2.27 for H100 nodes, with groups
/// of 8 nodes left out.
struct CollectiveConstants {
  /// Seconds before the first byte moves, low-latency and bulk protocol.
  double baseLow = 7.3e-6, baseBulk = 28e-6;
  /// A step of the bulk protocol takes so many times the link's latency.
  double bulkStep = 1.8;
  /// Share of the bandwidth that the low-latency protocol has: flags travel
  /// with the data.
  double lowShare = 0.27;
};

/// Seconds of a collective. `bytes` as in CommWork; `spans` from the inside
/// out. Zero for a group of one. With N groups of g devices on the outer level
/// and n = N g:
///   ring: base + k (net (N - 1) + near (n - N)) + k (n - 1)/n bytes / BW,
///   k = 2 for all-reduce, 1 for all-gather and reduce-scatter;
///   tree (all-reduce over nodes): base + 2 (net log2 N + near (g - 1)) + 2
///   bytes / BW.
/// The devices of a node drive their outer links in parallel rings: BW is the
/// smaller of the near link and g outer links. Monotone in bytes.
double collectiveSeconds(CollectiveKind kind, double bytes,
                         llvm::ArrayRef<LinkSpan> spans,
                         const CollectiveConstants &constants = {});

} // namespace tessera::cost

#endif // TESSERA_COST_COLLECTIVEMODEL_H
