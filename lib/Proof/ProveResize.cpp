//===- ProveResize.cpp - Slices and zeros that only move padding ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A slice that keeps all true elements at their positions, or a concatenation
// with zeros after them, is the same value with other padding. The dimension
// must be whole on each device.
//
//===----------------------------------------------------------------------===//

#include "PartitionProver.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tessera;

/// True if the first `size` elements of a dimension of `state` on each device
/// include all its true ones.
bool PartitionProver::holdsAll(const ShardState &state, unsigned dim,
                               int64_t size) const {
  const DimState &mine = state.dims[dim];
  const ReferenceValue &value = reference.getValue(state.value);
  // A value without a size of its own may end anywhere, unless it was ended.
  if (value.freeDims.test(dim))
    return mine.uniform ||
           (mine.placement == Placements::kWhole && size >= mine.trueSize);
  int64_t trueSize = cast<RankedTensorType>(value.type).getDimSize(dim);
  return (mine.uniform || mine.placement == Placements::kWhole) &&
         size >= trueSize;
}

std::optional<ShardState> PartitionProver::trim(tensor::ExtractSliceOp op) {
  const ShardState &state = states.getWithEnds(op.getSource());
  RankedTensorType from = op.getSourceType(), to = op.getType();
  auto beginsAtFirst = [](std::tuple<int64_t, int64_t> offset) {
    auto [begin, size] = offset;
    return begin == 0 || size == 0;
  };
  if (state.value < 0 || from.getRank() != to.getRank() ||
      !llvm::all_of(llvm::zip(op.getStaticOffsets(), from.getShape()),
                    beginsAtFirst) ||
      !op.hasUnitStride())
    return std::nullopt;
  for (int64_t dim = 0; dim < from.getRank(); ++dim)
    if (from.getDimSize(dim) != to.getDimSize(dim) &&
        !holdsAll(state, dim, to.getDimSize(dim)))
      return std::nullopt;
  return state;
}

std::optional<ShardState> PartitionProver::append(tensor::ConcatOp op) {
  Value first = op.getInputs().front();
  const ShardState &state = states.getWithEnds(first);
  unsigned dim = op.getDim();
  int64_t size = cast<RankedTensorType>(first.getType()).getDimSize(dim);
  auto isZero = [&](Value value) {
    // A mask may put any value after the end.
    const ShardState &zero = states.getWithEnds(value);
    if (zero.value < 0 || hasEnds(zero))
      return false;
    if (reference.getValue(zero.value).isEmpty)
      return true;
    const ConstantValue &constant = reference.getValue(zero.value).constant;
    if (!constant.isSplat)
      return false;
    auto real = dyn_cast<FloatAttr>(constant.value);
    auto integer = dyn_cast<IntegerAttr>(constant.value);
    return real ? real.getValue().isPosZero()
                : integer && integer.getValue().isZero();
  };
  if (state.value < 0 || !holdsAll(state, dim, size) ||
      !llvm::all_of(llvm::drop_begin(op.getInputs()), isZero))
    return std::nullopt;
  ShardState made = state;
  DimState &mine = made.dims[dim];
  const ReferenceValue &value = reference.getValue(state.value);
  bool isFree = value.freeDims.test(dim);
  int64_t trueSize =
      isFree ? mine.uniform || mine.trueSize < 0 ? size : mine.trueSize
             : cast<RankedTensorType>(value.type).getDimSize(dim);
  // A uniform dimension ends here.
  if (isFree)
    mine.trueSize = trueSize;
  bool wasZero = !mine.uniform && mine.padding == PadContent::Zero;
  mine.padding =
      size == trueSize || wasZero ? PadContent::Zero : PadContent::Any;
  mine.uniform = false;
  mine.placement = Placements::kWhole;
  return made;
}

std::optional<ShardState> PartitionProver::resize(Operation *op) {
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return trim(slice);
  if (auto concat = dyn_cast<tensor::ConcatOp>(op))
    return append(concat);
  return std::nullopt;
}
