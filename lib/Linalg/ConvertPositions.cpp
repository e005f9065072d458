//===- ConvertPositions.cpp - Ops that depend on positions, to linalg -----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts ops whose value depends on the position of an element: linalg.index
// plus the op's offset. Reads at computed positions are tensor.extract in the
// body, with the index kept inside the tensor.
//
//===----------------------------------------------------------------------===//

#include "Lookup.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "tessera/Codegen/GenericBuilder.h"
#include "tessera/Linalg/Patterns.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tessera;

Lookup tessera::lookUp(GenericBuilder &b, Value id, Value offset, int64_t size,
                       std::optional<int64_t> limit) {
  // Unsigned: a negative position is beyond the size.
  auto isBelow = [&](Value position, int64_t end) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, position,
                                 b.index(end));
  };
  Value index = arith::IndexCastOp::create(b, b.getIndexType(), id);
  Value position = index;
  if (offset)
    position = arith::SubIOp::create(b, index, offset);
  Lookup lookup;
  lookup.inside = isBelow(position, size);
  if (limit)
    lookup.isKnown =
        offset || *limit != size ? isBelow(index, *limit) : lookup.inside;
  lookup.position =
      arith::SelectOp::create(b, lookup.inside, position, b.index(0));
  return lookup;
}

Value tessera::chooseRead(GenericBuilder &b, const Lookup &lookup, Value read) {
  Type type = read.getType();
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  if (lookup.isKnown == lookup.inside)
    return arith::SelectOp::create(b, lookup.inside, read,
                                   b.constant(type, none));
  read = arith::SelectOp::create(b, lookup.inside, read, b.constant(type, 0.0));
  if (!lookup.isKnown)
    return read;
  return arith::SelectOp::create(b, lookup.isKnown, read,
                                 b.constant(type, none));
}

namespace {

/// Returns the position of an index.
Value inOrder(GenericBuilder &b, Value index, nn::ZigzagAttr order) {
  return order ? order.buildPosition(b, b.getLoc(), index) : index;
}

struct ConvertEmbedding : OpRewritePattern<nn::EmbeddingOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::EmbeddingOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op.getResult().getType());
    unsigned rank = type.getRank();
    int64_t size =
        cast<RankedTensorType>(op.getTable().getType()).getDimSize(0);
    Value result = b.map(
        type.getShape(), type.getElementType(),
        {{op.getIds(), b.leading(rank, rank - 1)}}, [&](ValueRange v) {
          Lookup row = lookUp(b, v[0], op.getOffset(), size, op.getIdLimit());
          Value read = tensor::ExtractOp::create(
              b, op.getTable(), ValueRange{row.position, b.loop(rank - 1)});
          return chooseRead(b, row, read);
        });
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct ConvertTakeAlongAxis : OpRewritePattern<nn::TakeAlongAxisOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::TakeAlongAxisOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op.getResult().getType());
    ArrayRef<int64_t> shape = op.getX().getType().getShape();
    Value result =
        b.map(type.getShape(), type.getElementType(),
              {{op.getIndex(), b.identity(type.getRank())}}, [&](ValueRange v) {
                Lookup element = lookUp(b, v[0], op.getOffset(), shape.back(),
                                        op.getIndexLimit());
                SmallVector<Value> position;
                for (size_t i = 0; i + 1 < shape.size(); ++i)
                  position.push_back(b.loop(i));
                position.push_back(element.position);
                Value read = tensor::ExtractOp::create(b, op.getX(), position);
                return chooseRead(b, element, read);
              });
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct ConvertIota : OpRewritePattern<nn::IotaOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::IotaOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op.getResult().getType());
    Value result =
        b.map(type.getShape(), type.getElementType(), {}, [&](ValueRange) {
          return arith::IndexCastOp::create(
              b, type.getElementType(),
              inOrder(b, b.position(0, op.getOffset()), op.getOrderAttr()));
        });
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct ConvertMaskPadding : OpRewritePattern<nn::MaskPaddingOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::MaskPaddingOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op.getX().getType());
    Value result = b.map(
        type.getShape(), type.getElementType(),
        {{op.getX(), b.identity(type.getRank())}}, [&](ValueRange v) {
          Value position = b.position(op.getDim(), op.getOffset());
          Value isTrue = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                               position, b.index(op.getSize()));
          return arith::SelectOp::create(
              b, isTrue, v[0], arith::ConstantOp::create(b, op.getValue()));
        });
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// Returns the frequencies of rope, in radians per position: the given ones, or
/// theta^(-2i/n), stretched by the scaling.
SmallVector<double> ropeFrequencies(nn::RopeOp op, int64_t half) {
  if (auto given = op.getFrequencies())
    return SmallVector<double>(*given);
  SmallVector<double> frequencies;
  double theta = op.getTheta()->convertToDouble();
  for (int64_t i = 0; i < half; ++i) {
    double frequency = std::pow(theta, -double(i) / double(half));
    auto scaling = op.getScalingAttr();
    if (scaling && !scaling.getOriginalContext()) {
      frequency /= scaling.getFactor().getValueAsDouble();
    } else if (scaling) {
      double factor = scaling.getFactor().getValueAsDouble();
      double low = scaling.getLowFreqFactor().getValueAsDouble();
      double high = scaling.getHighFreqFactor().getValueAsDouble();
      double turns =
          double(scaling.getOriginalContext()) * frequency / (2 * M_PI);
      // 0 below `low` turns in the original context, 1 above `high`.
      double keep = std::clamp((turns - low) / (high - low), 0.0, 1.0);
      frequency = (1 - keep) * frequency / factor + keep * frequency;
    }
    frequencies.push_back(frequency);
  }
  return frequencies;
}

