//===- NNDecompose.cpp - nn ops as plain reductions -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An op with a reduction of its own, rewritten into einsums, elementwise ops
// and plain reductions (max, sum, pick), in f32 at least. The rewrite is the
// same whichever of the op's own factors are sharded: all of them become plain.
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/NN.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::nn;

using Values = SmallVector<Value>;

namespace {

/// Builds elementwise ops and reductions on tensors at one place.
struct TensorBuilder {
  OpBuilder &b;
  Location loc;

  RankedTensorType typeOf(Value v) {
    return cast<RankedTensorType>(v.getType());
  }
  template <typename Op, typename... Args> Value make(Args &&...args) {
    return Op::create(b, loc, std::forward<Args>(args)...)->getResult(0);
  }

  /// A tensor of one value, shaped like `like`.
  Value splat(Value like, double value) {
    RankedTensorType type = typeOf(like);
    Attribute attr;
    if (auto floatType = dyn_cast<FloatType>(type.getElementType()))
      attr = b.getFloatAttr(floatType, value);
    else
      attr =
          b.getIntegerAttr(type.getElementType(), static_cast<int64_t>(value));
    return make<arith::ConstantOp>(SplatElementsAttr::get(type, attr));
  }
  /// The value in f32, or in f64 if it is.
  Value widen(Value v) {
    RankedTensorType type = typeOf(v);
    if (type.getElementTypeBitWidth() >= 32)
      return v;
    return make<arith::ExtFOp>(
        RankedTensorType::get(type.getShape(), b.getF32Type()), v);
  }
  /// The value in the element type of `like`.
  Value narrow(Value v, Type like) {
    Type element = cast<RankedTensorType>(like).getElementType();
    RankedTensorType type = typeOf(v);
    if (type.getElementType() == element)
      return v;
    return make<arith::TruncFOp>(
        RankedTensorType::get(type.getShape(), element), v);
  }
  Value reduce(ReduceKind kind, Value v, int64_t dim) {
    SmallVector<int64_t> shape(typeOf(v).getShape());
    shape.erase(shape.begin() + dim);
    return make<nn::ReduceOp>(
        RankedTensorType::get(shape, typeOf(v).getElementType()), kind, v,
        ArrayRef<int64_t>(dim));
  }
  /// `v` repeated to the shape of `like` along all dimensions but `dims`.
  Value broadcast(Value v, Value like, ArrayRef<int64_t> dims) {
    return make<nn::BroadcastOp>(
        RankedTensorType::get(typeOf(like).getShape(),
                              typeOf(v).getElementType()),
        v, dims);
  }
  /// `v`, which lacks dimension `dim` of `like`, repeated along it.
  Value broadcastAlong(Value v, Value like, int64_t dim) {
    SmallVector<int64_t> dims;
    for (int64_t i = 0, e = typeOf(like).getRank(); i < e; ++i)
      if (i != dim)
        dims.push_back(i);
    return broadcast(v, like, dims);
  }
  Value einsum(StringRef spec, Value lhs, Value rhs, ArrayRef<int64_t> shape) {
    return make<EinsumOp>(
        RankedTensorType::get(shape, typeOf(lhs).getElementType()), spec, lhs,
        rhs);
  }
  Value add(Value a, Value c) { return make<arith::AddFOp>(a, c); }
  Value sub(Value a, Value c) { return make<arith::SubFOp>(a, c); }
  Value mul(Value a, Value c) { return make<arith::MulFOp>(a, c); }
  Value div(Value a, Value c) { return make<arith::DivFOp>(a, c); }
  Value exp(Value v) { return make<math::ExpOp>(v); }

