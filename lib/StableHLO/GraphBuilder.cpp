//===- GraphBuilder.cpp - Builds and folds ops on tensors -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphBuilder.h"

#include "mlir/IR/Matchers.h"
#include "tessera/Raise/Evaluate.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::stablehlo;

DenseElementsAttr tessera::stablehlo::getConstant(Value value) {
  DenseElementsAttr attr;
  return matchPattern(value, m_Constant(&attr)) ? attr : DenseElementsAttr();
}

Attribute tessera::stablehlo::getSplat(Value value) {
  DenseElementsAttr attr = getConstant(value);
  return attr && attr.isSplat() ? attr.getSplatValue<Attribute>() : Attribute();
}

std::optional<int64_t> tessera::stablehlo::getInteger(Value value) {
  DenseElementsAttr attr = getConstant(value);
  if (!attr || attr.getNumElements() != 1)
    return std::nullopt;
  auto integer = dyn_cast<IntegerAttr>(*attr.getValues<Attribute>().begin());
  if (!integer)
    return std::nullopt;
  return integer.getType().isInteger(1)
             ? int64_t(integer.getValue().getBoolValue())
             : integer.getValue().getSExtValue();
}

std::optional<int64_t> tessera::stablehlo::evaluateInteger(Value value) {
  RankedTensorType type = GraphBuilder::typeOf(value);
  if (type.getNumElements() != 1 || !isa<IntegerType>(type.getElementType()))
    return std::nullopt;
  if (std::optional<int64_t> integer = getInteger(value))
    return integer;
  interp::TensorRef tensor = evaluateConstant(value);
  if (!tensor)
    return std::nullopt;
  int64_t number = (*tensor)[0].i;
  return type.getElementType().isInteger(1) ? int64_t(number != 0) : number;
}

Value tessera::stablehlo::stripShape(Value x) {
  while (Operation *op = x.getDefiningOp()) {
    bool keeps = isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op);
    if (auto broadcast = dyn_cast<nn::BroadcastOp>(op))
      keeps = broadcast.getType().getNumElements() ==
              GraphBuilder::typeOf(broadcast.getX()).getNumElements();
    if (!keeps)
      break;
    x = op->getOperand(0);
  }
  return x;
}

Value GraphBuilder::constant(RankedTensorType type, Attribute element) {
  return make<arith::ConstantOp>(
      mlir::cast<TypedAttr>(Attribute(DenseElementsAttr::get(type, element))));
}

namespace {
/// How dimensions are merged and split again: groups of the fewest dimensions
/// with the same number of elements before and after.
///
///     4x6x5 -> 24x1x5:   {4, 6 -> 24, 1}, {5 -> 5}
struct Regrouping {
  SmallVector<ReassociationIndices> from, to;
  SmallVector<int64_t> merged;
};
} // namespace

static Regrouping regroup(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  Regrouping result;
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    ReassociationIndices left{int64_t(i)}, right{int64_t(j)};
    int64_t before = from[i++], after = to[j++];
    while (before != after)
      if (before < after)
        left.push_back(i), before *= from[i++];
      else
        right.push_back(j), after *= to[j++];
    result.from.push_back(left);
    result.to.push_back(right);
    result.merged.push_back(before);
  }
  // The remaining dimensions have size 1.
  for (; i < from.size(); ++i)
    result.from.back().push_back(i);
  for (; j < to.size(); ++j)
    result.to.back().push_back(j);
  return result;
}

Value GraphBuilder::reshape(Value x, ArrayRef<int64_t> shape) {
  RankedTensorType type = typeOf(x), after = type.clone(shape);
  if (type == after)
    return x;
  if (DenseElementsAttr attr = getConstant(x))
    return make<arith::ConstantOp>(
        mlir::cast<TypedAttr>(Attribute(attr.reshape(after))));
  if (type.getRank() == 0)
    return make<tensor::ExpandShapeOp>(after, x,
                                       ArrayRef<ReassociationIndices>());
  if (shape.empty())
    return make<tensor::CollapseShapeOp>(after, x,
                                         ArrayRef<ReassociationIndices>());
  Regrouping groups = regroup(type.getShape(), shape);
  RankedTensorType merged = type.clone(groups.merged);
  if (merged != type)
    x = make<tensor::CollapseShapeOp>(merged, x, groups.from);
  return merged == after ? x : make<tensor::ExpandShapeOp>(after, x, groups.to);
}

Value GraphBuilder::broadcast(Value x, ArrayRef<int64_t> shape,
                              ArrayRef<int64_t> dims) {
  RankedTensorType type = typeOf(x).clone(shape);
  if (typeOf(x) == type)
    return x;
  if (Attribute splat = getSplat(x))
    return constant(type, splat);
  return make<nn::BroadcastOp>(type, x, dims);
}

Value GraphBuilder::transpose(Value x, ArrayRef<int64_t> permutation) {
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return x;
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(typeOf(x).getDimSize(dim));
  RankedTensorType type = typeOf(x).clone(shape);
  if (Attribute splat = getSplat(x))
    return constant(type, splat);
  return make<nn::TransposeOp>(type, x, permutation);
}

Value GraphBuilder::slice(Value x, ArrayRef<int64_t> offsets,
                          ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides) {
  RankedTensorType type = typeOf(x).clone(sizes);
  if (type == typeOf(x))
    return x;
  if (Attribute splat = getSplat(x))
    return constant(type, splat);
  auto fixed = [&](ArrayRef<int64_t> values) {
    return getAsIndexOpFoldResult(b.getContext(), values);
  };
  return make<tensor::ExtractSliceOp>(type, x, fixed(offsets), fixed(sizes),
                                      fixed(strides));
}

Value tessera::stablehlo::padSide(GraphBuilder &b, Value x, Value value,
                                  int64_t dim, int64_t count, bool before) {
  SmallVector<int64_t> sizes(b.typeOf(x).getShape());
  if (count == 0)
    return x;
  if (count < 0) {
    SmallVector<int64_t> offsets(sizes.size(), 0), ones(sizes.size(), 1);
    offsets[dim] = before ? -count : 0;
    sizes[dim] += count;
    return b.slice(x, offsets, sizes, ones);
  }
  sizes[dim] = count;
  Value block = b.broadcast(value, sizes, {});
  Value both[] = {before ? block : x, before ? x : block};
  return b.make<tensor::ConcatOp>(dim, both);
}

Value tessera::stablehlo::dilate(GraphBuilder &b, Value x, Value value,
                                 int64_t dim, int64_t count) {
  SmallVector<int64_t> sizes(b.typeOf(x).getShape());
  int64_t size = sizes[dim];
  if (count == 0 || size <= 1)
    return x;
  // Each element is followed by a block; the last block goes.
  sizes.insert(sizes.begin() + dim + 1, 1);
  Value elements = b.reshape(x, sizes);
  sizes[dim + 1] = count;
  Value both[] = {elements, b.broadcast(value, sizes, {})};
  Value pairs = b.make<tensor::ConcatOp>(dim + 1, both);
  sizes.erase(sizes.begin() + dim + 1);
  sizes[dim] = size * (1 + count);
  return padSide(b, b.reshape(pairs, sizes), value, dim, -count,
                 /*before=*/false);
}
