//===- ConvertShapes.cpp - Constants, positions and changes of shape ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Converter.h"
#include "Indices.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::stablehlo;

static LogicalResult convertConstant(OpConversion &c) {
  Attribute value = getSourceAttr(c.op, "value");
  if (!isa_and_nonnull<DenseElementsAttr, DenseResourceElementsAttr>(value))
    return c.error() << "expects dense elements as value";
  auto elements = dyn_cast<DenseElementsAttr>(value);
  if (elements && c.makesUnsigned())
    value = elements.bitcast(c.resultType().getElementType());
  return c.yield(c.b.make<arith::ConstantOp>(cast<TypedAttr>(value)));
}

static LogicalResult convertIota(OpConversion &c) {
  RankedTensorType type = c.resultType();
  auto dim = c.getDim("iota_dimension", type.getRank());
  if (failed(dim))
    return failure();
  Type element = type.getElementType();
  auto counts = RankedTensorType::get(
      type.getDimSize(*dim),
      isa<FloatType>(element) ? c.b.b.getI32Type() : element);
  Value iota = c.b.make<nn::IotaOp>(counts, Value(), nn::ZigzagAttr());
  if (isa<FloatType>(element))
    iota = c.b.make<arith::SIToFPOp>(counts.clone(element), iota);
  return c.yield(c.b.broadcast(iota, type.getShape(), *dim));
}

//===----------------------------------------------------------------------===//
// Broadcasts, transposes, reshapes
//===----------------------------------------------------------------------===//

/// Dimension i becomes `dims[i]`, which has the same size, or a larger one than
/// 1.
static LogicalResult convertBroadcastInDim(OpConversion &c) {
  auto dims = c.getIntegers("broadcast_dimensions");
  if (failed(dims))
    return failure();
  RankedTensorType from = c.operandType(0), to = c.resultType();
  if (int64_t(dims->size()) != from.getRank())
    return c.error() << "expects broadcast_dimensions for each of "
                     << from.getRank() << " dimensions but got "
                     << dims->size();
  if (failed(c.checkDims(*dims, to.getRank(), "broadcast_dimensions")))
    return failure();
  // Drops the repeated dimensions, then sorts the others.
  SmallVector<int64_t> kept, shape;
  for (auto [size, dim] : llvm::zip_equal(from.getShape(), *dims)) {
    if (size != 1 && size != to.getDimSize(dim))
      return c.error() << "expects dimensions of size 1 or that of the result "
                          "but got "
                       << from << " and " << to;
    if (size == to.getDimSize(dim)) {
      kept.push_back(dim);
      shape.push_back(size);
    }
  }
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, kept.size()));
  llvm::sort(order, [&](int64_t i, int64_t j) { return kept[i] < kept[j]; });
  Value x = c.b.transpose(c.b.reshape(c.operands[0], shape), order);
  llvm::sort(kept);
  return c.yield(c.b.broadcast(x, to.getShape(), kept));
}

static LogicalResult convertTranspose(OpConversion &c) {
  auto permutation = c.getIntegers("permutation");
  int64_t rank = c.operandType(0).getRank();
  if (failed(permutation) ||
      failed(c.checkDims(*permutation, rank, "permutation")))
    return failure();
  if (int64_t(permutation->size()) != rank)
    return c.error() << "expects a permutation of " << rank
                     << " dimensions but got " << permutation->size();
  return c.yield(c.b.transpose(c.operands[0], *permutation));
}

static LogicalResult convertReshape(OpConversion &c) {
  RankedTensorType to = c.resultType();
  if (to.getNumElements() != c.operandType(0).getNumElements())
    return c.error() << "expects as many elements as " << c.operandType(0)
                     << " but got " << to;
  return c.yield(c.b.reshape(c.operands[0], to.getShape()));
}

//===----------------------------------------------------------------------===//
// Parts of tensors
//===----------------------------------------------------------------------===//

static LogicalResult convertSlice(OpConversion &c) {
  auto lists = c.getIntegers({"start_indices", "limit_indices", "strides"});
  if (failed(lists))
    return failure();
  const auto &[starts, limits, strides] = *lists;
  ArrayRef<int64_t> shape = c.operandType(0).getShape();
  if (starts.size() != shape.size() || limits.size() != shape.size() ||
      strides.size() != shape.size())
    return c.error() << "expects bounds of " << shape.size() << " dimensions";
  SmallVector<int64_t> sizes;
  for (auto [start, limit, stride, size] :
       llvm::zip_equal(starts, limits, strides, shape)) {
    if (start < 0 || limit <= start || limit > size || stride < 1)
      return c.error() << "expects a slice inside " << c.operandType(0)
                       << " but got " << start << " to " << limit << " by "
                       << stride;
    sizes.push_back(llvm::divideCeil(limit - start, stride));
  }
  return c.yield(c.b.slice(c.operands[0], starts, sizes, strides));
}

