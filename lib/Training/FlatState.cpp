//===- FlatState.cpp - State with indivisible sizes -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Training/FlatState.h"
#include "StateSharding.h"
#include "dialects/NN/NN.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;

/// Splits the sharded dimensions. `kept`: for each dimension of `split` that is
/// not to be merged, its sharding in use.
void FlatState::splitDims(const Sharding &used,
                          SmallVectorImpl<std::optional<DimSharding>> &kept) {
  bool isEven = true;
  auto add = [&](int64_t size, std::optional<DimSharding> sharding) {
    splitGroups.back().push_back(split.size());
    split.push_back(size);
    kept.push_back(std::move(sharding));
  };
  for (auto [size, dim] : llvm::zip_equal(logical, used.dims)) {
    splitGroups.emplace_back();
    int64_t shards = numShards(dim.axes);
    bool divides = size % shards == 0;
    isEven &= divides;
    tiles.push_back(divides ? shards : 1);
    if (!divides) {
      add(size, dim);
      continue;
    }
    if (shards > 1)
      add(shards, dim);
    add(size / shards, std::nullopt);
  }
  for (bool keeps : {true, false})
    for (unsigned dim = 0; isEven && dim < split.size(); ++dim)
      if (kept[dim].has_value() == keeps)
        order.push_back(dim);
  if (!isEven)
    order = llvm::to_vector(llvm::seq<int64_t>(0, split.size()));
  ordered = applyPermutation(split, order);
  kept = applyPermutation(ArrayRef(kept), order);
}

std::optional<FlatState> FlatState::get(ArrayRef<int64_t> shape,
                                        const Sharding &inUse,
                                        ArrayRef<AxisRef> axes) {
  Sharding even = inUse;
  if (axes.empty() || overlapsAny(inUse.dimAxes(), axes) ||
      shardEvenly(axes, even, shape))
    return std::nullopt;
  FlatState layout;
  layout.logical.assign(shape.begin(), shape.end());
  SmallVector<std::optional<DimSharding>> kept;
  layout.splitDims(inUse, kept);
  for (auto [i, size] : llvm::enumerate(layout.ordered)) {
    bool joins = i > 0 && !kept[i] && !kept[i - 1];
    if (!joins) {
      layout.storedGroups.emplace_back();
      layout.stored.push_back(1);
      layout.inUse.dims.push_back(kept[i].value_or(DimSharding()));
    }
    layout.storedGroups.back().push_back(i);
    layout.stored.back() *= size;
  }
  std::optional<unsigned> best;
  auto padded = [&](int64_t size) {
    return static_cast<int64_t>(llvm::alignTo(size, numShards(axes)));
  };
  for (auto [i, size] : llvm::enumerate(layout.stored)) {
    if (kept[layout.storedGroups[i].front()])
      continue;
    // Chooses the least share of padding; the first of equal ones.
    auto waste = [&](int64_t s) {
      return static_cast<double>(padded(s)) / static_cast<double>(s);
    };
    if (!best || waste(size) < waste(layout.stored[*best]))
      best = i;
  }
  if (!best)
    return std::nullopt;
  layout.paddedDim = *best;
  layout.paddedSize = padded(layout.stored[*best]);
  layout.inUse.replicated = inUse.replicated;
  layout.sharding = layout.inUse;
  layout.sharding.dims[*best].axes.append(axes.begin(), axes.end());
  layout.sharding.dims[*best].priority = kStatePriority;
  return layout;
}

RankedTensorType FlatState::getType(Type element) const {
  SmallVector<int64_t> shape = stored;
  shape[paddedDim] = paddedSize;
  return RankedTensorType::get(shape, element);
}

SmallVector<NamedAttribute> FlatState::getAttributes(Builder &b) const {
  SmallVector<NamedAttribute> attributes{
      b.getNamedAttr(nn::NNDialect::kStoredShapeAttr,
                     b.getDenseI64ArrayAttr(stored)),
      b.getNamedAttr(nn::NNDialect::kLogicalShapeAttr,
                     b.getDenseI64ArrayAttr(logical))};
  if (isPermuted())
    attributes.push_back(b.getNamedAttr(nn::NNDialect::kTilesAttr,
                                        b.getDenseI64ArrayAttr(tiles)));
  return attributes;
}

