//===- ConvertBlocks.cpp - Blocks at run-time offsets ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block whose offsets follow from constants is a slice. Along a dimension
// with another offset it has the rows from there on, and a block that is
// written replaces the elements whose positions are in it. Offsets are clamped,
// so that the block is inside of the tensor.
//
//===----------------------------------------------------------------------===//

#include "Converter.h"
#include "Indices.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::stablehlo;

namespace {
/// A block of a tensor.
struct TensorBlock {
  /// The offset of a dimension that is known; 0 for others.
  SmallVector<int64_t> offsets;
  SmallVector<int64_t> sizes;
  /// The dimensions with an offset that is computed at run time, which is a
  /// number in range; they are longer than the block.
  SmallVector<std::pair<int64_t, Value>> dynamic;
};
} // namespace

/// The block of `sizes` in a tensor of `shape`, at the operands from `first`
/// on.
static FailureOr<TensorBlock> findBlock(OpConversion &c, unsigned first,
                                        ArrayRef<int64_t> shape,
                                        ArrayRef<int64_t> sizes) {
  if (c.operands.size() != first + shape.size() || sizes.size() != shape.size())
    return c.error() << "expects an offset for each of " << shape.size()
                     << " dimensions";
  TensorBlock block;
  block.sizes.assign(sizes.begin(), sizes.end());
  for (auto [dim, size, part] : llvm::enumerate(shape, sizes)) {
    if (part < 1 || part > size)
      return c.error() << "expects a block inside the tensor but got " << part
                       << " of " << size;
    RankedTensorType type = c.operandType(first + dim);
    if (type.getRank() != 0 || !isa<IntegerType>(type.getElementType()))
      return c.error() << "expects integers as offsets but got " << type;
    Value start = c.positions(first + dim);
    std::optional<int64_t> offset = evaluateInteger(start);
    block.offsets.push_back(
        std::clamp<int64_t>(offset.value_or(0), 0, size - part));
    if (!offset && part != size)
      block.dynamic.push_back(
          {dim,
           widenIndex(c.b, clampIndex(c.b, start, size - part + 1), size)});
  }
  return block;
}

/// The positions from `start` on.
static Value countFrom(GraphBuilder &b, Value start, int64_t count) {
  Value steps = countTo(b, count, start);
  return b.fold<arith::AddIOp>(b.broadcast(start, {count}, {}), steps);
}

static LogicalResult convertDynamicSlice(OpConversion &c) {
  auto sizes = c.getIntegers("slice_sizes");
  if (failed(sizes) || c.operands.empty())
    return failure();
  ArrayRef<int64_t> shape = c.operandType(0).getShape();
  auto block = findBlock(c, 1, shape, *sizes);
  if (failed(block))
    return failure();
  SmallVector<int64_t> ones(shape.size(), 1), fixed(block->sizes);
  for (auto [dim, start] : block->dynamic)
    fixed[dim] = shape[dim];
  Value x = c.b.slice(c.operands[0], block->offsets, fixed, ones);
  for (auto [dim, start] : block->dynamic) {
    if (failed(checkLookUp(c, x, shape[dim], block->sizes[dim])))
      return failure();
    x = takeRows(c.b, x, dim, countFrom(c.b, start, block->sizes[dim]));
  }
  return c.yield(x);
}

/// Writes a block at offsets that are constants.
static Value insert(OpConversion &c, const TensorBlock &block) {
  if (c.operandType(0) == c.operandType(1))
    return c.operands[1];
  SmallVector<int64_t> ones(block.sizes.size(), 1);
  auto fixed = [&](ArrayRef<int64_t> values) {
    return getAsIndexOpFoldResult(c.op->getContext(), values);
  };
  return c.b.make<tensor::InsertSliceOp>(c.operands[1], c.operands[0],
                                         fixed(block.offsets),
                                         fixed(block.sizes), fixed(ones));
}

/// Extends `update` to `size` elements along `dim`: it has its own ones from
/// `start` on. Adds to `isInside` whether an element is one of these.
static Value extend(GraphBuilder &b, Value update, int64_t dim, int64_t size,
                    Value start, ArrayRef<int64_t> shape, Value &isInside) {
  SmallVector<int64_t> sizes(b.typeOf(update).getShape());
  int64_t count = sizes[dim];
  Value place = b.fold<arith::SubIOp>(countTo(b, size, start),
                                      b.broadcast(start, {size}, {}));
  Value isOwn = b.fold<arith::AndIOp>(
      b.fold<arith::CmpIOp>(arith::CmpIPredicate::sge, place,
                            b.splat(place, 0)),
      b.fold<arith::CmpIOp>(arith::CmpIPredicate::slt, place,
                            b.splat(place, double(count))));
  isOwn = b.broadcast(isOwn, shape, dim);
  isInside = isInside ? b.fold<arith::AndIOp>(isInside, isOwn) : isOwn;
  if (count > 1)
    return takeRows(b, update, dim, clampIndex(b, place, count));
  SmallVector<int64_t> others, kept;
  for (int64_t i = 0, rank = sizes.size(); i < rank; ++i)
    if (i != dim) {
      others.push_back(sizes[i]);
      kept.push_back(i);
    }
  sizes[dim] = size;
  return b.broadcast(b.reshape(update, others), sizes, kept);
}

static LogicalResult convertDynamicUpdateSlice(OpConversion &c) {
  if (c.operands.size() < 2 ||
      c.operandType(0).getElementType() != c.operandType(1).getElementType())
    return c.error() << "expects a tensor and a block of its elements";
  ArrayRef<int64_t> shape = c.operandType(0).getShape();
  auto block = findBlock(c, 2, shape, c.operandType(1).getShape());
  if (failed(block))
    return failure();
  if (block->dynamic.empty())
    return c.yield(insert(c, *block));
  // Known offsets count like the others.
  Value update = c.operands[1], isInside, some = block->dynamic[0].second;
  for (int64_t dim = 0, rank = shape.size(); dim < rank; ++dim) {
    if (block->sizes[dim] == shape[dim])
      continue;
    if (block->sizes[dim] > 1 &&
        failed(checkLookUp(c, update, block->sizes[dim], shape[dim])))
      return failure();
    auto *found = llvm::find_if(
        block->dynamic, [&](const auto &entry) { return entry.first == dim; });
    Value start = found != block->dynamic.end()
                      ? found->second
                      : c.b.splat(some, double(block->offsets[dim]));
    update = extend(c.b, update, dim, shape[dim], start, shape, isInside);
  }
  return c.yield(c.b.fold<arith::SelectOp>(isInside, update, c.operands[0]));
}

void tessera::stablehlo::addBlockHandlers(HandlerTable &t) {
  t.add("stablehlo.dynamic_slice", HandlerTable::kAny, convertDynamicSlice);
  t.add("stablehlo.dynamic_update_slice", HandlerTable::kAny,
        convertDynamicUpdateSlice);
}
