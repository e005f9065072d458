//===- FuseCollectives.h - Families of local rewrites -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each family looks at all collectives of a block once and says whether it
// changed anything.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_COLLECTIVES_FUSECOLLECTIVES_H
#define TESSERA_LIB_COLLECTIVES_FUSECOLLECTIVES_H

#include "dialects/Dist/Dist.h"

namespace tessera {

/// What fusion may do, and what it has been reported already.
struct FusionContext {
  Mesh mesh;
  mlir::FlatSymbolRefAttr meshSymbol;
  /// Bytes that may stay live longer so that a parameter is gathered once.
  int64_t sharedBytes = 0;
  /// The last round: what is not done is reported now.
  bool tellMissed = false;

  AxisList toAxes(dist::AxesAttr axes) const { return axes.toAxes(mesh); }
  dist::AxesAttr toAttr(llvm::ArrayRef<AxisRef> axes) const {
    return dist::AxesAttr::get(meshSymbol.getContext(), mesh, axes);
  }
  /// Remarks on `op`; `missed` only in the last round.
  void passed(mlir::Operation *op, llvm::StringRef what) const;
  void missed(mlir::Operation *op, llvm::StringRef what,
              llvm::StringRef why) const;
};

/// An all-reduce whose only uses slice it along one dimension: reduce-scatter
/// over the axes that all slices begin with. A reduce-scatter that is only
/// gathered again: all-reduce. Two reductions that are only added up: one.
bool fuseReductions(mlir::Block &block, const FusionContext &context);

/// A slice of a gather, and chains of gathers, of slices and of all-to-alls.
bool fuseMovements(mlir::Block &block, const FusionContext &context);

/// Casts to a smaller type before a collective that moves whole elements, casts
/// to a larger one after it.
bool moveThroughCasts(mlir::Block &block, const FusionContext &context);

/// Equal collectives of one value, and gathers of one parameter as far as
/// `sharedBytes` allows.
bool mergeEqual(mlir::Block &block, const FusionContext &context);

} // namespace tessera

#endif // TESSERA_LIB_COLLECTIVES_FUSECOLLECTIVES_H
