//===- CollectiveVerifier.h - Checks of all collectives ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_DIST_COLLECTIVEVERIFIER_H
#define TESSERA_DIALECTS_DIST_COLLECTIVEVERIFIER_H

#include "dialects/Dist/Dist.h"

namespace tessera::dist {

/// Checks C1 and C2 of every collective: axes, element types, and the result's
/// type or sharding.
mlir::LogicalResult verifyCollective(CollectiveOpInterface op);

/// Returns `type` with dimension `dim` multiplied by `mul` and divided by
/// `div`; null if it does not divide or there is no such dimension.
mlir::RankedTensorType resizeDim(mlir::RankedTensorType type, int64_t dim,
                                 int64_t mul, int64_t div);

} // namespace tessera::dist

#endif // TESSERA_DIALECTS_DIST_COLLECTIVEVERIFIER_H
