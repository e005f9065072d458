//===- DelayPastUses.h - Reductions that several ops wait for ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A reduction with one use moves after it where that is no worse for the two
// alone. With several uses it would be done several times there, which pays
// only if further on other reductions take it with them: so this looks along
// everything that is linear in the value and counts the whole.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PARTITION_DELAYPASTUSES_H
#define TESSERA_LIB_PARTITION_DELAYPASTUSES_H

#include "PartitionContext.h"

namespace tessera {

/// Adds axes to those that are there, the larger of two parts of one axis.
/// False: two of them overlap and neither holds the other, and no list of axes
/// stands for both.
bool uniteAxes(AxisList &axes, llvm::ArrayRef<AxisRef> added);

/// What is left of `from` once it is reduced over those axes alone that shard
/// `to`: partial over the others. `from` itself if no partial axis shards `to`.
Sharding getScattered(const Sharding &from, const Sharding &to);

/// Tries to delay each sum over devices in `block` that several ops use, in
/// order. Gives a remark for each that is moved.
void delayPastUses(PartitionContext &context, mlir::Block &block);

} // namespace tessera

#endif // TESSERA_LIB_PARTITION_DELAYPASTUSES_H
