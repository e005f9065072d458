//===- NNDecompose.cpp - nn ops as plain reductions -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rewrites ops with internal reductions into einsums, elementwise ops and plain
// reductions (max, sum, take_along_axis), in f32 or wider. The rewrite does not
// depend on which of the op's internal factors are sharded: all of them become
// plain.
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/TensorBuilder.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::nn;

using Values = SmallVector<Value>;

FailureOr<Values> SoftmaxOp::decompose(OpBuilder &builder,
                                       const llvm::SmallBitVector &) {
  TensorBuilder b(builder, getLoc());
  int64_t dim = getDim();
  Value x = b.widen(getX()), max;
  auto [e, sum] = b.shiftedExp(x, dim, max);
  return Values{b.narrow(b.div(e, b.broadcastAlong(sum, e, dim)), getType())};
}

/// The results of a decomposed op: the value in the first result's type, and
/// the statistics if the op has them.
static Values resultsOf(TensorBuilder &b, Operation *op, Value result,
                        ArrayRef<Value> stats) {
  Values values{b.narrow(result, op->getResult(0).getType())};
  if (op->getNumResults() > 1)
    llvm::append_range(values, stats);
  return values;
}

FailureOr<Values> LayerNormOp::decompose(OpBuilder &builder,
                                         const llvm::SmallBitVector &) {
  TensorBuilder b(builder, getLoc());
  Value x = b.widen(getX());
  Value mean = b.mean(x);
  Value centered = b.sub(x, b.alongRows(mean, x));
  Value variance = b.mean(b.mul(centered, centered));
  Value rstd = b.inverseRoot(variance, getEps().convertToDouble());
  Value normal = b.mul(centered, b.alongRows(rstd, x));
  Value scaled = b.mul(normal, b.alongLast(getGamma(), x));
  return resultsOf(b, *this, b.add(scaled, b.alongLast(getBeta(), x)),
                   {mean, rstd});
}

FailureOr<Values> RMSNormOp::decompose(OpBuilder &builder,
                                       const llvm::SmallBitVector &) {
  TensorBuilder b(builder, getLoc());
  Value x = b.widen(getX());
  Value rstd = b.inverseRoot(b.mean(b.mul(x, x)), getEps().convertToDouble());
  Value normal = b.mul(x, b.alongRows(rstd, x));
  return resultsOf(b, *this, b.mul(normal, b.alongLast(getGamma(), x)), {rstd});
}

FailureOr<Values> LayerNormBackwardOp::decompose(OpBuilder &builder,
                                                 const llvm::SmallBitVector &) {
  TensorBuilder b(builder, getLoc());
  Value x = b.widen(getX());
  auto alongRows = [&](Value stat) { return b.alongRows(stat, x); };
  Value g = b.mul(b.widen(getGrad()), b.alongLast(getGamma(), x));
  Value rstd = alongRows(getRstd());
  Value normal = b.mul(b.sub(x, alongRows(getMean())), rstd);
  Value along = b.mul(normal, alongRows(b.mean(b.mul(g, normal))));
  Value dx = b.mul(rstd, b.sub(b.sub(g, alongRows(b.mean(g))), along));
  return Values{b.narrow(dx, getType())};
}

FailureOr<Values> RMSNormBackwardOp::decompose(OpBuilder &builder,
                                               const llvm::SmallBitVector &) {
  TensorBuilder b(builder, getLoc());
  Value x = b.widen(getX());
  auto alongRows = [&](Value stat) { return b.alongRows(stat, x); };
  Value g = b.mul(b.widen(getGrad()), b.alongLast(getGamma(), x));
  Value rstd = alongRows(getRstd());
  Value normal = b.mul(x, rstd);
  Value along = b.mul(normal, alongRows(b.mean(b.mul(g, normal))));
  return Values{b.narrow(b.mul(rstd, b.sub(g, along)), getType())};
}

