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
                     int64_t size, int64_t dim) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (size == type.getDimSize(dim))
    return tensor;
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = size;
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)),
      strides(type.getRank(), b.getIndexAttr(1));
  offsets[dim] = begin;
  return tensor::ExtractSliceOp::create(
      b, type.clone(shape), tensor, offsets,
      getAsIndexOpFoldResult(b.getContext(), shape), strides);
}

Value tessera::concat(ImplicitLocOpBuilder &b, ArrayRef<Value> parts,
                      int64_t dim) {
  return parts.size() == 1
             ? parts.front()
             : tensor::ConcatOp::create(b, dim, parts).getResult();
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
