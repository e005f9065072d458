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
  auto [e, sum] = b.shiftedExp(logits, b.lastDim(logits), max);
  Value logSum = b.add(b.make<math::LogOp>(sum), max);
  Value picked =
      b.make<PickOp>(b.typeOf(max), logits, getLabels(), /*offset=*/Value());
  Value loss = b.sub(logSum, picked);
  Value ignored = b.make<arith::CmpIOp>(
      arith::CmpIPredicate::eq, getLabels(),
      b.splat(getLabels(),
              static_cast<double>(static_cast<int64_t>(getIgnore()))));
  return resultsOf(b, *this, b.select(ignored, b.splat(loss, 0.0), loss),
                   {logSum});
}

FailureOr<Values> AttentionOp::decompose(OpBuilder &builder,
                                         const llvm::SmallBitVector &) {
  TensorBuilder b(builder, getLoc());
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
    scores = b.select(hidden, b.splat(scores, -infinity), scores);

  // A finite floor under the maximum and a floor of the sum make a query that
  // sees nothing give 0: its exponentials are all exp(-inf) = 0.
  Value max = b.reduce(ReduceKind::Max, scores, keyDim);
  max = b.make<arith::MaximumFOp>(max, b.splat(max, -1.0e30));
  Value e = b.exp(b.sub(scores, b.broadcastAlong(max, scores, keyDim)));
  Value sum = b.reduce(ReduceKind::Sum, e, keyDim);
  Value isZero = b.compare(arith::CmpFPredicate::OEQ, sum, b.splat(sum, 0.0));
  Value divisor = b.select(isZero, b.splat(sum, 1.0), sum);
  Value out = b.einsum("bgrst,btge->bsgre", e, v,
                       {batch, query, group, head, b.typeOf(v).getDimSize(3)});
  // Of each query, from [batch, group, head, query].
  auto byQuery = [&](Value stat) {
    return b.make<nn::TransposeOp>(
        RankedTensorType::get({batch, query, group, head},
                              b.typeOf(stat).getElementType()),
        stat, ArrayRef<int64_t>{0, 3, 1, 2});
  };
  out = b.div(out, b.alongRows(byQuery(divisor), out));
  if (getStats().empty())
    return resultsOf(b, *this, out, {});
  Value logSum = b.add(b.make<math::LogOp>(divisor), max);
  logSum = b.select(isZero, b.splat(logSum, -infinity), logSum);
  return resultsOf(b, *this, out, {byQuery(logSum)});
}
