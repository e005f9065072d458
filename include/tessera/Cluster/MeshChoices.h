//===- MeshChoices.h - Meshes of a number of devices ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CLUSTER_MESHCHOICES_H
#define TESSERA_CLUSTER_MESHCHOICES_H

#include "tessera/Cluster/ClusterSpec.h"
#include "tessera/Interfaces/Axes.h"

namespace tessera {

/// The meshes of `devices` devices of a cluster whose shardings differ: one
/// axis `dp`, and two axes, `dp` and, within it, `tp`, in ascending order of
/// `tp`. An axis does not straddle the groups of a level: `tp` fills a part of
/// a group, or whole groups. Three axes are searched as two groups, so they are
/// no meshes of their own.
std::vector<Mesh> listMeshes(const ClusterSpec &cluster, int64_t devices);

} // namespace tessera

#endif // TESSERA_CLUSTER_MESHCHOICES_H
