//===- NNAttention.cpp - Attention written out, its stat and bytecode -----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The backward computes the softmax weights again from the saved stat. With a
// bias, whose numbers may be the lowest of f32, this is the maximum and the
// logarithm of the sum: their sum, the logsumexp, would have lost the latter.
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/TensorBuilder.h"
#include "tessera/Interfaces/BytecodeVersion.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::nn;

using Values = SmallVector<Value>;

/// Dimensions of scores, [batch, group, head, query, key].
enum ScoreDim { QueryDim = 3, KeyDim = 4 };

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Returns the lowest finite number of a tensor's elements.
static double lowestOf(Value tensor) {
  auto type = cast<FloatType>(getElementTypeOrSelf(tensor));
  return APFloat::getLargest(type.getFloatSemantics(), /*Negative=*/true)
      .convertToDouble();
}

/// Permutes a tensor.
static Value permute(TensorBuilder &b, Value x, ArrayRef<int64_t> order) {
  SmallVector<int64_t> shape;
  for (int64_t dim : order)
    shape.push_back(b.typeOf(x).getDimSize(dim));
  return b.make<nn::TransposeOp>(b.typeOf(x).clone(shape), x, order);
}

//===----------------------------------------------------------------------===//
// Stats
//===----------------------------------------------------------------------===//

RankedTensorType nn::getStatType(RankedTensorType result, bool hasBias) {
  SmallVector<int64_t> shape(result.getShape().drop_back());
  if (hasBias)
    shape.push_back(2);
  Type element = result.getElementType();
  return RankedTensorType::get(
      shape, element.isF64() ? element : Float32Type::get(result.getContext()));
}

/// Returns the dimensions of `type` with the last two merged.
static SmallVector<ReassociationIndices> mergeLast(RankedTensorType type) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t dim = 0; dim + 1 < type.getRank(); ++dim)
    groups.push_back({dim});
  groups.back().push_back(type.getRank() - 1);
  return groups;
}

AttentionStat nn::readStat(OpBuilder &builder, Location loc, Value stat) {
  TensorBuilder b(builder, loc);
  auto type = b.typeOf(stat);
  if (type.getRank() == 4)
    return {stat, Value()};
  auto part = [&](int64_t number) {
    SmallVector<int64_t> shape(type.getShape());
    shape.back() = 1;
    SmallVector<OpFoldResult> offsets(5, builder.getIndexAttr(0)),
        strides(5, builder.getIndexAttr(1));
    offsets.back() = builder.getIndexAttr(number);
    Value one = b.make<tensor::ExtractSliceOp>(
        type.clone(shape), stat, offsets,
        getAsIndexOpFoldResult(builder.getContext(), shape), strides);
    return b.make<tensor::CollapseShapeOp>(
        type.clone(type.getShape().drop_back()), one, mergeLast(type));
  };
  return {part(0), part(1)};
}

Value nn::buildStat(OpBuilder &builder, Location loc, AttentionStat stat) {
  if (!stat.logSum)
    return stat.shift;
  TensorBuilder b(builder, loc);
  auto type = b.typeOf(stat.shift);
  SmallVector<int64_t> shape(type.getShape());
  shape.push_back(1);
  SmallVector<Value> parts;
  for (Value part : {stat.shift, stat.logSum})
    parts.push_back(b.make<tensor::ExpandShapeOp>(
        type.clone(shape), part, mergeLast(type.clone(shape))));
  return b.make<tensor::ConcatOp>(/*dim=*/4, parts);
}

/// Returns x - shift - logSum, where the stat has been repeated to x's shape.
static Value subtract(TensorBuilder &b, Value x, AttentionStat stat) {
  x = b.sub(x, stat.shift);
  return stat.logSum ? b.sub(x, stat.logSum) : x;
}

Value nn::buildSinksWeight(OpBuilder &builder, Location loc, Value sinks,
                           Value stat) {
  TensorBuilder b(builder, loc);
  AttentionStat parts = readStat(builder, loc, stat);
  return b.exp(
      subtract(b, b.broadcast(b.widen(sinks), parts.shift, {2, 3}), parts));
}

