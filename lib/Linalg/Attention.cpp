//===- Attention.cpp - Attention as contractions and row ops --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/NN.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "tessera/Linalg/Patterns.h"

using namespace mlir;
using namespace tessera;

static Value zeroWhere(GenericBuilder &b, Value condition, Value otherwise) {
  Value zero = b.constant(otherwise.getType(), 0);
  return arith::SelectOp::create(b, condition, zero, otherwise);
}

namespace {

/// Builds attention op `op` (forward or backward) from ops: tensors of scores
/// are [B, G, R, S, T].
template <typename Op> struct Scores {
  Scores(GenericBuilder &b, Op op, ContractionBuilder builder)
      : b(b), op(op), builder(builder),
        q(cast<RankedTensorType>(op.getQ().getType())),
        k(cast<RankedTensorType>(op.getK().getType())),
        v(cast<RankedTensorType>(op.getV().getType())),
        wide(getWideType(q.getElementType())),
        shape({q.getDimSize(0), q.getDimSize(2), q.getDimSize(3),
               q.getDimSize(1), k.getDimSize(1)}),
        all(b.identity(5)), row(b.leading(5, 4)) {}

  // Letters b s g r x t, and the letters of each kind of tensor.
  enum : unsigned { B, S, G, R, X, T };
  using Letters = Einsum::Letters;
  static Letters rowLetters() { return {B, S, G, R, X}; }
  static Letters keyLetters() { return {B, T, G, X}; }
  static Letters scoreLetters() { return {B, G, R, S, T}; }

  /// Contracts tensors with these letters, where x has size `dim`.
  Value contract(Value lhs, Letters lhsLetters, Value rhs, Letters rhsLetters,
                 RankedTensorType type, Letters letters, int64_t dim) {
    Einsum einsum{std::move(lhsLetters),
                  std::move(rhsLetters),
                  std::move(letters),
                  {shape[0], shape[3], shape[1], shape[2], dim, shape[4]}};
    return builder(b, einsum, b.castTensor(lhs, wide), b.castTensor(rhs, wide),
                   RankedTensorType::get(type.getShape(), wide));
  }

  RankedTensorType scoreType() { return RankedTensorType::get(shape, wide); }

  /// Builds the derivative of a softcap at the scores; null without one.
  Value capSlope() {
    if (!op.getSoftcap())
      return Value();
    return b.map(shape, wide, {{raw, all}}, [&](ValueRange values) {
      Value tanh = tanhOfCap(values[0]);
      return arith::SubFOp::create(b, b.constant(wide, 1),
                                   arith::MulFOp::create(b, tanh, tanh));
    });
  }

  /// Builds tanh(scale x / softcap).
  Value tanhOfCap(Value x) {
    double factor =
        op.getScale().convertToDouble() / op.getSoftcap()->convertToDouble();
    return math::TanhOp::create(
        b, arith::MulFOp::create(b, x, b.constant(wide, factor)));
  }

  /// Maps loops b g r s t to the dimensions of a bias, of b s g r t.
  AffineMap biasMap() {
    constexpr unsigned loops[] = {0, 3, 1, 2, 4};
    SmallVector<unsigned> dims;
    for (int64_t dim : op.getBiasDimsAttr().asArrayRef())
      dims.push_back(loops[dim]);
    return b.project(5, dims);
  }

  /// Builds the scores: scale q.k, the softcap and the bias, and -inf for a
  /// hidden key.
  Value masked() {
    Value scores = contract(op.getQ(), rowLetters(), op.getK(), keyLetters(),
                            scoreType(), scoreLetters(), q.getDimSize(4));
    raw = scores;
    SmallVector<GenericBuilder::Input> inputs{{scores, all}};
    if (Value bias = op.getBias())
      inputs.push_back({b.castTensor(bias, wide), biasMap()});
    if (Value starts = op.getStarts())
      inputs.push_back({starts, b.project(5, {0, 3})});
    return b.map(shape, wide, inputs, [&](ValueRange values) {
      Value key = b.position(4, op.getKOffset());
      Value seen = arith::ConstantOp::create(b, b.getBoolAttr(true));
      if (op.getKeySize())
        seen = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, key,
                                     b.index(*op.getKeySize()));
      if (op.getCausal())
        seen = arith::AndIOp::create(
            b, seen,
            arith::CmpIOp::create(b, arith::CmpIPredicate::sle, key,
                                  b.position(3, op.getQOffset())));
      if (op.getWindow()) {
        // A key is seen if the query is before the end of its window.
        Value end = arith::AddIOp::create(b, key, b.index(*op.getWindow()));
        seen = arith::AndIOp::create(
            b, seen,
            arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, end,
                                  b.position(3, op.getQOffset())));
      }
      if (op.getStarts()) {
        Value start =
            arith::IndexCastOp::create(b, b.getIndexType(), values.back());
        seen = arith::AndIOp::create(
            b, seen,
            arith::CmpIOp::create(b, arith::CmpIPredicate::sge, key, start));
      }
      Value scaled =
          op.getSoftcap()
              ? arith::MulFOp::create(
                    b, tanhOfCap(values[0]),
                    b.constant(wide, op.getSoftcap()->convertToDouble()))
              : arith::MulFOp::create(
                    b, values[0],
                    b.constant(wide, op.getScale().convertToDouble()));
      if (op.getBias())
        scaled = arith::AddFOp::create(b, scaled, values[1]);
      return arith::SelectOp::create(b, seen, scaled, hidden());
    });
  }

  Value hidden() {
    return arith::ConstantOp::create(b, b.neutral(Combiner::Max, wide));
  }

  /// Builds exp(score - shifts of the row), 0 for a hidden score: a row without
  /// keys gives 0, not NaN.
  Value exponentials(Value scores, ArrayRef<GenericBuilder::Input> shifts) {
    SmallVector<GenericBuilder::Input> inputs{{scores, all}};
    llvm::append_range(inputs, shifts);
    return b.map(shape, wide, inputs, [&](ValueRange v) {
      Value none =
          arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, v[0], hidden());
      Value difference = v[0];
      for (Value shift : v.drop_front())
        difference = arith::SubFOp::create(b, difference, shift);
      return zeroWhere(b, none, math::ExpOp::create(b, difference));
    });
  }

  GenericBuilder &b;
  Op op;
  ContractionBuilder builder;
  RankedTensorType q, k, v;
  Type wide;
  SmallVector<int64_t> shape;
  AffineMap all, row;
  /// The products of queries and keys, once they are built.
  Value raw;
};

} // namespace

