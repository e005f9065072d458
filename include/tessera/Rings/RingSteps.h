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

/// A chunk that each device sends to the one `distance` after it.
struct RingTransfer {
  /// The gather of the region that has the chunk, of keys or of values, or the
  /// scatter that has its gradient.
  dist::CollectiveOpInterface op;
  /// A device's chunk in the elements that are sent.
  mlir::RankedTensorType chunk;
  int64_t distance = 0;
};

/// All transfers of a ring, in order: keys and values for each step but the
/// first, and in the backward the sums of their gradients, which end at the
/// owner of the chunk. Sums are in f32 at least.
llvm::SmallVector<RingTransfer> getRingTransfers(dist::RingAttentionOp op);

} // namespace tessera

#endif // TESSERA_RINGS_RINGSTEPS_H
