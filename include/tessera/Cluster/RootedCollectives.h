//===- RootedCollectives.h - Prices of collectives with a root --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collectives in which one rank, the root, has or gets the whole tensor. No
// layout uses them, so they are no CollectiveKind. With n ranks, BW of a ring
// and the constants of CollectiveTime.h:
//
//  * scatter and gather: base + latency log2 n + the slowest of the root's
//    levels, which work in parallel. The root moves a block for each other
//    rank, as each rank does in an all-to-all (Chan et al. 2007, "Collective
//    communication: theory, practice, and experience": (n - 1)/n of the tensor
//    after log2 n messages);
//  * reduce: base + net (N - 1) + near (n - N) + bytes / BW. A chain of ranks
//    that ends at the root adds chunks as they pass, and each link of it
//    carries the whole tensor, as in NCCL: nccl-tests counts 1 of the tensor.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CLUSTER_ROOTEDCOLLECTIVES_H
#define TESSERA_CLUSTER_ROOTEDCOLLECTIVES_H

#include "tessera/Cluster/MeshLinks.h"

namespace tessera {

/// A collective with a root, as MPI names it.
enum class RootedCollective { Scatter, Gather, Reduce };

/// The most that a rank of a group sends and the most that a rank receives, as
/// shares of the bytes of the whole tensor: the root's tensor.
struct TrafficShares {
  double sent = 0, received = 0;
};

/// The shares of a collective in a group of `groupSize`; none for a group of
/// one.
TrafficShares getRootedShares(RootedCollective kind, double groupSize);

/// Seconds of a collective over a group with these spans (from the inside out),
/// given the bytes of the whole tensor. 0 for a group of one.
double getRootedCollectiveTime(RootedCollective kind, double tensorBytes,
                               llvm::ArrayRef<LinkSpan> spans,
                               const CollectiveConstants &library = {});

} // namespace tessera

#endif // TESSERA_CLUSTER_ROOTEDCOLLECTIVES_H