  /// exp(x - max(x)) along `dim`, and its sum.
  std::pair<Value, Value> shiftedExp(Value x, int64_t dim, Value &max) {
    max = reduce(ReduceKind::Max, x, dim);
    Value e = exp(sub(x, broadcastAlong(max, x, dim)));
    return {e, reduce(ReduceKind::Sum, e, dim)};
  }
  /// Mean over the last dimension.
  Value mean(Value x) {
    int64_t dim = typeOf(x).getRank() - 1;
    Value sum = reduce(ReduceKind::Sum, x, dim);
    return mul(sum, splat(sum, 1.0 / typeOf(x).getDimSize(dim)));
  }
  /// 1 / sqrt(v + eps), along the last dimension of `like`.
  Value inverseRoot(Value v, double eps, Value like) {
    Value root = make<math::RsqrtOp>(add(v, splat(v, eps)));
    return broadcastAlong(root, like, typeOf(like).getRank() - 1);
  }
  /// A vector along the last dimension, in the element type of `like`.
  Value alongLast(Value vector, Value like) {
    return broadcast(widen(vector), like, typeOf(like).getRank() - 1);
  }
  /// Positions along dimension `dim` of `like`, counted from `offset`.
  Value positions(Value like, int64_t dim, Value offset) {
    auto type =
        RankedTensorType::get({typeOf(like).getDimSize(dim)}, b.getI64Type());
    Value iota = make<IotaOp>(type, offset);
    return broadcast(iota, like, dim);
  }
};

} // namespace

FailureOr<Values> SoftmaxOp::decompose(OpBuilder &builder,
                                       const llvm::SmallBitVector &) {
  TensorBuilder b{builder, getLoc()};
  int64_t dim = getDim();
  Value x = b.widen(getX()), max;
  auto [e, sum] = b.shiftedExp(x, dim, max);
  return Values{b.narrow(b.div(e, b.broadcastAlong(sum, e, dim)), getType())};
}

FailureOr<Values> LayerNormOp::decompose(OpBuilder &builder,
                                         const llvm::SmallBitVector &) {
  TensorBuilder b{builder, getLoc()};
  Value x = b.widen(getX());
  int64_t last = b.typeOf(x).getRank() - 1;
  Value centered = b.sub(x, b.broadcastAlong(b.mean(x), x, last));
  Value variance = b.mean(b.mul(centered, centered));
  double eps = getEps().convertToDouble();
  Value normal = b.mul(centered, b.inverseRoot(variance, eps, x));
  Value scaled = b.mul(normal, b.alongLast(getGamma(), x));
  return Values{b.narrow(b.add(scaled, b.alongLast(getBeta(), x)),
                         getResult().getType())};
}

FailureOr<Values> RMSNormOp::decompose(OpBuilder &builder,
                                       const llvm::SmallBitVector &) {
  TensorBuilder b{builder, getLoc()};
  Value x = b.widen(getX());
  double eps = getEps().convertToDouble();
  Value normal = b.mul(x, b.inverseRoot(b.mean(b.mul(x, x)), eps, x));
  return Values{b.narrow(b.mul(normal, b.alongLast(getGamma(), x)),
                         getResult().getType())};
}

FailureOr<Values> LayerNormBackwardOp::decompose(OpBuilder &builder,
                                                 const llvm::SmallBitVector &) {
  TensorBuilder b{builder, getLoc()};
  Value x = b.widen(getX());
  int64_t last = b.typeOf(x).getRank() - 1;
  auto alongRows = [&](Value stat) { return b.broadcastAlong(stat, x, last); };
  Value g = b.mul(b.widen(getGrad()), b.alongLast(getGamma(), x));
  Value rstd = alongRows(getRstd());
  Value normal = b.mul(b.sub(x, alongRows(getMean())), rstd);
  Value along = b.mul(normal, alongRows(b.mean(b.mul(g, normal))));
  Value dx = b.mul(rstd, b.sub(b.sub(g, alongRows(b.mean(g))), along));
  return Values{b.narrow(dx, getType())};
}

FailureOr<Values> RMSNormBackwardOp::decompose(OpBuilder &builder,
                                               const llvm::SmallBitVector &) {
  TensorBuilder b{builder, getLoc()};
  Value x = b.widen(getX());
  int64_t last = b.typeOf(x).getRank() - 1;
  auto alongRows = [&](Value stat) { return b.broadcastAlong(stat, x, last); };
  Value g = b.mul(b.widen(getGrad()), b.alongLast(getGamma(), x));
  Value rstd = alongRows(getRstd());
  Value normal = b.mul(x, rstd);
  Value along = b.mul(normal, alongRows(b.mean(b.mul(g, normal))));
  return Values{b.narrow(b.mul(rstd, b.sub(g, along)), getType())};
}