/// Returns the sum of two stats, and the share that each of them has in it:
///
///     m = max(m1, m2)       e1 = exp(m1 - m + l1)    e2 = exp(m2 - m + l2)
///     l = log(e1 + e2)      shares e1 / (e1 + e2), e2 / (e1 + e2)
///
/// Stats without a logarithm of their own are m + l.
static AttentionStat addStats(TensorBuilder &b, AttentionStat x,
                              AttentionStat y, Value &xShare, Value &yShare) {
  // A finite maximum: differences to it are minus infinity, not NaN.
  Value largest = b.make<arith::MaximumFOp>(x.shift, y.shift);
  largest =
      b.make<arith::MaximumFOp>(largest, b.splat(largest, lowestOf(largest)));
  auto exponential = [&](AttentionStat stat) {
    Value difference = b.sub(stat.shift, largest);
    if (stat.logSum)
      difference = b.add(difference, stat.logSum);
    return b.exp(difference);
  };
  Value ex = exponential(x), ey = exponential(y), sum = b.add(ex, ey);
  auto element = cast<FloatType>(getElementTypeOrSelf(sum));
  double smallest = APFloat::getSmallestNormalized(element.getFloatSemantics())
                        .convertToDouble();
  Value divisor = b.make<arith::MaximumFOp>(sum, b.splat(sum, smallest));
  xShare = b.div(ex, divisor);
  yShare = b.div(ey, divisor);
  Value logSum = b.make<math::LogOp>(sum);
  if (x.logSum)
    return {largest, logSum};
  return {b.add(largest, logSum), Value()};
}

Attended nn::combine(OpBuilder &builder, Location loc, const Attended &x,
                     const Attended &y) {
  TensorBuilder b(builder, loc);
  Value xShare, yShare;
  AttentionStat stat = addStats(b, readStat(builder, loc, x.stat),
                                readStat(builder, loc, y.stat), xShare, yShare);
  Value result = b.add(b.mul(x.result, b.alongRows(xShare, x.result)),
                       b.mul(y.result, b.alongRows(yShare, y.result)));
  return {result, buildStat(builder, loc, stat)};
}

Attended nn::addSinks(OpBuilder &builder, Location loc, const Attended &x,
                      Value sinks) {
  if (!sinks)
    return x;
  TensorBuilder b(builder, loc);
  AttentionStat stat = readStat(builder, loc, x.stat), others;
  others.shift = b.broadcast(b.cast(sinks, getElementTypeOrSelf(stat.shift)),
                             stat.shift, {2, 3});
  if (stat.logSum)
    others.logSum = b.splat(stat.shift, 0);
  Value share, sinksShare;
  stat = addStats(b, stat, others, share, sinksShare);
  return {b.mul(x.result, b.alongRows(share, x.result)),
          buildStat(builder, loc, stat)};
}

AttentionOp nn::separateSinks(RewriterBase &rewriter, AttentionOp op) {
  if (!op.getSinks())
    return AttentionOp();
  rewriter.setInsertionPoint(op);
  RankedTensorType type = op.getResult().getType(),
                   stat = getStatType(type, bool(op.getBias()));
  auto without = AttentionOp::create(
      rewriter, op.getLoc(), type.clone(stat.getElementType()), TypeRange(stat),
      op.getQ(), op.getK(), op.getV(), op.getQOffset(), op.getKOffset(),
      op.getStarts(), op.getBias(), /*sinks=*/Value(), op.getBiasDimsAttr(),
      op.getCausalAttr(), op.getWindowAttr(), op.getScaleAttr(),
      op.getSoftcapAttr(), op.getKeySizeAttr(), op.getOrderAttr());
  Attended with = addSinks(rewriter, op.getLoc(),
                           {without.getResult(), without.getStats().front()},
                           op.getSinks());
  TensorBuilder b(rewriter, op.getLoc());
  Values results{b.narrow(with.result, type)};
  if (!op.getStats().empty())
    results.push_back(with.stat);
  rewriter.replaceOp(op, results);
  return without;
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// Repeats a bias along the dimensions of scores that it does not have.
static Value spreadBias(TensorBuilder &b, Value bias, ArrayRef<int64_t> dims,
                        Value scores) {
  constexpr int64_t kPlaces[] = {0, QueryDim, 1, 2, KeyDim};
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, dims.size()));
  SmallVector<int64_t> places;
  llvm::sort(order, [&](int64_t a, int64_t c) {
    return kPlaces[dims[a]] < kPlaces[dims[c]];
  });
  for (int64_t number : order)
    places.push_back(kPlaces[dims[number]]);
  return b.broadcast(permute(b, b.widen(bias), order), scores, places);
}

