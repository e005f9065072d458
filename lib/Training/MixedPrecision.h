//===- MixedPrecision.h - Copies a forward in narrower types ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to lib/Training: copies the ops of a forward function for a fraction
// of the batch, in the element types of a precision policy.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRAINING_MIXEDPRECISION_H
#define TESSERA_LIB_TRAINING_MIXEDPRECISION_H

#include "FollowBatch.h"
#include "mlir/IR/IRMapping.h"

namespace tessera {

/// Copies the ops of a split to the builder's insertion point. `mapping` has
/// the copies of arguments and gets the copies of results. If the copy of an
/// argument has another float type, dependent ops work in that type, except for
/// results that the op cannot produce in it.
mlir::LogicalResult copyForward(mlir::OpBuilder &builder,
                                const BatchSplit &split,
                                mlir::IRMapping &mapping);

} // namespace tessera

#endif // TESSERA_LIB_TRAINING_MIXEDPRECISION_H