struct ConvertRope : OpRewritePattern<nn::RopeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::RopeOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op.getX().getType());
    unsigned rank = type.getRank();
    int64_t half = op.getRotatedWidth() / 2;
    SmallVector<Value> table = makeTable(b, op, half);
    if (2 * half < type.getShape().back()) {
      rewriter.replaceOp(op, rotateFirst(b, op, table));
      return success();
    }

    // x as [..., 2, half], or [..., half, 2] if pairs are neighbours; the loops
    // are its dimensions.
    unsigned side = op.getInterleaved() ? rank : rank - 1;
    unsigned pair = op.getInterleaved() ? rank - 1 : rank;
    SmallVector<int64_t> shape(type.getShape().drop_back());
    shape.append(2, 2);
    shape[pair] = half;
    SmallVector<ReassociationIndices> groups;
    for (unsigned i = 0; i < rank; ++i)
      groups.push_back({int64_t(i)});
    groups.back().push_back(rank);
    auto split = RankedTensorType::get(shape, type.getElementType());
    Value x = tensor::ExpandShapeOp::create(b, split, op.getX(), groups);

    AffineMap same = b.identity(rank + 1);
    SmallVector<AffineExpr> swapped(same.getResults());
    swapped[side] = 1 - b.getAffineDimExpr(side);
    AffineMap other = AffineMap::get(rank + 1, 0, swapped, b.getContext());
    AffineMap angle = b.project(rank + 1, {unsigned(op.getDim()), pair});
    Value y =
        b.map(shape, type.getElementType(),
              {{x, same}, {x, other}, {table[0], angle}, {table[1], angle}},
              [&](ValueRange v) {
                Value first = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                                    b.loop(side), b.index(0));
                return rotate(b, op, first, v[0], v[1], v[2], v[3]);
              });
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(op, type, y, groups);
    return success();
  }

  /// Builds x cos + y sin, with -sin for the first of a pair, or for the second
  /// if the op is inverse.
  static Value rotate(GenericBuilder &b, nn::RopeOp op, Value isFirst, Value x,
                      Value y, Value cosine, Value sine) {
    Value minus = arith::NegFOp::create(b, sine);
    sine = op.getInverse() ? arith::SelectOp::create(b, isFirst, sine, minus)
                           : arith::SelectOp::create(b, isFirst, minus, sine);
    Value rotated =
        arith::AddFOp::create(b, arith::MulFOp::create(b, b.widen(x), cosine),
                              arith::MulFOp::create(b, b.widen(y), sine));
    return b.cast(rotated, op.getX().getType().getElementType());
  }

  /// The position of an element in its pair.
  struct Pair {
    Value isFirst, other, number;
  };
  static Pair findPair(GenericBuilder &b, nn::RopeOp op, Value last) {
    auto isBelow = [&](Value value, Value end) -> Value {
      return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, value, end);
    };
    if (op.getInterleaved()) {
      Value one = b.index(1);
      Value second = arith::AndIOp::create(b, last, one);
      return {isBelow(second, one), arith::XOrIOp::create(b, last, one),
              arith::ShRUIOp::create(b, last, one)};
    }
    Value half = b.index(op.getRotatedWidth() / 2);
    Value isFirst = isBelow(last, half);
    Value before = arith::SubIOp::create(b, last, half);
    Value after = arith::AddIOp::create(b, last, half);
    return {isFirst, arith::SelectOp::create(b, isFirst, after, before),
            arith::SelectOp::create(b, isFirst, last, before)};
  }

  /// Rotates only the first elements of the last dimension. It reads the pair's
  /// other element and the angle at computed positions.
  static Value rotateFirst(GenericBuilder &b, nn::RopeOp op, ValueRange table) {
    RankedTensorType type = op.getX().getType();
    unsigned rank = type.getRank();
    return b.map(type.getShape(), type.getElementType(),
                 {{op.getX(), b.identity(rank)}}, [&](ValueRange v) -> Value {
                   Value last = b.loop(rank - 1);
                   auto [isFirst, other, pair] = findPair(b, op, last);
                   Value isRotated =
                       arith::CmpIOp::create(b, arith::CmpIPredicate::ult, last,
                                             b.index(op.getRotatedWidth()));
                   // Elements that stay do not read a pair.
                   other =
                       arith::SelectOp::create(b, isRotated, other, b.index(0));
                   pair =
                       arith::SelectOp::create(b, isRotated, pair, b.index(0));
                   SmallVector<Value> position;
                   for (unsigned i = 0; i + 1 < rank; ++i)
                     position.push_back(b.loop(i));
                   SmallVector<Value> angle{position[op.getDim()], pair};
                   position.push_back(other);
                   Value rotated =
                       rotate(b, op, isFirst, v[0],
                              tensor::ExtractOp::create(b, op.getX(), position),
                              tensor::ExtractOp::create(b, table[0], angle),
                              tensor::ExtractOp::create(b, table[1], angle));
                   return arith::SelectOp::create(b, isRotated, rotated, v[0]);
                 });
  }

  /// Builds cosines and sines of [position, frequency]. The angle is reduced to
  /// one turn in f64: positions reach millions, where f32 has no fraction bits
  /// left.
  static SmallVector<Value> makeTable(GenericBuilder &b, nn::RopeOp op,
                                      int64_t half) {
    auto type = cast<RankedTensorType>(op.getX().getType());
    Type wide = getWideType(type.getElementType());
    auto frequencyType = RankedTensorType::get({half}, b.getF64Type());
    SmallVector<double> values = ropeFrequencies(op, half);
    Value frequencies = arith::ConstantOp::create(
        b, DenseElementsAttr::get(frequencyType, ArrayRef<double>(values)));
    return b.mapMany(
        {type.getDimSize(op.getDim()), half}, {wide, wide},
        {{frequencies, b.project(2, {1})}},
        [&](ValueRange v) -> SmallVector<Value> {
          Value position = arith::IndexCastOp::create(
              b, b.getI64Type(),
              inOrder(b, b.position(0, op.getOffset()), op.getOrderAttr()));
          position = arith::SIToFPOp::create(b, b.getF64Type(), position);
          Value angle = arith::MulFOp::create(b, position, v[0]);
          Value turns = math::RoundEvenOp::create(
              b, arith::MulFOp::create(b, angle,
                                       b.constant(b.getF64Type(), 0.5 / M_PI)));
          angle = arith::SubFOp::create(
              b, angle,
              arith::MulFOp::create(b, turns,
                                    b.constant(b.getF64Type(), 2 * M_PI)));
          angle = b.cast(angle, wide);
          return {math::CosOp::create(b, angle), math::SinOp::create(b, angle)};
        });
  }
};