/// Returns the scores of queries and keys, all of them. `slope` becomes the
/// derivative of a softcap, and is unchanged without one.
template <typename Op>
static Value buildScores(TensorBuilder &b, Op op, Value &slope) {
  Value q = b.widen(op.getQ()), k = b.widen(op.getK());
  ArrayRef<int64_t> qs = b.typeOf(q).getShape();
  Value scores =
      b.einsum("bsgrd,btgd->bgrst", q, k,
               {qs[0], qs[2], qs[3], qs[1], b.typeOf(k).getDimSize(1)});
  scores = b.mul(scores, b.splat(scores, op.getScale().convertToDouble()));
  if (op.getSoftcap()) {
    Value cap = b.splat(scores, op.getSoftcap()->convertToDouble());
    Value tanh = b.make<math::TanhOp>(b.div(scores, cap));
    scores = b.mul(tanh, cap);
    slope = b.sub(b.splat(tanh, 1), b.mul(tanh, tanh));
  }
  if (op.getBias())
    scores =
        b.add(scores, spreadBias(b, op.getBias(), *op.getBiasDims(), scores));
  return scores;
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

FailureOr<Values> AttentionOp::decompose(OpBuilder &builder,
                                         const llvm::SmallBitVector &) {
  TensorBuilder b(builder, getLoc());
  Value slope;
  Value scores = hide(b, *this, buildScores(b, *this, slope), -kInfinity);

  // A finite floor of the maximum and a nonzero divisor give 0 for a query that
  // sees nothing: its exponentials are all exp(-inf) = 0.
  Value max = b.reduce(ReduceKind::Max, scores, KeyDim);
  max = b.make<arith::MaximumFOp>(max, b.splat(max, lowestOf(max)));
  Value sinks;
  if (getSinks()) {
    sinks = b.broadcast(b.widen(getSinks()), max, {1, 2});
    max = b.make<arith::MaximumFOp>(max, sinks);
  }
  Value e = b.exp(b.sub(scores, b.broadcastAlong(max, scores, KeyDim)));
  Value sum = b.reduce(ReduceKind::Sum, e, KeyDim);
  if (sinks)
    sum = b.add(sum, b.exp(b.sub(sinks, max)));
  Value isZero = b.compare(arith::CmpFPredicate::OEQ, sum, b.splat(sum, 0.0));
  Value divisor = b.select(isZero, b.splat(sum, 1.0), sum);
  Value out =
      b.einsum("bgrst,btge->bsgre", e, b.widen(getV()),
               cast<RankedTensorType>(getResult().getType()).getShape());
  auto byQuery = [&](Value number) {
    return permute(b, number, {0, QueryDim, 1, 2});
  };
  out = b.div(out, b.alongRows(byQuery(divisor), out));
  Values results{b.narrow(out, getResult().getType())};
  if (getStats().empty())
    return results;
  Value log = b.make<math::LogOp>(divisor);
  AttentionStat stat{byQuery(max), Value()};
  if (!getBias())
    log = b.add(log, max);
  log = byQuery(b.select(isZero, b.splat(log, -kInfinity), log));
  (getBias() ? stat.logSum : stat.shift) = log;
  results.push_back(buildStat(builder, getLoc(), stat));
  return results;
}

/// Follows the op's documentation with the scores written out, so that the sums
/// over keys, queries, heads and dims are plain.
FailureOr<Values> AttentionBackwardOp::decompose(OpBuilder &builder,
                                                 const llvm::SmallBitVector &) {
  TensorBuilder b(builder, getLoc());
  Value q = b.widen(getQ()), k = b.widen(getK()), v = b.widen(getV());
  Value grad = b.widen(getGrad()), out = b.widen(getOut()), slope;
  Value scores = buildScores(b, *this, slope);
  // Repeats a number per query along the keys.
  auto alongKeys = [&](Value number) {
    return number ? b.alongRows(permute(b, number, {0, 2, 3, 1}), scores)
                  : Value();
  };
  AttentionStat stat = readStat(builder, getLoc(), getLogsumexp());
  Value p = b.exp(
      subtract(b, scores, {alongKeys(stat.shift), alongKeys(stat.logSum)}));
  // A score of minus infinity from the bias has no weight, whatever the stat.
  if (getBias())
    p = b.select(b.compare(arith::CmpFPredicate::OEQ, scores,
                           b.splat(scores, -kInfinity)),
                 b.splat(p, 0), p);
  p = hide(b, *this, p, 0.0);
  Value delta =
      b.einsum("bsgre,bsgre->bsgr", grad, out, b.typeOf(stat.shift).getShape());
  Value dp = b.einsum("bsgre,btge->bgrst", grad, v, b.typeOf(p).getShape());
  Value ds = b.mul(p, b.sub(dp, alongKeys(delta)));
  ds = b.mul(ds, b.splat(ds, getScale().convertToDouble()));
  if (slope)
    ds = b.mul(ds, slope);
  Value dq = b.einsum("bgrst,btgd->bsgrd", ds, k, b.typeOf(q).getShape());
  Value dk = b.einsum("bgrst,bsgrd->btgd", ds, q, b.typeOf(k).getShape());
  Value dv = b.einsum("bgrst,bsgre->btge", p, grad, b.typeOf(v).getShape());
  return Values{b.narrow(dq, getDq().getType()),
                b.narrow(dk, getDk().getType()),
                b.narrow(dv, getDv().getType())};
}

//===----------------------------------------------------------------------===//
// Bytecode
//===----------------------------------------------------------------------===//

/// The first version whose attention has a bias, sinks and a softcap.
constexpr uint64_t kTermsVersion = 2;

/// The number of a version that a reader found or a writer was asked for.
static uint64_t getNumber(FailureOr<const DialectVersion *> version) {
  return succeeded(version)
             ? static_cast<const BytecodeVersion *>(*version)->number
             : kCurrentVersion;
}

/// Reads the properties of attention or of its gradients. Older versions have
/// fewer attributes, and fewer operands at the end.
template <typename Op>
static LogicalResult readAttention(DialectBytecodeReader &reader,
                                   OperationState &state) {
  auto &p = state.getOrAddProperties<typename Op::Properties>();
  bool hasTerms =
      getNumber(reader.getDialectVersion<NNDialect>()) >= kTermsVersion;
  return success(
      (!hasTerms || succeeded(reader.readOptionalAttribute(p.bias_dims))) &&
      succeeded(reader.readOptionalAttribute(p.causal)) &&
      succeeded(reader.readOptionalAttribute(p.key_size)) &&
      succeeded(reader.readOptionalAttribute(p.order)) &&
      succeeded(reader.readAttribute(p.scale)) &&
      (!hasTerms || succeeded(reader.readOptionalAttribute(p.softcap))) &&
      succeeded(reader.readOptionalAttribute(p.window)) &&
      succeeded(
          reader.readSparseArray(MutableArrayRef(p.operandSegmentSizes))));
}

template <typename Op>
static void writeAttention(Op op, DialectBytecodeWriter &writer) {
  auto &p = op.getProperties();
  bool hasTerms =
      getNumber(writer.getDialectVersion(NNDialect::getDialectNamespace())) >=
      kTermsVersion;
  if (hasTerms)
    writer.writeOptionalAttribute(p.bias_dims);
  writer.writeOptionalAttribute(p.causal);
  writer.writeOptionalAttribute(p.key_size);
  writer.writeOptionalAttribute(p.order);
  writer.writeAttribute(p.scale);
  if (hasTerms)
    writer.writeOptionalAttribute(p.softcap);
  writer.writeOptionalAttribute(p.window);
  writer.writeSparseArray(ArrayRef(p.operandSegmentSizes));
}

LogicalResult AttentionOp::readProperties(DialectBytecodeReader &reader,
                                          OperationState &state) {
  return readAttention<AttentionOp>(reader, state);
}
void AttentionOp::writeProperties(DialectBytecodeWriter &writer) {
  writeAttention(*this, writer);
}
LogicalResult AttentionBackwardOp::readProperties(DialectBytecodeReader &reader,
                                                  OperationState &state) {
  return readAttention<AttentionBackwardOp>(reader, state);
}
void AttentionBackwardOp::writeProperties(DialectBytecodeWriter &writer) {
  writeAttention(*this, writer);
}
