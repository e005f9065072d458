//===- RingSteps.h - The steps of an attention around a ring ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps that an attention around a ring takes and the chunks that a device
// receives in them, computed from its op. The expansion of the op takes these
// steps, the list of collectives that must come of it and reports have the
// transfers.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RINGS_RINGSTEPS_H
#define TESSERA_RINGS_RINGSTEPS_H

#include "dialects/Dist/Dist.h"

namespace tessera {

/// The steps of an attention around a ring.
struct RingSteps {
  /// Devices of the ring, and keys of a chunk.
  int64_t count = 0, size = 0;
  /// Each step after the first is two attentions of halves of chunks.
  bool isZigzag = false;
  /// Gradients of a step have the operands' type: they are not in f32 before
  /// two are added.
  bool roundsGradients = false;
  /// Steps in which a query of some device sees a key, the first one 0; in step
  /// s a device has the chunk of the device s before it.
  llvm::SmallVector<int64_t> steps;

  /// The distance that the chunk travels from the step before.
  int64_t getDistance(unsigned number) const {
    return steps[number] - steps[number - 1];
  }
};

/// Returns the steps that the expansion of `op` has on its target.
RingSteps getRingSteps(dist::RingAttentionOp op);

/// All transfers of a ring, in order: keys and values for each step but the
/// first, and in the backward the sums of their gradients, which end at the
/// owner of the chunk. Sums are in f32 at least. Each has the gather of the
/// region that has the chunk, or the scatter that has its gradient.
std::vector<dist::Transfer> getRingTransfers(dist::RingAttentionOp op);

/// Gives `dist.ring_attention` its transfers: counts and prices of collectives
/// then have these in place of the collectives of its region.
void registerRingTransfers(mlir::DialectRegistry &registry);

} // namespace tessera

#endif // TESSERA_RINGS_RINGSTEPS_H