/// Keeps the whole value on coordinate 0, and the neutral element elsewhere.
struct ConvertToPartial : OpRewritePattern<dist::ToPartialOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(dist::ToPartialOp op,
                                PatternRewriter &rewriter) const override {
    GenericBuilder b(op.getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op.getType());
    Combiner combiner = op.getKind() == dist::ReductionKind::Sum ? Combiner::Sum
                        : op.getKind() == dist::ReductionKind::Max
                            ? Combiner::Max
                            : Combiner::Min;
    Value coordinate = dist::AxisOffsetOp::create(
        b, b.getIndexType(), op.getAxes(), /*local_size=*/1, op.getMesh());
    TypedAttr neutral = b.neutral(combiner, type.getElementType());
    Value result =
        b.map(type.getShape(), type.getElementType(),
              {{op.getInput(), b.identity(type.getRank())}}, [&](ValueRange v) {
                Value first = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                                    coordinate, b.index(0));
                return arith::SelectOp::create(
                    b, first, v[0], arith::ConstantOp::create(b, neutral));
              });
    rewriter.replaceOp(op, result);
    return success();
  }
};

} // namespace

void tessera::populatePositionPatterns(RewritePatternSet &patterns) {
  patterns.add<ConvertEmbedding, ConvertTakeAlongAxis, ConvertIota,
               ConvertMaskPadding, ConvertRope, ConvertToPartial>(
      patterns.getContext());
}