SmallVector<Value> tessera::buildAttention(GenericBuilder &b,
                                           nn::AttentionOp op,
                                           ContractionBuilder contract) {
  Scores<nn::AttentionOp> s(b, op, contract);
  Value masked = s.masked();
  Value largest =
      b.reduce(Combiner::Max, s.shape, s.row, s.wide, {{masked, s.all}},
               [](ValueRange v) { return v[0]; });
  Value exps = s.exponentials(masked, {{largest, s.row}});
  Value sum = b.reduce(Combiner::Sum, s.shape, s.row, s.wide, {{exps, s.all}},
                       [](ValueRange v) { return v[0]; });
  Value weights =
      b.map(s.shape, s.wide, {{exps, s.all}, {sum, s.row}}, [&](ValueRange v) {
        Value empty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, v[1],
                                            b.constant(s.wide, 0));
        return zeroWhere(b, empty, arith::DivFOp::create(b, v[0], v[1]));
      });
  auto type = cast<RankedTensorType>(op.getResult().getType());
  SmallVector<Value> results{s.contract(weights, s.scoreLetters(), op.getV(),
                                        s.keyLetters(), type, s.rowLetters(),
                                        type.getDimSize(4))};
  // Stats are [B, S, G, R], rows of scores [B, G, R, S]. log(0) is -inf.
  AffineMap order = b.project(4, {0, 2, 3, 1});
  if (op.getStats().empty())
    return results;
  bool hasBias = bool(op.getBias());
  Value logs =
      b.map(type.getShape().drop_back(), s.wide,
            {{sum, order}, {largest, order}}, [&](ValueRange v) {
              Value empty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ,
                                                  v[0], b.constant(s.wide, 0));
              Value value = math::LogOp::create(b, v[0]);
              if (!hasBias)
                value = arith::AddFOp::create(b, value, v[1]);
              return arith::SelectOp::create(b, empty, s.hidden(), value);
            });
  nn::AttentionStat stat{logs, Value()};
  if (hasBias) {
    auto semantics = &cast<FloatType>(s.wide).getFloatSemantics();
    APFloat lowest = APFloat::getLargest(*semantics, /*Negative=*/true);
    stat.logSum = logs;
    stat.shift = b.map(type.getShape().drop_back(), s.wide, {{largest, order}},
                       [&](ValueRange v) -> Value {
                         Value floor =
                             b.constant(s.wide, lowest.convertToDouble());
                         return arith::MaximumFOp::create(b, v[0], floor);
                       });
  }
  results.push_back(nn::buildStat(b, op.getLoc(), stat));
  return results;
}