static LogicalResult convertReverse(OpConversion &c) {
  auto dims = c.getIntegers("dimensions");
  RankedTensorType type = c.operandType(0);
  if (failed(dims) || failed(c.checkDims(*dims, type.getRank(), "dimensions")))
    return failure();
  Value x = c.operands[0];
  for (int64_t dim : *dims) {
    int64_t size = type.getDimSize(dim);
    if (failed(checkLookUp(c, x, size, size)))
      return failure();
    x = reverse(c.b, x, dim);
  }
  return c.yield(x);
}

static LogicalResult convertConcatenate(OpConversion &c) {
  if (c.operands.empty())
    return c.error() << "expects an operand";
  RankedTensorType first = c.operandType(0);
  auto dim = c.getDim("dimension", first.getRank());
  if (failed(dim))
    return failure();
  SmallVector<int64_t> shape(first.getShape());
  shape[*dim] = 0;
  for (Value operand : c.operands) {
    RankedTensorType type = c.b.typeOf(operand);
    if (type.getRank() != first.getRank())
      return c.error() << "expects tensors that differ in one size";
    shape[*dim] += type.getDimSize(*dim);
    SmallVector<int64_t> other(type.getShape());
    other[*dim] = first.getDimSize(*dim);
    if (first.clone(other) != first ||
        first.getElementType() != type.getElementType())
      return c.error() << "expects tensors that differ in one size but got "
                       << first << " and " << type;
  }
  if (first.clone(shape) != c.resultType())
    return c.error() << "expects a result of " << first.clone(shape)
                     << " but got " << c.resultType();
  if (c.operands.size() == 1)
    return c.yield(c.operands[0]);
  return c.yield(c.b.make<tensor::ConcatOp>(*dim, c.operands));
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

/// Larger paddings make no valid tensor.
static constexpr int64_t kMaxPadding = int64_t(1) << 48;

static LogicalResult convertPad(OpConversion &c) {
  auto lists = c.getIntegers(
      {"edge_padding_low", "edge_padding_high", "interior_padding"});
  if (failed(lists))
    return failure();
  const auto &[low, high, interior] = *lists;
  ArrayRef<int64_t> shape = c.operandType(0).getShape();
  if (low.size() != shape.size() || high.size() != shape.size() ||
      interior.size() != shape.size() ||
      llvm::any_of(interior,
                   [](int64_t n) { return n < 0 || n > kMaxPadding; }) ||
      c.operandType(1) != c.operandType(0).clone(ArrayRef<int64_t>()))
    return c.error() << "expects padding of " << shape.size()
                     << " dimensions by one element";
  Value x = c.operands[0];
  for (auto [dim, before, after, between] :
       llvm::enumerate(low, high, interior)) {
    int64_t size = shape[dim];
    if (between > kMaxPadding / size)
      return c.error() << "expects at most 2^48 elements between others";
    size += (size - 1) * between;
    if (std::max(before, after) > kMaxPadding ||
        std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0) <= -size)
      return c.error() << "expects padding that leaves elements but got "
                       << before << " and " << after << " of " << size;
    x = dilate(c.b, x, c.operands[1], dim, between);
    x = padSide(c.b, x, c.operands[1], dim, before, /*before=*/true);
    x = padSide(c.b, x, c.operands[1], dim, after, /*before=*/false);
  }
  return c.yield(x);
}

void tessera::stablehlo::addShapeHandlers(HandlerTable &t) {
  t.add("stablehlo.constant", 0, convertConstant);
  t.add("stablehlo.iota", 0, convertIota);
  t.add("stablehlo.broadcast_in_dim", 1, convertBroadcastInDim);
  t.add("stablehlo.transpose", 1, convertTranspose);
  t.add("stablehlo.reshape", 1, convertReshape);
  t.add("stablehlo.slice", 1, convertSlice);
  t.add("stablehlo.reverse", 1, convertReverse);
  t.add("stablehlo.concatenate", HandlerTable::kAny, convertConcatenate);
  t.add("stablehlo.pad", 2, convertPad);
}
