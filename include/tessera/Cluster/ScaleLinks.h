//===- ScaleLinks.h - Clusters with other links -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CLUSTER_SCALELINKS_H
#define TESSERA_CLUSTER_SCALELINKS_H

#include "tessera/Cluster/ClusterSpec.h"

namespace tessera {

/// Multiplies the bandwidth of levels, as given in "infiniband=0.5,nvlink=0.9",
/// and renames the cluster accordingly. Fails if the cluster has no such level,
/// or a factor is not above 0.
llvm::Error scaleLevels(ClusterSpec &cluster, llvm::StringRef factors);

} // namespace tessera

#endif // TESSERA_CLUSTER_SCALELINKS_H
