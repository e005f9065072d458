//===- ResizePadding.cpp - More or less padding of a value ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ResizePadding.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tessera;

dist::ShardingAttr tessera::getResizedSharding(dist::ShardingAttr sharding,
                                               RankedTensorType from,
                                               RankedTensorType to,
                                               const Mesh &mesh) {
  if (!sharding)
    return sharding;
  Sharding plain = sharding.toSharding(mesh);
  for (int64_t dim = 0; dim < from.getRank(); ++dim)
    if (from.getDimSize(dim) != to.getDimSize(dim))
      plain.dims[dim].axes.clear();
  return dist::ShardingAttr::get(sharding.getMesh(), mesh, plain);
}

static void shardAs(Value value, dist::ShardingAttr sharding) {
  if (sharding)
    dist::setSharding(value, sharding);
}

/// Appends zeros to `value` along `dim`, up to `size` elements.
static Value appendZeros(OpBuilder &builder, Value value, int64_t dim,
                         int64_t size, dist::ShardingAttr sharding,
                         const Mesh &mesh) {
  auto from = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(from.getShape());
  shape[dim] = size;
  RankedTensorType to = from.clone(shape);
  shape[dim] = size - from.getDimSize(dim);
  RankedTensorType rest = from.clone(shape);
  Value zeros = arith::ConstantOp::create(builder, value.getLoc(),
                                          builder.getZeroAttr(rest));
  shardAs(zeros, getResizedSharding(sharding, from, to, mesh));
  Value result = tensor::ConcatOp::create(builder, value.getLoc(), to, dim,
                                          ValueRange{value, zeros});
  shardAs(result, sharding);
  return result;
}

Value tessera::resizePadding(OpBuilder &builder, Value value,
                             RankedTensorType type, dist::ShardingAttr sharding,
                             const Mesh &mesh) {
  auto from = cast<RankedTensorType>(value.getType());
  SmallVector<OpFoldResult> offsets, sizes, strides;
  SmallVector<int64_t> shape;
  for (auto [mine, wanted] : llvm::zip(from.getShape(), type.getShape())) {
    shape.push_back(std::min(mine, wanted));
    // A static offset of an empty slice would be out of range.
    offsets.push_back(
        mine > 0 ? OpFoldResult(builder.getIndexAttr(0))
                 : arith::ConstantIndexOp::create(builder, value.getLoc(), 0)
                       .getResult());
    sizes.push_back(builder.getIndexAttr(shape.back()));
    strides.push_back(builder.getIndexAttr(1));
  }
  RankedTensorType smaller = from.clone(shape);
  if (smaller != from) {
    value = tensor::ExtractSliceOp::create(builder, value.getLoc(), smaller,
                                           value, offsets, sizes, strides);
    shardAs(value, getResizedSharding(sharding, from, type, mesh));
  }
  // A dimension lengthened in a later step is whole until then.
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (shape[dim] == type.getDimSize(dim))
      continue;
    shape[dim] = type.getDimSize(dim);
    value = appendZeros(
        builder, value, dim, shape[dim],
        getResizedSharding(sharding, from.clone(shape), type, mesh), mesh);
  }
  return value;
}