FailureOr<Values> CrossEntropyOp::decompose(OpBuilder &builder,
                                            const llvm::SmallBitVector &) {
  TensorBuilder b(builder, getLoc());
  Value logits = b.widen(getLogits()), max;
  bool hasPadding = getClasses() && static_cast<int64_t>(*getClasses()) <
                                        b.typeOf(logits).getShape().back();
  if (hasPadding)
    logits = b.make<MaskPaddingOp>(
        logits.getType(), logits, /*offset=*/Value(), b.lastDim(logits),
        *getClasses(),
        getNeutralElement(b.typeOf(logits).getElementType(),
                          ::tessera::ReductionKind::Max));
  auto [e, sum] = b.shiftedExp(logits, b.lastDim(logits), max);
  Value logSum = b.make<math::LogOp>(sum);
  // Widens one logit per row instead of a copy of all.
  Value picked = b.widen(b.make<TakeAlongAxisOp>(
      b.typeOf(max).clone(b.typeOf(getLogits()).getElementType()), getLogits(),
      getLabels(), /*offset=*/Value(), getClassesAttr()));
  Value loss = b.sub(logSum, b.sub(picked, max));
  Value ignored = b.make<arith::CmpIOp>(
      arith::CmpIPredicate::eq, getLabels(),
      b.splat(getLabels(),
              static_cast<double>(static_cast<int64_t>(getIgnore()))));
  return resultsOf(b, *this, b.select(ignored, b.splat(loss, 0.0), loss),
                   {max, logSum});
}

/// Computes the best value, and the least of the positions that have it; other
/// positions count as the greatest integer. NaN elements are candidates too: if
/// there is one, the best value is NaN, which equals no element, so only they
/// are.
FailureOr<Values> ArgReduceOp::decompose(OpBuilder &builder,
                                         const llvm::SmallBitVector &) {
  TensorBuilder b(builder, getLoc());
  Value x = getX();
  int64_t dim = getDim();
  Value best = b.reduce(getKind(), x, dim);
  Value along = b.broadcastAlong(best, x, dim);
  Value isBest;
  if (isa<FloatType>(b.typeOf(x).getElementType()))
    isBest =
        b.make<arith::OrIOp>(b.compare(arith::CmpFPredicate::OEQ, x, along),
                             b.compare(arith::CmpFPredicate::UNO, x, x));
  else
    isBest = b.make<arith::CmpIOp>(arith::CmpIPredicate::eq, x, along);
  Type element = b.typeOf(getIndex()).getElementType();
  Value iota = b.make<IotaOp>(
      RankedTensorType::get({b.typeOf(x).getDimSize(dim)}, element), Value(),
      ZigzagAttr());
  Value positions = b.broadcast(iota, x, dim);
  Value none = b.make<arith::ConstantOp>(SplatElementsAttr::get(
      cast<RankedTensorType>(positions.getType()),
      Attribute(getNeutralElement(element, ::tessera::ReductionKind::Min))));
  Value candidates = b.select(isBest, positions, none);
  return Values{best, b.reduce(ReduceKind::Min, candidates, dim)};
}

//===----------------------------------------------------------------------===//
// attention
//===----------------------------------------------------------------------===//

/// Dimensions of scores, [batch, group, head, query, key].
enum ScoreDim { QueryDim = 3, KeyDim = 4 };

/// The scaled dot products of queries and keys.
template <typename Op> static Value buildScores(TensorBuilder &b, Op op) {
  Value q = b.widen(op.getQ()), k = b.widen(op.getK());
  ArrayRef<int64_t> qs = b.typeOf(q).getShape();
  Value scores =
      b.einsum("bsgrd,btgd->bgrst", q, k,
               {qs[0], qs[2], qs[3], qs[1], b.typeOf(k).getDimSize(1)});
  return b.mul(scores, b.splat(scores, op.getScale().convertToDouble()));
}

/// Replaces `scores` by `value` for keys that a query does not see.
template <typename Op>
static Value hide(TensorBuilder &b, Op op, Value scores, double value) {
  Value hidden;
  auto add = [&](arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    Value masked = b.make<arith::CmpIOp>(predicate, lhs, rhs);
    hidden = hidden ? b.make<arith::OrIOp>(hidden, masked) : masked;
  };
  auto queries = [&] {
    return b.positions(scores, QueryDim, op.getQOffset(), op.getOrderAttr());
  };
  auto keys = [&] {
    return b.positions(scores, KeyDim, op.getKOffset(), op.getOrderAttr());
  };
  if (op.getCausal())
    add(arith::CmpIPredicate::sgt, keys(), queries());
  if (op.getWindow()) {
    Value own = queries();
    Value before = b.make<arith::SubIOp>(
        own, b.splat(own, static_cast<double>(*op.getWindow())));
    add(arith::CmpIPredicate::sle, keys(), before);
  }
  if (Value starts = op.getStarts()) {
    auto type = b.typeOf(starts).clone(b.b.getI64Type());
    Value first = b.make<arith::ExtSIOp>(type, starts);
    add(arith::CmpIPredicate::slt, keys(),
        b.broadcast(first, scores, {0, QueryDim}));
  }
  if (op.getKeySize()) {
    Value positions = keys();
    add(arith::CmpIPredicate::sge, positions,
        b.splat(positions, *op.getKeySize()));
  }
  return hidden ? b.select(hidden, b.splat(scores, value), scores) : scores;
}

