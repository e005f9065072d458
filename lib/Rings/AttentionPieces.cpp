//===- AttentionPieces.cpp - Attention on pieces of a sequence ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionPieces.h"
#include "mlir/IR/TypeUtilities.h"
#include <numeric>

using namespace mlir;
using namespace tessera;

int64_t tessera::countPieces(nn::ZigzagAttr order, int64_t length) {
  if (length == 0 || length >= order.getSize())
    return 1;
  return length / std::gcd(length, order.getChunk());
}

Value tessera::slice(ImplicitLocOpBuilder &b, Value tensor, OpFoldResult begin,
                     int64_t size) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (size == type.getDimSize(1))
    return tensor;
  SmallVector<int64_t> shape(type.getShape());
  shape[1] = size;
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)),
      strides(type.getRank(), b.getIndexAttr(1));
  offsets[1] = begin;
  return tensor::ExtractSliceOp::create(
      b, type.clone(shape), tensor, offsets,
      getAsIndexOpFoldResult(b.getContext(), shape), strides);
}

Value tessera::concat(ImplicitLocOpBuilder &b, ArrayRef<Value> parts) {
  return parts.size() == 1
             ? parts.front()
             : tensor::ConcatOp::create(b, /*dim=*/1, parts).getResult();
}

Value tessera::narrow(ImplicitLocOpBuilder &b, Value value, Type like) {
  Type element = getElementTypeOrSelf(like);
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getElementType() == element)
    return value;
  return arith::TruncFOp::create(b, type.clone(element), value);
}

Value tessera::widen(ImplicitLocOpBuilder &b, Value value) {
  RankedTensorType wide = widenType(value.getType());
  if (wide == value.getType())
    return value;
  return arith::ExtFOp::create(b, wide, value);
}

RankedTensorType tessera::widenType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getElementTypeBitWidth() >= 32
             ? tensor
             : tensor.clone(Float32Type::get(type.getContext()));
}

/// Multiplies each query's row of a result by its weight.
static Value scale(ImplicitLocOpBuilder &b, Value result, Value weight) {
  int64_t rank = cast<RankedTensorType>(weight.getType()).getRank();
  Value wide = nn::BroadcastOp::create(
      b, result.getType(), weight,
      b.getDenseI64ArrayAttr(llvm::to_vector(llvm::seq<int64_t>(0, rank))));
  return arith::MulFOp::create(b, result, wide);
}

Attended tessera::combine(ImplicitLocOpBuilder &b, const Attended &x,
                          const Attended &y) {
  auto type = cast<RankedTensorType>(x.logsumexp.getType());
  auto constant = [&](const llvm::APFloat &number) -> Value {
    return arith::ConstantOp::create(b, DenseElementsAttr::get(type, number));
  };
  const llvm::fltSemantics &semantics =
      cast<FloatType>(type.getElementType()).getFloatSemantics();
  Value largest = arith::MaximumFOp::create(b, x.logsumexp, y.logsumexp);
  // A finite reference: differences to it are minus infinity, not NaN.
  largest = arith::MaximumFOp::create(
      b, largest, constant(llvm::APFloat::getLargest(semantics, true)));
  auto exponential = [&](Value l) -> Value {
    return math::ExpOp::create(b, arith::SubFOp::create(b, l, largest));
  };
  Value ex = exponential(x.logsumexp), ey = exponential(y.logsumexp);
  Value sum = arith::AddFOp::create(b, ex, ey);
  Value divisor = arith::MaximumFOp::create(
      b, sum, constant(llvm::APFloat::getSmallestNormalized(semantics)));
  Value result = arith::AddFOp::create(
      b, scale(b, x.result, arith::DivFOp::create(b, ex, divisor)),
      scale(b, y.result, arith::DivFOp::create(b, ey, divisor)));
  return {result,
          arith::AddFOp::create(b, largest, math::LogOp::create(b, sum))};
}
