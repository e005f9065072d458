//===- DelayPastUses.h - Delays reductions past several users ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A reduction with one use moves after it if that is no worse for the two
// alone. With several uses it would run several times there. That pays only if
// it merges with other reductions further on, so this pass follows all ops that
// are linear in the value and counts the total.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PARTITION_DELAYPASTUSES_H
#define TESSERA_LIB_PARTITION_DELAYPASTUSES_H

#include "PartitionContext.h"

namespace tessera {

/// Adds axes to existing ones; of two sub-axes of one axis the larger one
/// stays. Returns false if two of them overlap without one containing the
/// other: no list of axes represents both.
bool uniteAxes(AxisList &axes, llvm::ArrayRef<AxisRef> added);

/// Returns the sharding after reducing `from` only over the axes that shard
/// `to`: partial over the others. Returns `from` itself if no partial axis
/// shards `to`.
Sharding getScattered(const Sharding &from, const Sharding &to);

/// Tries to delay each sum over devices in `block` that several ops use, in
/// order. Emits a remark for each one that moves.
void delayPastUses(PartitionContext &context, mlir::Block &block);

} // namespace tessera

#endif // TESSERA_LIB_PARTITION_DELAYPASTUSES_H
