//===- CollectiveUse.h - Collectives of a local program ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists and prices the collectives of a partitioned function. Those in a
// `dist.accumulate` count once for each micro-batch, those in a loop once for
// each trip.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LOCALCOLLECTIVES_COLLECTIVEUSE_H
#define TESSERA_LOCALCOLLECTIVES_COLLECTIVEUSE_H

#include "dialects/Dist/Dist.h"
#include "tessera/Cluster/CollectiveTime.h"

namespace tessera {

/// One collective of a function, in program order; a bucket counts as one.
struct CollectiveUse {
  /// The first collective of a bucket.
  dist::CollectiveOpInterface op;
  CollectiveKind kind;
  /// The tensor that a device puts into it.
  mlir::RankedTensorType operand;
  /// `{"x", "y"}`.
  std::string axes;
  /// Number of runs in one call of the function.
  int64_t count = 1;
  /// Bytes that one device receives in one run, and its seconds.
  int64_t bytes = 0;
  double time = 0;
  /// The share of its time in which nothing else runs; 1 if the program waits
  /// for it at once.
  double exposed = 1;
  /// Number of collectives that are merged into this one.
  int64_t members = 1;
};

/// Prices collectives, each alone; caches the mesh.
class CollectivePricer {
public:
  /// None for a slice. `local` are additional bytes of a device that travel
  /// along.
  std::optional<CollectiveUse> price(dist::CollectiveOpInterface op,
                                     double local = 0);
  /// Each transfer of an op that says its own, such as a ring.
  std::vector<CollectiveUse> price(dist::TransfersOpInterface op);

private:
  CollectiveUse price(dist::CollectiveOpInterface op, CollectiveKind kind,
                      mlir::RankedTensorType operand, double local);

  dist::MeshOp meshOp;
  Mesh mesh;
  MeshLinks links;
};

/// The collectives of a local function.
std::vector<CollectiveUse> getCollectives(mlir::FunctionOpInterface func);

} // namespace tessera

#endif // TESSERA_LOCALCOLLECTIVES_COLLECTIVEUSE_H
