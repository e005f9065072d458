//===- CollectiveTime.h - Seconds of a collective ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one price of communication: shardings, reshards, positions of reductions,
// buckets, overlap and the seconds of a plan all use it. It is the best of ring
// and tree, each with a low-latency and a bulk protocol, over the links that a
// group spans. With N groups of g devices on the outer level, n = N g, and
// `bytes` of the whole tensor of a group:
//
//  * ring: base + k (net (N - 1) + near (n - N)) + k (n - 1)/n bytes / BW,
//    k = 2 for all-reduce, 1 for all-gather, reduce-scatter and broadcast;
//  * tree (all-reduce over nodes): base + 2 (net log2 N + near (g - 1)) +
//    2 bytes / BW;
//  * all-to-all: base + latency log2 n + the slowest of the levels, which work
//    in parallel;
//  * permute: base + the slowest link.
//
// The devices of a node drive their outer links in parallel rings: BW is the
// smaller of the near link and g outer links. As in NCCL's own model
// (src/graph/tuning.cc) a collective takes a latency and bytes over a bandwidth
// by algorithm and protocol; docs/scores.md scores the forms on measured
// collectives. Times are monotone in bytes.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CLUSTER_COLLECTIVETIME_H
#define TESSERA_CLUSTER_COLLECTIVETIME_H

#include "tessera/Cluster/MeshLinks.h"
#include "tessera/Interfaces/CollectiveKind.h"

namespace tessera {

/// Seconds of a collective over a group with these spans (from the inside out),
/// where each device holds `localBytes` before. 0 for a group of one.
double getCollectiveTime(CollectiveKind kind, double localBytes,
                         llvm::ArrayRef<LinkSpan> spans,
                         const CollectiveConstants &library);

/// The same, given the bytes of the whole tensor of a group: the result of an
/// all-gather, or each device's input of the other kinds.
double getTensorCollectiveTime(CollectiveKind kind, double tensorBytes,
                               llvm::ArrayRef<LinkSpan> spans,
                               const CollectiveConstants &library = {});

/// Seconds to dispatch tokens to their experts, or back: each device sends
/// `bytes` of tokens. Each token goes to `copies` devices drawn at random,
/// but only once to each of them, and once to each group of devices on an outer
/// level, which passes it on. Out of u groups it reaches u (1 - (1 -
/// 1/u)^copies) on average.
double getDispatchTime(double bytes, double copies,
                       llvm::ArrayRef<LinkSpan> spans,
                       const CollectiveConstants &library = {});

/// The spans of a group as a ring or a tree without PXN uses them, on nodes
/// with `nodeDevices` devices. A ring that several but not all of a node's
/// devices drive enters a node at one device and leaves it at another. The path
/// from the latter to the former's network card crosses the processors, and no
/// card there reads a device's memory: such a span has a share of its
/// bandwidth. Other kinds of collectives keep their spans.
LinkSpans getSpansWithoutPXN(CollectiveKind kind, LinkSpans spans,
                             int64_t nodeDevices);

/// Seconds of a collective over groups of devices that differ in `axes`.
double getCollectiveTime(const MeshLinks &links, const Mesh &mesh,
                         CollectiveKind kind, double localBytes,
                         llvm::ArrayRef<AxisRef> axes);

} // namespace tessera

#endif // TESSERA_CLUSTER_COLLECTIVETIME_H
