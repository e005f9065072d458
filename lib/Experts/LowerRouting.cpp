//===- LowerRouting.cpp - The choice of experts ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The largest elements of a row are found one after the other: the largest key
// that comes after the one before, then the first position that has it. A key
// is an integer in the order of the numbers, with NaN above all.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "dialects/RT/RT.h"

using namespace mlir;
using namespace tessera;

Value tessera::castIds(GenericBuilder &b, Value ids) {
  Type element = getElementTypeOrSelf(ids.getType());
  if (element.isInteger(32) || element.isInteger(64))
    return ids;
  return b.castTensor(ids, element.getIntOrFloatBitWidth() < 32
                               ? b.getI32Type()
                               : b.getI64Type());
}

Value tessera::lowerExpertCapacity(GenericBuilder &b, nn::ExpertCapacityOp op) {
  Value ids = castIds(b, op.getIds());
  Type element = op.getScores().getType().getElementType();
  Value scores = b.castTensor(op.getScores(), getWideType(element));
  DenseI64ArrayAttr order;
  if (nn::ZigzagAttr zigzag = op.getOrderAttr())
    order = b.getDenseI64ArrayAttr({zigzag.getShards(), zigzag.getSize()});
  Value kept = rt::ExpertCapacityOp::create(
      b, ids.getType(), ids, scores, op.getCapacity(), op.getExperts(), order);
  return b.castTensor(kept, op.getIds().getType().getElementType());
}

namespace {

/// Integers in the order of floats of a type, and the floats that they stand
/// for. The bits of a float are in its order if it is positive, and in the
/// reverse order if it is negative.
struct Keys {
  Keys(GenericBuilder &b, FloatType type)
      : b(b), wide(type), bits(type.getWidth()), type(b.getIntegerType(bits)) {}

  Value constant(const APInt &value) {
    return arith::ConstantOp::create(b, b.getIntegerAttr(type, value));
  }
  Value most() { return constant(APInt::getSignedMaxValue(bits)); }
  Value least() { return constant(APInt::getSignedMinValue(bits)); }

  /// Exchanges bits of floats and keys.
  Value flip(Value value) {
    Value sign =
        arith::ShRSIOp::create(b, value, constant(APInt(bits, bits - 1)));
    Value mask = arith::AndIOp::create(b, sign, most());
    return arith::XOrIOp::create(b, value, mask);
  }
  Value of(Value x) {
    // Both zeros are equal.
    Value zero = b.constant(wide, 0);
    Value isZero = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x, zero);
    x = arith::SelectOp::create(b, isZero, zero, x);
    Value isNaN = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, x, x);
    Value key = flip(arith::BitcastOp::create(b, type, x));
    return arith::SelectOp::create(b, isNaN, most(), key);
  }
  Value toFloat(Value key) {
    return arith::BitcastOp::create(b, wide, flip(key));
  }

  GenericBuilder &b;
  FloatType wide;
  unsigned bits;
  IntegerType type;
};

/// The search of the largest keys of each row of a tensor [rows..., size].
struct Picks {
  Picks(GenericBuilder &b, Keys &keys, Value x, Type position)
      : b(b), keys(keys), x(x), position(position),
        shape(cast<RankedTensorType>(x.getType()).getShape()),
        rank(shape.size()), all(b.identity(rank)),
        row(b.leading(rank, rank - 1)) {}

  /// Finds the next largest key of each row: [rows...], and its position.
  std::pair<Value, Value> next() {
    SmallVector<GenericBuilder::Input> inputs{{x, all}};
    if (key)
      inputs.append({{key, row}, {place, row}});
    Value best =
        b.reduce(Combiner::Max, shape, row, keys.type, inputs,
                 [&](ValueRange v) -> Value {
                   return key ? Value(arith::SelectOp::create(
                                    b, comesAfter(v), v[0], keys.least()))
                              : v[0];
                 });
    inputs.push_back({best, row});
    Value at = b.reduce(
        Combiner::Min, shape, row, position, inputs, [&](ValueRange v) {
          Value isBest = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                               v[0], v[v.size() - 1]);
          if (key)
            isBest = arith::AndIOp::create(b, isBest, comesAfter(v));
          Value none =
              arith::ConstantOp::create(b, b.neutral(Combiner::Min, position));
          return arith::SelectOp::create(b, isBest, here(), none);
        });
    key = best;
    place = at;
    return {best, at};
  }

  /// Finds the next `count` positions, as [rows..., count].
  Value find(int64_t count) {
    SmallVector<GenericBuilder::Input> found;
    for (int64_t i = 0; i < count; ++i)
      found.push_back({next().second, row});
    SmallVector<int64_t> result(shape);
    result.back() = count;
    return b.map(result, position, found, [&](ValueRange v) {
      Value chosen = v[0];
      for (int64_t i = 1; i < count; ++i) {
        Value isHere = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                             b.loop(rank - 1), b.index(i));
        chosen = arith::SelectOp::create(b, isHere, v[i], chosen);
      }
      return chosen;
    });
  }