/// Permutes a tensor with one number per query.
static Value transpose(TensorBuilder &b, Value stat, ArrayRef<int64_t> order) {
  SmallVector<int64_t> shape;
  for (int64_t dim : order)
    shape.push_back(b.typeOf(stat).getDimSize(dim));
  return b.make<nn::TransposeOp>(
      RankedTensorType::get(shape, b.typeOf(stat).getElementType()), stat,
      order);
}

FailureOr<Values> AttentionOp::decompose(OpBuilder &builder,
                                         const llvm::SmallBitVector &) {
  TensorBuilder b(builder, getLoc());
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Value scores = hide(b, *this, buildScores(b, *this), -infinity);

  // A finite floor of the maximum and a nonzero divisor give 0 for a query that
  // sees nothing: its exponentials are all exp(-inf) = 0.
  Value max = b.reduce(ReduceKind::Max, scores, KeyDim);
  max = b.make<arith::MaximumFOp>(max, b.splat(max, -1.0e30));
  Value e = b.exp(b.sub(scores, b.broadcastAlong(max, scores, KeyDim)));
  Value sum = b.reduce(ReduceKind::Sum, e, KeyDim);
  Value isZero = b.compare(arith::CmpFPredicate::OEQ, sum, b.splat(sum, 0.0));
  Value divisor = b.select(isZero, b.splat(sum, 1.0), sum);
  Value out =
      b.einsum("bgrst,btge->bsgre", e, b.widen(getV()),
               cast<RankedTensorType>(getResult().getType()).getShape());
  auto byQuery = [&](Value stat) {
    return transpose(b, stat, {0, QueryDim, 1, 2});
  };
  out = b.div(out, b.alongRows(byQuery(divisor), out));
  if (getStats().empty())
    return resultsOf(b, *this, out, {});
  Value logSum = b.add(b.make<math::LogOp>(divisor), max);
  logSum = b.select(isZero, b.splat(logSum, -infinity), logSum);
  return resultsOf(b, *this, out, {byQuery(logSum)});
}

/// Follows the op's documentation with the scores written out, so that the sums
/// over keys, queries, heads and dims are plain.
FailureOr<Values> AttentionBackwardOp::decompose(OpBuilder &builder,
                                                 const llvm::SmallBitVector &) {
  TensorBuilder b(builder, getLoc());
  Value q = b.widen(getQ()), k = b.widen(getK()), v = b.widen(getV());
  Value grad = b.widen(getGrad()), out = b.widen(getOut());
  Value scores = buildScores(b, *this);
  // Repeats a number per query along the keys.
  auto alongKeys = [&](Value stat) {
    return b.alongRows(transpose(b, stat, {0, 2, 3, 1}), scores);
  };
  Value p = b.exp(b.sub(scores, alongKeys(getLogsumexp())));
  p = hide(b, *this, p, 0.0);
  Value delta = b.einsum("bsgre,bsgre->bsgr", grad, out,
                         b.typeOf(getLogsumexp()).getShape());
  Value dp = b.einsum("bsgre,btge->bgrst", grad, v, b.typeOf(p).getShape());
  Value ds = b.mul(p, b.sub(dp, alongKeys(delta)));
  ds = b.mul(ds, b.splat(ds, getScale().convertToDouble()));
  Value dq = b.einsum("bgrst,btgd->bsgrd", ds, k, b.typeOf(q).getShape());
  Value dk = b.einsum("bgrst,bsgrd->btgd", ds, q, b.typeOf(k).getShape());
  Value dv = b.einsum("bgrst,bsgre->btge", p, grad, b.typeOf(v).getShape());
  return Values{b.narrow(dq, getDq().getType()),
                b.narrow(dk, getDk().getType()),
                b.narrow(dv, getDv().getType())};
}