/// The index among tiles of an element of the logical shape.
static int64_t getStoredIndex(int64_t index, ArrayRef<int64_t> logical,
                              ArrayRef<int64_t> tiles) {
  int64_t tile = 0, within = 0, numTiles = 1, tileSize = 1;
  for (int64_t dim = logical.size() - 1; dim >= 0; --dim) {
    int64_t extent = logical[dim] / tiles[dim], at = index % logical[dim];
    index /= logical[dim];
    tile += at / extent * numTiles;
    within += at % extent * tileSize;
    numTiles *= tiles[dim];
    tileSize *= extent;
  }
  return tile * tileSize + within;
}

std::optional<std::vector<int64_t>>
tessera::getFlatIndices(FunctionOpInterface func, unsigned number) {
  auto get = [&](StringRef name) {
    auto attr = func.getArgAttrOfType<DenseI64ArrayAttr>(number, name);
    return attr ? attr.asArrayRef() : ArrayRef<int64_t>();
  };
  ArrayRef<int64_t> stored = get(nn::NNDialect::kStoredShapeAttr),
                    logical = get(nn::NNDialect::kLogicalShapeAttr),
                    tiles = get(nn::NNDialect::kTilesAttr);
  if (stored.empty())
    return std::nullopt;
  auto type = cast<RankedTensorType>(func.getArgumentTypes()[number]);
  SmallVector<int64_t> strides = computeStrides(stored),
                       paddedStrides = computeStrides(type.getShape());
  std::vector<int64_t> indices(computeProduct(stored));
  for (auto [i, index] : llvm::enumerate(indices)) {
    int64_t stored = tiles.empty() ? i : getStoredIndex(i, logical, tiles);
    index = linearize(delinearize(stored, strides), paddedStrides);
  }
  return indices;
}

bool FlatState::isPermuted() const { return !isIdentityPermutation(order); }

Value FlatState::flatten(OpBuilder &b, Location loc, Value value) const {
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  if (split.size() != logical.size())
    value = tensor::ExpandShapeOp::create(
        b, loc, RankedTensorType::get(split, element), value, splitGroups);
  if (isPermuted())
    value = nn::TransposeOp::create(
        b, loc, RankedTensorType::get(ordered, element), value, order);
  if (stored.size() != ordered.size())
    value = tensor::CollapseShapeOp::create(
        b, loc, RankedTensorType::get(stored, element), value, storedGroups);
  if (paddedSize == stored[paddedDim])
    return value;
  SmallVector<int64_t> shape = stored;
  shape[paddedDim] = paddedSize - stored[paddedDim];
  auto zeros = RankedTensorType::get(shape, element);
  Value padding =
      arith::ConstantOp::create(b, loc, cast<TypedAttr>(b.getZeroAttr(zeros)));
  return tensor::ConcatOp::create(b, loc, getType(element), paddedDim,
                                  ValueRange{value, padding});
}

Value FlatState::unflatten(OpBuilder &b, Location loc, Value value) const {
  auto type = cast<RankedTensorType>(value.getType());
  Type element = type.getElementType();
  if (paddedSize != stored[paddedDim]) {
    SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)),
        sizes = getAsIndexOpFoldResult(b.getContext(), stored),
        strides(type.getRank(), b.getIndexAttr(1));
    value = tensor::ExtractSliceOp::create(
        b, loc, RankedTensorType::get(stored, element), value, offsets, sizes,
        strides);
  }
  if (stored.size() != ordered.size())
    value = tensor::ExpandShapeOp::create(
        b, loc, RankedTensorType::get(ordered, element), value, storedGroups);
  if (isPermuted())
    value =
        nn::TransposeOp::create(b, loc, RankedTensorType::get(split, element),
                                value, invertPermutationVector(order));
  if (split.size() != logical.size())
    value = tensor::CollapseShapeOp::create(
        b, loc, RankedTensorType::get(logical, element), value, splitGroups);
  return value;
}