private:
  Value here() {
    return arith::IndexCastOp::create(b, position, b.loop(rank - 1));
  }
  /// Whether element v[0] comes after the last one found: its key v[1] and
  /// position v[2].
  Value comesAfter(ValueRange v) {
    Value isLess =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, v[0], v[1]);
    Value isEqual =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, v[0], v[1]);
    Value isLater =
        arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, here(), v[2]);
    return arith::OrIOp::create(b, isLess,
                                arith::AndIOp::create(b, isEqual, isLater));
  }

  GenericBuilder &b;
  Keys &keys;
  Value x;
  Type position;
  ArrayRef<int64_t> shape;
  unsigned rank;
  AffineMap all, row;
  /// The last key found, and its position.
  Value key, place;
};

} // namespace

/// Builds the keys [rows..., size] with the least key for elements of groups
/// that are not chosen.
static Value maskGroups(GenericBuilder &b, Keys &keys, nn::TopKOp op,
                        Value elements, Type position) {
  auto type = cast<RankedTensorType>(elements.getType());
  int64_t rank = type.getRank(), groups = *op.getGroups();
  int64_t size = type.getShape().back() / groups;
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = groups;
  SmallVector<int64_t> outer(shape);
  shape.push_back(size);
  SmallVector<ReassociationIndices> split;
  for (int64_t dim = 0; dim < rank; ++dim)
    split.push_back({dim});
  split.back().push_back(rank);
  Value grouped =
      tensor::ExpandShapeOp::create(b, type.clone(shape), elements, split);
  Picks inGroup(b, keys, grouped, position);
  Value score = inGroup.next().first;
  if (*op.getGroupScore() == nn::GroupScore::Sum2) {
    Value second = inGroup.next().first;
    score = b.map(outer, keys.type,
                  {{score, b.identity(rank)}, {second, b.identity(rank)}},
                  [&](ValueRange v) {
                    return keys.of(arith::AddFOp::create(b, keys.toFloat(v[0]),
                                                         keys.toFloat(v[1])));
                  });
  }
  Picks ofGroups(b, keys, score, position);
  SmallVector<GenericBuilder::Input> inputs{{grouped, b.identity(rank + 1)}};
  for (uint64_t i = 0; i < *op.getChosenGroups(); ++i)
    inputs.push_back({ofGroups.next().second, b.leading(rank + 1, rank - 1)});
  Value masked = b.map(shape, keys.type, inputs, [&](ValueRange v) {
    Value group = arith::IndexCastOp::create(b, position, b.loop(rank - 1));
    Value isIn = arith::ConstantOp::create(b, b.getBoolAttr(false));
    for (Value chosen : v.drop_front())
      isIn = arith::OrIOp::create(
          b, isIn,
          arith::CmpIOp::create(b, arith::CmpIPredicate::eq, chosen, group));
    return arith::SelectOp::create(b, isIn, v[0], keys.least());
  });
  return tensor::CollapseShapeOp::create(b, type, masked, split);
}

Value tessera::lowerTopK(GenericBuilder &b, nn::TopKOp op) {
  RankedTensorType type = op.getX().getType();
  Keys keys(b, cast<FloatType>(getWideType(type.getElementType())));
  Type position = op.getType().getElementType();
  unsigned rank = type.getRank();
  Value elements =
      b.map(type.getShape(), keys.type, {{op.getX(), b.identity(rank)}},
            [&](ValueRange v) -> Value {
              Value key = keys.of(b.widen(v[0]));
              if (!op.getSmallest())
                return key;
              return arith::XOrIOp::create(
                  b, key, keys.constant(APInt::getAllOnes(keys.bits)));
            });
  if (op.getGroups())
    elements = maskGroups(b, keys, op, elements, position);
  return Picks(b, keys, elements, position).find(op.getK());
}
