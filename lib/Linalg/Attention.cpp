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

  /// Builds scale q.k, and -inf for a hidden key.
  Value masked() {
    Value scores = contract(op.getQ(), rowLetters(), op.getK(), keyLetters(),
                            scoreType(), scoreLetters(), q.getDimSize(4));
    SmallVector<GenericBuilder::Input> inputs{{scores, all}};
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
            arith::IndexCastOp::create(b, b.getIndexType(), values[1]);
        seen = arith::AndIOp::create(
            b, seen,
            arith::CmpIOp::create(b, arith::CmpIPredicate::sge, key, start));
      }
      Value scaled = arith::MulFOp::create(
          b, values[0], b.constant(wide, op.getScale().convertToDouble()));
      return arith::SelectOp::create(b, seen, scaled, hidden());
    });
  }

  Value hidden() {
    return arith::ConstantOp::create(b, b.neutral(Combiner::Max, wide));
  }

  /// Builds exp(score - shift of the row), 0 for a hidden score: a row without
  /// keys gives 0, not NaN.
  Value exponentials(Value scores, Value shift, AffineMap shiftMap) {
    return b.map(
        shape, wide, {{scores, all}, {shift, shiftMap}}, [&](ValueRange v) {
          Value none = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, v[0],
                                             hidden());
          Value exp =
              math::ExpOp::create(b, arith::SubFOp::create(b, v[0], v[1]));
          return zeroWhere(b, none, exp);
        });
  }

  GenericBuilder &b;
  Op op;
  ContractionBuilder builder;
  RankedTensorType q, k, v;
  Type wide;
  SmallVector<int64_t> shape;
  AffineMap all, row;
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
  Value exps = s.exponentials(masked, largest, s.row);
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
  if (!op.getStats().empty())
    results.push_back(b.map(
        type.getShape().drop_back(), s.wide, {{sum, order}, {largest, order}},
        [&](ValueRange v) {
          Value empty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ,
                                              v[0], b.constant(s.wide, 0));
          Value value =
              arith::AddFOp::create(b, math::LogOp::create(b, v[0]), v[1]);
          return arith::SelectOp::create(b, empty, s.hidden(), value);
        }));
  return results;
}

SmallVector<Value>
tessera::buildAttentionBackward(GenericBuilder &b, nn::AttentionBackwardOp op,
                                ContractionBuilder contract) {
  Scores<nn::AttentionBackwardOp> s(b, op, contract);
  int64_t dim = s.q.getDimSize(4), values = s.v.getDimSize(3);
  // Maps loops b g r s t to a tensor [B, S, G, R].
  AffineMap stat = b.project(5, {0, 3, 1, 2});
  Value weights = s.exponentials(s.masked(), op.getLogsumexp(), stat);
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
  Value dScores = b.map(
      s.shape, s.wide, {{weights, s.all}, {dWeights, s.all}, {delta, stat}},
      [&](ValueRange v) {
        Value slope = arith::SubFOp::create(b, v[1], v[2]);
        slope = arith::MulFOp::create(b, v[0], slope);
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
