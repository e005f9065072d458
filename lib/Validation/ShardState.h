//===- ShardState.h - What a device's value is of a global one --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lattice of VerifyPartition: of which global value a device holds a part,
// which block of each dimension, and over which axes the parts are yet to be
// reduced. The collectives' effect on it is here too.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_VALIDATION_SHARDSTATE_H
#define TESSERA_LIB_VALIDATION_SHARDSTATE_H

#include "Placements.h"
#include "dialects/Dist/Dist.h"
#include "llvm/Support/Error.h"

namespace tessera {

/// What is known of the padding of a dimension, the elements after its true
/// size.
enum class PadContent : uint8_t {
  /// It was not masked, or an op has made something else of it.
  Any,
  Zero,
  Lowest,
  Highest,
  /// What a body has made of it, which may be neutral.
  Unknown
};

/// The content that `kind` leaves a result alone with.
PadContent getNeutralContent(ReductionKind kind);

struct DimState {
  Placements::Id placement = Placements::kWhole;
  /// The value does not change along this dimension: any block of it is any
  /// other, and `placement` says nothing.
  bool uniform = false;
  PadContent padding = PadContent::Any;
  /// Number of true elements after a mask or appended zeros ended a value that
  /// is of any length (ReferenceValue::freeDims); -1: nothing ended it.
  int64_t trueSize = -1;
};

/// One value of the local program, on all devices.
struct ShardState {
  /// Number of the global value; see ReferenceValues.
  int value = -1;
  llvm::SmallVector<DimState, 4> dims;
  /// Sorted and merged: reducing over these axes by `reduction` gives the
  /// blocks.
  AxisList unreduced;
  ReductionKind reduction = ReductionKind::Sum;
  /// Each device holds one of so many equal parts of a sum: summing over any
  /// axes of so many devices gives the blocks.
  int64_t share = 1;
  /// Of an integer scalar: its value on each device, where it is known.
  std::shared_ptr<const std::vector<int64_t>> numbers;

  bool isPartial() const { return !unreduced.empty(); }
};

/// Sorted and merged.
AxisList normalizeAxes(const Mesh &mesh, llvm::ArrayRef<AxisRef> axes);

/// `{"tp"}`.
std::string printAxes(const Mesh &mesh, llvm::ArrayRef<AxisRef> axes);

/// Why two placements of one dimension differ: "device 1 holds block 0 of 2 but
/// needs block 1". They must.
std::string explainDifference(const Placements &placements, Placements::Id got,
                              Placements::Id needed);

/// For each device the one whose value `op` gives it.
std::vector<int32_t> getSources(dist::CollectivePermuteOp op,
                                Placements &placements);

/// What a collective may make use of that holds of the whole value.
struct GlobalFacts {
  /// It is its own sum over any devices.
  bool isZero = false;
  /// Of each dimension: in how many of the blocks true elements are.
  /// Those after them may hold anything.
  llvm::SmallVector<int64_t, 4> numTrueBlocks;
};

/// The state of a collective's result, given its operand's. An error if the
/// result is no part of a global value, as the value is not partial over the
/// axes, or by another kind, or the blocks that are put together do not follow
/// each other.
llvm::Expected<ShardState> applyCollective(dist::CollectiveOpInterface op,
                                           const ShardState &operand,
                                           const GlobalFacts &facts,
                                           Placements &placements);

/// The same of `dist.to_partial`.
llvm::Expected<ShardState> applyToPartial(dist::ToPartialOp op,
                                          const ShardState &operand,
                                          Placements &placements);

} // namespace tessera

#endif // TESSERA_LIB_VALIDATION_SHARDSTATE_H
