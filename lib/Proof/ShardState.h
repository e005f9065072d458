//===- ShardState.h - A device's share of a global value --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lattice of VerifyPartition: the global value that devices hold shards of,
// the block of each dimension, and the axes over which the shards are still to
// be reduced. Also has the effects of collectives on it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PROOF_SHARDSTATE_H
#define TESSERA_LIB_PROOF_SHARDSTATE_H

#include "Placements.h"
#include "dialects/Dist/Dist.h"
#include "llvm/Support/Error.h"
#include <limits>

namespace tessera {

/// Content of the padding of a dimension: the elements after its true size.
enum class PadContent : uint8_t {
  /// Not masked, or changed by an op.
  Any,
  Zero,
  Lowest,
  Highest,
  /// Computed by a body; may be neutral.
  Unknown
};

/// The padding content that leaves a reduction by `kind` unchanged.
PadContent getNeutralContent(ReductionKind kind);

struct DimState {
  Placements::Id placement = Placements::kWhole;
  /// True if the value does not vary along this dimension: any block equals any
  /// other, and `placement` has no meaning.
  bool uniform = false;
  PadContent padding = PadContent::Any;
  /// Number of true elements after a mask or appended zeros ended a value of
  /// any length (ReferenceValue::freeDims); -1 if it was not ended.
  int64_t trueSize = -1;
};

/// The state of a value of the local program, on all devices.
struct ShardState {
  /// Number of the global value; see ReferenceValues.
  int value = -1;
  llvm::SmallVector<DimState, 4> dims;
  /// Axes over which `reduction` must reduce to give the blocks; sorted and
  /// merged.
  AxisList unreduced;
  ReductionKind reduction = ReductionKind::Sum;
  /// Each device holds one of this many equal terms of a sum: summing over any
  /// axes with this many devices gives the blocks.
  int64_t share = 1;
  /// The value of an integer scalar on each device, if known.
  std::shared_ptr<const std::vector<int64_t>> numbers;

  bool isPartial() const { return !unreduced.empty(); }
};

/// Sorts and merges axes.
AxisList normalizeAxes(const Mesh &mesh, llvm::ArrayRef<AxisRef> axes);

/// Prints axes as `{"tp"}`.
std::string printAxes(const Mesh &mesh, llvm::ArrayRef<AxisRef> axes);

/// Explains how two placements of one dimension differ: "device 1 holds block 0
/// of 2 but needs block 1". They must differ.
std::string explainDifference(const Placements &placements, Placements::Id got,
                              Placements::Id needed);

/// For each device, the device whose value `op` sends to it.
std::vector<int32_t> getSources(dist::CollectivePermuteOp op,
                                Placements &placements);

/// Facts about the global value that a collective may use.
struct GlobalFacts {
  /// The number of blocks of a value of any length.
  static constexpr int64_t kAnyLength = std::numeric_limits<int64_t>::max();

  /// True if it equals its own sum over any devices.
  bool isZero = false;
  /// The number of blocks with true elements, per dimension. Later blocks may
  /// hold anything.
  llvm::SmallVector<int64_t, 4> numTrueBlocks;
};

/// The state of a collective's result, given the state of its operand. Fails if
/// the result is not a shard of a global value: the value is not partial over
/// the axes, or by another kind, or the gathered blocks are not contiguous.
llvm::Expected<ShardState> applyCollective(dist::CollectiveOpInterface op,
                                           const ShardState &operand,
                                           const GlobalFacts &facts,
                                           Placements &placements);

/// The same for `dist.to_partial`.
llvm::Expected<ShardState> applyToPartial(dist::ToPartialOp op,
                                          const ShardState &operand,
                                          Placements &placements);

/// True if the value was ended in some dimension.
bool hasEnds(const ShardState &state);

/// The first dimension in which `state` ends elsewhere than a tensor of `type`;
/// none if there is none.
std::optional<unsigned> findOtherEnd(const ShardState &state, mlir::Type type);

} // namespace tessera

#endif // TESSERA_LIB_PROOF_SHARDSTATE_H
