//===- Indices.cpp - Rows at run-time indices -----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Indices.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::stablehlo;

Value tessera::stablehlo::matchWrap(Value value, int64_t size) {
  auto select = value.getDefiningOp<arith::SelectOp>();
  if (!select)
    return {};
  Value x = select.getFalseValue();
  auto less = select.getCondition().getDefiningOp<arith::CmpIOp>();
  auto sum = select.getTrueValue().getDefiningOp<arith::AddIOp>();
  auto isSplat = [](Value constant, int64_t number) {
    auto splat = dyn_cast_or_null<IntegerAttr>(getSplat(constant));
    return splat && splat.getValue().getSExtValue() == number;
  };
  bool wraps = less && sum &&
               less.getPredicate() == arith::CmpIPredicate::slt &&
               less.getLhs() == x && isSplat(less.getRhs(), 0) &&
               sum.getLhs() == x && isSplat(sum.getRhs(), size);
  return wraps ? x : Value();
}

bool tessera::stablehlo::isInRange(Value index, int64_t size) {
  while (Operation *op = index.getDefiningOp()) {
    if (auto iota = dyn_cast<nn::IotaOp>(op))
      return !iota.getOffset() && iota.getType().getNumElements() <= size;
    if (DenseElementsAttr constant = getConstant(index))
      return llvm::all_of(constant.getValues<APInt>(), [&](const APInt &id) {
        return !id.isNegative() && id.getSExtValue() < size;
      });
    Value wrapped = matchWrap(index, size);
    if (!wrapped && !isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                         tensor::ExtractSliceOp, nn::BroadcastOp,
                         nn::TransposeOp, arith::ExtSIOp>(op))
      return false;
    index = wrapped ? wrapped : op->getOperand(0);
  }
  return false;
}

/// A splat of integers with the type of `like`.
static Value splatInteger(GraphBuilder &b, Value like, int64_t number) {
  RankedTensorType type = b.typeOf(like);
  return b.constant(type, b.b.getIntegerAttr(type.getElementType(), number));
}

Value tessera::stablehlo::clampIndex(GraphBuilder &b, Value index,
                                     int64_t size) {
  if (isInRange(index, size))
    return index;
  index = b.fold<arith::MaxSIOp>(index, splatInteger(b, index, 0));
  unsigned width = b.typeOf(index).getElementTypeBitWidth();
  if (!llvm::isIntN(width, size - 1))
    return index;
  return b.fold<arith::MinSIOp>(index, splatInteger(b, index, size - 1));
}

Value tessera::stablehlo::widenIndex(GraphBuilder &b, Value index,
                                     int64_t limit) {
  RankedTensorType type = b.typeOf(index);
  unsigned width = llvm::isInt<32>(limit) ? 32 : 64;
  if (type.getElementTypeBitWidth() >= width)
    return index;
  return b.fold<arith::ExtSIOp>(type.clone(b.b.getIntegerType(width)), index);
}

Value tessera::stablehlo::countTo(GraphBuilder &b, int64_t size, Value like) {
  auto type = RankedTensorType::get(size, b.typeOf(like).getElementType());
  return b.make<nn::IotaOp>(type, Value(), nn::ZigzagAttr());
}

/// The most pairs of a row and an id in a lookup of integers.
static constexpr int64_t kMaxPairs = int64_t(1) << 24;

LogicalResult tessera::stablehlo::checkLookUp(const OpConversion &c, Value x,
                                              int64_t rows, int64_t count) {
  if (isa<FloatType>(c.b.typeOf(x).getElementType()) ||
      rows <= kMaxPairs / count)
    return success();
  return c.error() << "expects floats, or integers of at most " << kMaxPairs
                   << " pairs of a row and an id, but got " << rows << " and "
                   << count;
}

/// Sums the rows of integers times 1 where the id is the row, and times 0
/// elsewhere.
static Value lookUpIntegers(GraphBuilder &b, Value table, Value ids) {
  RankedTensorType type = b.typeOf(table), given = b.typeOf(ids);
  int64_t rows = type.getDimSize(0), count = given.getNumElements();
  bool isBool = type.getElementType().isInteger(1);
  ids = b.reshape(widenIndex(b, ids, rows), {count});
  if (isBool)
    table = b.fold<arith::ExtUIOp>(type.clone(b.b.getI32Type()), table);
  Type element = b.typeOf(table).getElementType();
  SmallVector<int64_t> pairs{count, rows};
  Value isRow = b.fold<arith::CmpIOp>(
      arith::CmpIPredicate::eq, b.broadcast(ids, pairs, 0),
      b.broadcast(countTo(b, rows, ids), pairs, 1));
  Value ones =
      b.fold<arith::ExtUIOp>(RankedTensorType::get(pairs, element), isRow);
  SmallVector<int64_t> shape{count, type.getDimSize(1)};
  Value taken = b.make<nn::EinsumOp>(RankedTensorType::get(shape, element),
                                     "ab,bc->ac", ones, table);
  if (isBool)
    taken = b.fold<arith::CmpIOp>(arith::CmpIPredicate::ne, taken,
                                  b.splat(taken, 0));
  shape.assign(given.getShape().begin(), given.getShape().end());
  shape.push_back(type.getDimSize(1));
  return b.reshape(taken, shape);
}

Value tessera::stablehlo::lookUpRows(GraphBuilder &b, Value table, Value ids) {
  RankedTensorType type = b.typeOf(table);
  if (!isa<FloatType>(type.getElementType()))
    return lookUpIntegers(b, table, ids);
  SmallVector<int64_t> shape(b.typeOf(ids).getShape());
  shape.push_back(type.getDimSize(1));
  return b.make<nn::EmbeddingOp>(type.clone(shape), table, ids, Value(),
                                 IntegerAttr());
}

Value tessera::stablehlo::takeRows(GraphBuilder &b, Value x, int64_t dim,
                                   Value ids) {
  RankedTensorType type = b.typeOf(x);
  int64_t rank = type.getRank(), count = b.typeOf(ids).getDimSize(0);
  // The order with `dim` first, and the way back.
  SmallVector<int64_t> order{dim}, back;
  for (int64_t i = 0; i < rank; ++i) {
    if (i != dim)
      order.push_back(i);
    back.push_back(i == dim ? 0 : i < dim ? i + 1 : i);
  }
  Value moved = b.transpose(x, order);
  SmallVector<int64_t> shape(b.typeOf(moved).getShape());
  int64_t width = type.getNumElements() / shape[0];
  Value rows = lookUpRows(b, b.reshape(moved, {shape[0], width}), ids);
  shape[0] = count;
  return b.transpose(b.reshape(rows, shape), back);
}

Value tessera::stablehlo::reverse(GraphBuilder &b, Value x, int64_t dim) {
  int64_t size = b.typeOf(x).getDimSize(dim);
  if (size == 1)
    return x;
  if (auto broadcast = x.getDefiningOp<nn::BroadcastOp>()) {
    const int64_t *from = llvm::find(broadcast.getDims(), dim);
    if (from == broadcast.getDims().end())
      return x;
    Value list =
        reverse(b, broadcast.getX(), from - broadcast.getDims().begin());
    return b.broadcast(list, b.typeOf(x).getShape(), broadcast.getDims());
  }
  auto count = RankedTensorType::get(
      size, b.b.getIntegerType(llvm::isInt<32>(size) ? 32 : 64));
  Value iota = b.make<nn::IotaOp>(count, Value(), nn::ZigzagAttr());
  return takeRows(b, x, dim,
                  b.fold<arith::SubIOp>(b.splat(iota, double(size - 1)), iota));
}