FailureOr<Values> CrossEntropyOp::decompose(OpBuilder &builder,
                                            const llvm::SmallBitVector &) {
  TensorBuilder b{builder, getLoc()};
  Value logits = b.widen(getLogits()), max;
  auto [e, sum] = b.shiftedExp(logits, b.typeOf(logits).getRank() - 1, max);
  Value logSum = b.add(b.make<math::LogOp>(sum), max);
  Value picked =
      b.make<PickOp>(b.typeOf(max), logits, getLabels(), /*offset=*/Value());
  Value loss = b.sub(logSum, picked);
  Value ignored = b.make<arith::CmpIOp>(
      arith::CmpIPredicate::eq, getLabels(),
      b.splat(getLabels(),
              static_cast<double>(static_cast<int64_t>(getIgnore()))));
  return Values{b.make<arith::SelectOp>(ignored, b.splat(loss, 0.0), loss)};
}

FailureOr<Values> AttentionOp::decompose(OpBuilder &builder,
                                         const llvm::SmallBitVector &) {
  TensorBuilder b{builder, getLoc()};
  Value q = b.widen(getQ()), k = b.widen(getK()), v = b.widen(getV());
  ArrayRef<int64_t> qs = b.typeOf(q).getShape(), ks = b.typeOf(k).getShape();
  int64_t batch = qs[0], query = qs[1], group = qs[2], head = qs[3],
          key = ks[1];
  constexpr int64_t keyDim = 4, queryDim = 3;
  Value scores =
      b.einsum("bsgrd,btgd->bgrst", q, k, {batch, group, head, query, key});
  scores = b.mul(scores, b.splat(scores, getScale().convertToDouble()));

  // What a query does not see gets minus infinity.
  Value hidden;
  auto hide = [&](arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    Value masked = b.make<arith::CmpIOp>(predicate, lhs, rhs);
    hidden = hidden ? b.make<arith::OrIOp>(hidden, masked) : masked;
  };
  if (getCausal())
    hide(arith::CmpIPredicate::sgt, b.positions(scores, keyDim, getKOffset()),
         b.positions(scores, queryDim, getQOffset()));
  if (getKeySize()) {
    Value positions = b.positions(scores, keyDim, getKOffset());
    hide(arith::CmpIPredicate::sge, positions,
         b.splat(positions, *getKeySize()));
  }
  double infinity = std::numeric_limits<double>::infinity();
  if (hidden)
    scores =
        b.make<arith::SelectOp>(hidden, b.splat(scores, -infinity), scores);

  // A finite floor under the maximum and a floor of the sum make a query that
  // sees nothing give 0: its exponentials are all exp(-inf) = 0.
  Value max = b.reduce(ReduceKind::Max, scores, keyDim);
  max = b.make<arith::MaximumFOp>(max, b.splat(max, -1.0e30));
  Value e = b.exp(b.sub(scores, b.broadcastAlong(max, scores, keyDim)));
  Value sum = b.reduce(ReduceKind::Sum, e, keyDim);
  Value isZero =
      b.make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, sum, b.splat(sum, 0.0));
  sum = b.make<arith::SelectOp>(isZero, b.splat(sum, 1.0), sum);
  Value out = b.einsum("bgrst,btge->bsgre", e, v,
                       {batch, query, group, head, b.typeOf(v).getDimSize(3)});
  SmallVector<int64_t> order{0, 3, 1, 2};
  Value divisor = b.make<nn::TransposeOp>(
      RankedTensorType::get({batch, query, group, head},
                            b.typeOf(sum).getElementType()),
      sum, order);
  out = b.div(out, b.broadcastAlong(divisor, out, 4));
  return Values{b.narrow(out, getResult().getType())};
}
