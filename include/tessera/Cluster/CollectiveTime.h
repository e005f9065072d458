//===- CollectiveTime.h - What a collective costs to choose by --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one cost of communication that shardings, reshards and reductions are
// chosen by: an alpha-beta model over the links that a group spans. It ranks
// choices; what a step takes on a machine is for the cost model to say.
//
// A group of n devices on one level takes ceil(log2 n) steps to gather or to
// scatter, and moves the bytes of a bandwidth-optimal algorithm (Chan et al.,
// "Collective communication: theory, practice, and experience", 2007). A group
// over several levels works level by level, so that the far links carry the
// least: a gather goes over the outermost level first, while the data is small,
// a reduce-scatter over the innermost. On equal links that is the same number
// of bytes as in one piece.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CLUSTER_COLLECTIVETIME_H
#define TESSERA_CLUSTER_COLLECTIVETIME_H

#include "tessera/Cluster/MeshLinks.h"
#include "tessera/Interfaces/CollectiveKind.h"

namespace tessera {

/// Seconds of a collective over groups with these spans (from the inside out),
/// each device holding `localBytes` before. 0 for a group of one.
double getCollectiveTime(CollectiveKind kind, double localBytes,
                         llvm::ArrayRef<LinkSpan> spans);

/// The same over groups of devices that differ in `axes`.
double getCollectiveTime(const MeshLinks &links, const Mesh &mesh,
                         CollectiveKind kind, double localBytes,
                         llvm::ArrayRef<AxisRef> axes);

} // namespace tessera

#endif // TESSERA_CLUSTER_COLLECTIVETIME_H
