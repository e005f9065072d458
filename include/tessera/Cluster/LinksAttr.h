//===- LinksAttr.h - Links and devices of a mesh in the IR ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `dist.links` on a dist.mesh describes the links that its axes span: one array
// per mesh axis, from the innermost level outwards, of array<f64: devices,
// seconds per step, bytes per second>. The devices of an axis multiply to its
// size; spans with the same latency and bandwidth are on one level. A fourth
// number of a span is LinkSpan::parallel, 1 if absent. A last entry array<f64:
// baseLow, baseBulk, bulkStep, lowShare> after the axes holds the constants of
// the collective library (CollectiveConstants), unless they are the fitted
// ones.
//
// `dist.device` on the module holds the rates of a device: array<f64: bytes per
// second through its memory, operations per second of matmuls, of other ops,
// seconds of the shortest kernel>, and for a processor three more: the bytes
// through memory per byte of a matmul, seconds of a function such as exp, and
// the share of a transfer that it moves itself (WorkRates).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CLUSTER_LINKSATTR_H
#define TESSERA_CLUSTER_LINKSATTR_H

#include "dialects/Dist/Dist.h"
#include "tessera/Cluster/MeshLinks.h"
#include "tessera/Interfaces/WorkTime.h"

namespace tessera {

/// The links of a mesh; uniform links if it has no `dist.links`.
MeshLinks getMeshLinks(dist::MeshOp mesh);

/// Writes the links of a mesh as `dist.links`. For groups that are placed one
/// by one (MeshLinks::levels) it writes the spans of whole axes.
void setMeshLinks(dist::MeshOp mesh, const MeshLinks &links);

/// The rates of the devices of an op's module; none without a `dist.device`.
std::optional<WorkRates> findWorkRates(mlir::Operation *op);

/// The same; kGpuRates without a `dist.device`.
WorkRates getWorkRates(mlir::Operation *op);

/// Writes the rates of the devices of a module.
void setWorkRates(mlir::ModuleOp module, const WorkRates &rates);

} // namespace tessera

#endif // TESSERA_CLUSTER_LINKSATTR_H
