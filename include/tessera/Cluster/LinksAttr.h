//===- LinksAttr.h - The links of a mesh in the IR --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `dist.links` on a dist.mesh says which links its axes span: an array a mesh
// axis, from the innermost level outwards, of array<f64: devices, seconds a
// step, bytes per second>. The devices of an axis multiply to its size; spans
// with the same latency and bandwidth are on one level. A last entry
// array<f64: baseLow, baseBulk, bulkStep, lowShare> may follow the axes: the
// constants of the collective library (CollectiveConstants), where they are not
// the fitted ones.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CLUSTER_LINKSATTR_H
#define TESSERA_CLUSTER_LINKSATTR_H

#include "dialects/Dist/Dist.h"
#include "tessera/Cluster/MeshLinks.h"

namespace tessera {

/// The links of a mesh; uniform ones where it has no `dist.links`.
MeshLinks getMeshLinks(dist::MeshOp mesh);

} // namespace tessera

#endif // TESSERA_CLUSTER_LINKSATTR_H
