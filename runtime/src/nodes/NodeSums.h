//===- NodeSums.h - Sums that go from node to node --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum over several members on each of several nodes. If every member read all
// operands, each operand of a node would cross the network. Here a partial sum
// does: the first node adds its members' operands, each further node adds its
// own to what comes from the node before, and the last one has the result. The
// order is that of one sum over all members, and so are the bits; 16-bit floats
// travel in f32 until they are rounded at the end.
//
// Members share the work. The i-th members of all nodes are a column, which
// sums a share of the elements: of an all_reduce the i-th chunk, of a
// reduce_scatter the blocks of the column's members. A share goes in pieces, so
// that all nodes work at the same time. The result of an all_reduce comes back
// the same way, node by node, and members of a node read it from each other; a
// block of a reduce_scatter goes to its member at once.
//
// The members of a column are counterparts, so pieces arrive in the process of
// the rank that they are for. Partial sums wait there in a queue: a place of
// their sender's memory may be in use, as its source is if it is also gathered.
// Results appear in their sender's destination, which no other operation uses,
// and a counter in its entry says how many elements have come.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_NODESUMS_H
#define TESSERA_RT_SRC_NODESUMS_H

#include "ranks/Context.h"

namespace tessera::rt {

/// Says whether `op` is a sum that goes from node to node, which has its group
/// ordered by nodes, ranks of the same local numbers on each, and sends so much
/// less that more steps pay. All members decide alike.
NodeSum findNodeSum(const Placement &place, const Operation &op);

/// Adds and passes on what has come. Sets `missing` to the member that it waits
/// for, or to -1 when this rank's share is done: then the result of its share
/// of an all_reduce, or of a reduce_scatter its block, is in its destination.
/// `sources` are the operands by group index; those of this node are read.
Status advanceNodeSum(tessera_rt_context *ctx, int32_t slot, Operation &op,
                      const uint8_t *const *sources, int &missing);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_NODESUMS_H
