//===- ReplicatedOps.h - Regions that run whole on each device --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An op that has regions and no sharding rule is replicated: on each device it
// is the reference's op, region by region, on values that each device has
// whole. Nothing need be known of what it computes.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_VALIDATION_REPLICATEDOPS_H
#define TESSERA_LIB_VALIDATION_REPLICATEDOPS_H

#include "OpMatcher.h"

namespace tessera {

/// The states of the results of `op`, an op with regions, if it is known to do
/// the same on every device: that of an op of the reference, or, if there is
/// no reference (`isAlone`), what its operands say. None if it is not.
std::optional<llvm::SmallVector<ShardState>>
matchReplicated(mlir::Operation *op, ReferenceValues &reference,
                const StateMap &states, bool isAlone);

} // namespace tessera

#endif // TESSERA_LIB_VALIDATION_REPLICATEDOPS_H
