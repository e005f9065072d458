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
  Value rows = b.make<nn::EmbeddingOp>(type.clone({count, width}),
                                       b.reshape(moved, {shape[0], width}), ids,
                                       Value(), IntegerAttr());
  shape[0] = count;
  return b.transpose(b.reshape(rows, shape), back);
}