SmallVector<Value>
tessera::buildAttentionBackward(GenericBuilder &b, nn::AttentionBackwardOp op,
                                ContractionBuilder contract) {
  Scores<nn::AttentionBackwardOp> s(b, op, contract);
  int64_t dim = s.q.getDimSize(4), values = s.v.getDimSize(3);
  // Maps loops b g r s t to a tensor [B, S, G, R].
  AffineMap stat = b.project(5, {0, 3, 1, 2});
  nn::AttentionStat parts = nn::readStat(b, op.getLoc(), op.getLogsumexp());
  SmallVector<GenericBuilder::Input> shifts{{parts.shift, stat}};
  if (parts.logSum)
    shifts.push_back({parts.logSum, stat});
  Value weights = s.exponentials(s.masked(), shifts);
  auto outType = cast<RankedTensorType>(op.getOut().getType());
  AffineMap five = b.identity(5);
  Value delta =
      b.reduce(Combiner::Sum, outType.getShape(), b.leading(5, 4), s.wide,
               {{op.getGrad(), five}, {op.getOut(), five}}, [&](ValueRange v) {
                 return arith::MulFOp::create(b, b.widen(v[0]), b.widen(v[1]));
               });
  Value dWeights =
      s.contract(op.getGrad(), s.rowLetters(), op.getV(), s.keyLetters(),
                 s.scoreType(), s.scoreLetters(), values);
  SmallVector<GenericBuilder::Input> inputs{
      {weights, s.all}, {dWeights, s.all}, {delta, stat}};
  if (Value slope = s.capSlope())
    inputs.push_back({slope, s.all});
  Value dScores = b.map(s.shape, s.wide, inputs, [&](ValueRange v) {
    Value slope = arith::SubFOp::create(b, v[1], v[2]);
    slope = arith::MulFOp::create(b, v[0], slope);
    for (Value cap : v.drop_front(3))
      slope = arith::MulFOp::create(b, slope, cap);
    return arith::MulFOp::create(
        b, slope, b.constant(s.wide, op.getScale().convertToDouble()));
  });
  return {s.contract(dScores, s.scoreLetters(), op.getK(), s.keyLetters(), s.q,
                     s.rowLetters(), dim),
          s.contract(dScores, s.scoreLetters(), op.getQ(), s.rowLetters(), s.k,
                     s.keyLetters(), dim),
          s.contract(weights, s.scoreLetters(), op.getGrad(), s.rowLetters(),
                     s.v, s.keyLetters(), values)};
}
