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
