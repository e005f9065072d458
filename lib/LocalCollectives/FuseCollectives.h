//===- FuseCollectives.h - Families of local rewrites -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each family visits all collectives of a block once and returns true if it
// changed any.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_LOCALCOLLECTIVES_FUSECOLLECTIVES_H
#define TESSERA_LIB_LOCALCOLLECTIVES_FUSECOLLECTIVES_H

#include "dialects/Dist/Dist.h"

namespace tessera {

/// The permissions of fusion, and the remarks already emitted.
struct FusionContext {
  Mesh mesh;
  mlir::FlatSymbolRefAttr meshSymbol;
  /// Maximum bytes that may stay live longer so that a parameter is gathered
  /// once.
  int64_t sharedBytes = 0;
  /// True in the last round, which reports the missed rewrites.
  bool tellMissed = false;

  AxisList toAxes(dist::AxesAttr axes) const { return axes.toAxes(mesh); }
  dist::AxesAttr toAttr(llvm::ArrayRef<AxisRef> axes) const {
    return dist::AxesAttr::get(meshSymbol.getContext(), mesh, axes);
  }
  /// Emits remarks on `op`; `missed` only in the last round.
  void passed(mlir::Operation *op, llvm::StringRef what) const;
  void missed(mlir::Operation *op, llvm::StringRef what,
              llvm::StringRef why) const;
};

/// Rewrites an all-reduce whose uses all slice it along one dimension to a
/// reduce-scatter over the slices' common leading axes; a reduce-scatter that
/// is only gathered again to an all-reduce; and the sum of two reductions to
/// one reduction.
bool fuseReductions(mlir::Block &block, const FusionContext &context);

/// Rewrites a slice of a gather, and chains of gathers, of slices and of
/// all-to-alls.
bool fuseMovements(mlir::Block &block, const FusionContext &context);

/// Moves casts to a smaller type before a collective that moves whole elements,
/// and casts to a larger type after it.
bool moveThroughCasts(mlir::Block &block, const FusionContext &context);

/// Merges equal collectives of one value, and gathers of one parameter as far
/// as `sharedBytes` allows.
bool mergeEqual(mlir::Block &block, const FusionContext &context);

} // namespace tessera

#endif // TESSERA_LIB_LOCALCOLLECTIVES_FUSECOLLECTIVES_H
