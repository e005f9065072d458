//===- TensorBuilder.h - Builds reductions and products ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers for the decompositions and gradients of nn ops.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_NN_TENSORBUILDER_H
#define TESSERA_DIALECTS_NN_TENSORBUILDER_H

#include "dialects/NN/NN.h"
#include "tessera/Interfaces/ElementwiseBuilder.h"

namespace tessera::nn {

/// Builds elementwise ops and reductions on tensors at one insertion point.
struct TensorBuilder : ElementwiseBuilder {
  TensorBuilder(mlir::OpBuilder &b, mlir::Location loc)
      : ElementwiseBuilder{b, loc} {}

  /// The type of `v`, which must be a ranked tensor.
  static mlir::RankedTensorType typeOf(Value v) {
    return mlir::cast<mlir::RankedTensorType>(v.getType());
  }
  static int64_t lastDim(Value v) { return typeOf(v).getRank() - 1; }

  /// Reduces `v` over `dims` in its own element type; the other dimensions keep
  /// their order.
  Value reduce(ReduceKind kind, Value v, llvm::ArrayRef<int64_t> dims) {
    llvm::SmallVector<int64_t> shape;
    for (auto [dim, size] : llvm::enumerate(typeOf(v).getShape()))
      if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
        shape.push_back(size);
    return make<ReduceOp>(
        mlir::RankedTensorType::get(shape, typeOf(v).getElementType()), kind, v,
        dims);
  }
  /// Sum over all dimensions but the last.
  Value sumRows(Value v) {
    return reduce(ReduceKind::Sum, v,
                  llvm::to_vector(llvm::seq<int64_t>(0, lastDim(v))));
  }
  /// Repeats `v` to the shape of `like` along all dimensions but `dims`.
  Value broadcast(Value v, Value like, llvm::ArrayRef<int64_t> dims) {
    return make<BroadcastOp>(
        mlir::RankedTensorType::get(typeOf(like).getShape(),
                                    typeOf(v).getElementType()),
        v, dims);
  }
  /// Repeats `v`, which lacks dimension `dim` of `like`, along it.
  Value broadcastAlong(Value v, Value like, int64_t dim) {
    llvm::SmallVector<int64_t> dims;
    for (int64_t i = 0, e = typeOf(like).getRank(); i < e; ++i)
      if (i != dim)
        dims.push_back(i);
    return broadcast(v, like, dims);
  }
  /// Repeats a number per row along the last dimension of `like`.
  Value alongRows(Value stat, Value like) {
    return broadcastAlong(stat, like, lastDim(like));
  }
  Value einsum(llvm::StringRef spec, Value lhs, Value rhs,
               llvm::ArrayRef<int64_t> shape) {
    return make<EinsumOp>(
        mlir::RankedTensorType::get(shape, typeOf(lhs).getElementType()), spec,
        lhs, rhs);
  }
  /// exp(x - max(x)) along `dim`, and its sum.
  std::pair<Value, Value> shiftedExp(Value x, int64_t dim, Value &max) {
    max = reduce(ReduceKind::Max, x, dim);
    Value e = exp(sub(x, broadcastAlong(max, x, dim)));
    return {e, reduce(ReduceKind::Sum, e, dim)};
  }
  /// Mean over the last dimension.
  Value mean(Value x) {
    int64_t dim = lastDim(x);
    Value sum = reduce(ReduceKind::Sum, x, dim);
    return mul(sum, splat(sum, 1.0 / typeOf(x).getDimSize(dim)));
  }
  /// 1 / sqrt(v + eps).
  Value inverseRoot(Value v, double eps) {
    return make<mlir::math::RsqrtOp>(add(v, splat(v, eps)));
  }
  /// Repeats a vector along the last dimension of `like`, in f32 or wider.
  Value alongLast(Value vector, Value like) {
    return broadcast(widen(vector), like, lastDim(like));
  }
  /// Positions along dimension `dim` of `like`, which is stored in `order` if
  /// that is set, from index `offset` on.
  Value positions(Value like, int64_t dim, Value offset, ZigzagAttr order) {
    auto type = mlir::RankedTensorType::get({typeOf(like).getDimSize(dim)},
                                            b.getI64Type());
    Value iota = make<IotaOp>(type, offset, order);
    return broadcast(iota, like, dim);
  }
};

} // namespace tessera::nn

#endif // TESSERA_DIALECTS_NN_TENSORBUILDER_H
