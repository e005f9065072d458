//===- Meeting.h - A rank's side of meets with other nodes ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks talk to the agent of their node through the node's block in shared
// memory; see NodeBlock.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_MEETING_H
#define TESSERA_RT_SRC_MEETING_H

#include "ranks/Context.h"

namespace tessera::rt {

/// Waits until the nodes have found each other, and connects this rank with its
/// counterparts. Does nothing if all ranks are on one node. All ranks call it.
Status openNodes(tessera_rt_context *ctx, double patience);

/// Meets the other nodes; see barrier. The first rank of a node calls it, when
/// all ranks of its node have arrived.
Status meetNodes(tessera_rt_context *ctx, BarrierId id,
                 const StepExchange *exchange);

/// Says that this rank has waited `waited` seconds in `what`, for a rank, for
/// other nodes or for devices, and waits for the root's verdict. Returns
/// TESSERA_RT_OK if none comes.
Status complain(tessera_rt_context *ctx, int32_t missing, double waited,
                const std::string &what);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_MEETING_H
