//===- ReplicatedOps.h - Regions that run whole on each device --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An op with regions and without a sharding rule is replicated: on each device
// it is the reference's op, region by region, on values that each device has
// whole. This needs no knowledge of its computation.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PROOF_REPLICATEDOPS_H
#define TESSERA_LIB_PROOF_REPLICATEDOPS_H

#include "OpMatcher.h"

namespace tessera {

/// The states of the results of `op`, an op with regions, if it does the same
/// on every device: the states from an op of the reference, or from its
/// operands if there is no reference (`isAlone`). None otherwise.
std::optional<llvm::SmallVector<ShardState>>
matchReplicated(mlir::Operation *op, ReferenceValues &reference,
                const StateMap &states, bool isAlone);

} // namespace tessera

#endif // TESSERA_LIB_PROOF_REPLICATEDOPS_H
