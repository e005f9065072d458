//===- ConvertOrders.cpp - Sorts and positions of extrema -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sort is the choice of all elements by nn.top_k, whose order is JAX's: zeros
// are equal, NaN is above all numbers, and the first of equal elements comes
// first. The elements are then taken by their positions, so that gradients pass
// as in JAX.
//
//===----------------------------------------------------------------------===//

#include "Indices.h"
#include "SourceBodies.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::stablehlo;

/// The list that `value` repeats along all dimensions but `dim`; null if there
/// is none.
static Value findList(Value value, int64_t dim) {
  if (GraphBuilder::typeOf(value).getRank() == 1)
    return value;
  auto broadcast = value.getDefiningOp<nn::BroadcastOp>();
  return broadcast && broadcast.getDims() == ArrayRef<int64_t>{dim}
             ? broadcast.getX()
             : Value();
}

/// Whether each element is its position along `dim`.
static bool isPositions(Value value, int64_t dim) {
  Value list = findList(value, dim);
  auto iota = list ? list.getDefiningOp<nn::IotaOp>() : nn::IotaOp();
  return iota && !iota.getOffset() && !iota.getOrderAttr();
}

/// Casts positions to the integers of `type`.
static Value castPositions(GraphBuilder &b, Value ids, RankedTensorType type) {
  unsigned from = b.typeOf(ids).getElementTypeBitWidth();
  unsigned to = type.getElementTypeBitWidth();
  RankedTensorType result = b.typeOf(ids).clone(type.getElementType());
  return from == to  ? ids
         : from < to ? b.fold<arith::ExtSIOp>(result, ids)
                     : b.fold<arith::TruncIOp>(result, ids);
}

/// The order of dimensions that exchanges `dim` and the last one.
static SmallVector<int64_t> exchangeLast(int64_t dim, int64_t rank) {
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(order[dim], order.back());
  return order;
}

//===----------------------------------------------------------------------===//
// Sorts
//===----------------------------------------------------------------------===//

/// Whether a sort by this comparator is descending; none if it is of another
/// kind. JAX compares in total order what has one zero and one NaN.
static std::optional<bool> isDescending(Region &comparator) {
  auto key = [](StringRef x) {
    return ("select(NE(" + x + "," + x + "),nan,select(EQ(" + x + ",0),0," + x +
            "))")
        .str();
  };
  std::string spelled = spellBody(comparator);
  std::string keys = "(" + key("0") + "," + key("1") + ")";
  if (spelled == "LT(0,1)" || spelled == "TLT" + keys)
    return false;
  if (spelled == "GT(0,1)" || spelled == "TGT" + keys)
    return true;
  return std::nullopt;
}

Value tessera::stablehlo::findKeys(const OpConversion &c) {
  RankedTensorType type = c.operandType(0);
  unsigned width = type.getElementTypeBitWidth();
  if (c.isFloat())
    return c.operands[0];
  if (width > 32)
    return Value();
  RankedTensorType keys =
      type.clone(width < 24 ? Type(c.b.b.getF32Type()) : c.b.b.getF64Type());
  return c.isBool() || c.isUnsigned()
             ? c.b.fold<arith::UIToFPOp>(keys, c.operands[0])
             : c.b.fold<arith::SIToFPOp>(keys, c.operands[0]);
}

Value tessera::stablehlo::fromKeys(const OpConversion &c, Value keys) {
  Type element = c.operandType(0).getElementType();
  RankedTensorType type = c.b.typeOf(keys).clone(element);
  if (c.isFloat())
    return keys;
  return c.isBool() || c.isUnsigned() ? c.b.fold<arith::FPToUIOp>(type, keys)
                                      : c.b.fold<arith::FPToSIOp>(type, keys);
}

static LogicalResult convertSort(OpConversion &c) {
  if (c.operands.empty() || c.op->getNumRegions() != 1)
    return c.error() << "expects operands and a comparator";
  RankedTensorType type = c.operandType(0);
  int64_t rank = type.getRank();
  auto dim = c.getDim("dimension", rank);
  if (failed(dim))
    return failure();
  std::optional<bool> descends = isDescending(c.op->getRegion(0));
  Value found = descends ? findKeys(c) : Value();
  if (!found)
    return c.error() << "expects floats that are sorted by LT or GT, of which "
                        "zeros are equal and NaN is above all, or integers of "
                        "at most 32 bits, but got "
                     << type;
  SmallVector<int64_t> order = exchangeLast(*dim, rank);
  auto moved = [&](Value x) { return c.b.transpose(x, order); };
  Value keys = moved(found);
  RankedTensorType idType = c.b.typeOf(keys).clone(c.b.b.getI32Type());
  Value ids = c.b.make<nn::TopKOp>(idType, keys, type.getDimSize(*dim),
                                   /*smallest=*/!*descends, IntegerAttr(),
                                   IntegerAttr(), nn::GroupScoreAttr());
  SmallVector<Value> results;
  for (auto [i, x] : llvm::enumerate(c.operands)) {
    RankedTensorType own = c.operandType(i);
    if (own.getShape() != type.getShape())
      return c.error() << "expects operands of one shape but got " << type
                       << " and " << own;
    Value floats = i == 0 ? found : x;
    if (isa<FloatType>(c.b.typeOf(floats).getElementType())) {
      Value taken = moved(c.b.make<nn::TakeAlongAxisOp>(
          c.b.typeOf(keys).clone(c.b.typeOf(floats).getElementType()),
          moved(floats), ids, Value(), IntegerAttr()));
      results.push_back(i == 0 ? fromKeys(c, taken) : taken);
    } else if (isPositions(x, *dim)) {
      results.push_back(moved(castPositions(c.b, ids, own)));
    } else if (Value list = findList(x, *dim)) {
      int64_t size = type.getDimSize(*dim);
      if (failed(checkLookUp(c, list, size, type.getNumElements())))
        return failure();
      Value rows = lookUpRows(c.b, c.b.reshape(list, {size, 1}), ids);
      results.push_back(moved(c.b.reshape(rows, c.b.typeOf(ids).getShape())));
    } else {
      return c.error()
             << "expects floats, or one list of integers for all rows, "
                "beside the keys but got "
             << own;
    }
  }
  return c.yield(results);
}

//===----------------------------------------------------------------------===//
// Positions of extrema
//===----------------------------------------------------------------------===//

/// Whether a body chooses the larger (GT) or smaller (LT) value and, of equal
/// ones, the first, or the first NaN.
static std::optional<nn::ReduceKind> matchArgReduce(Region &body) {
  std::string spelled = spellBody(body);
  for (auto [direction, kind] :
       {std::pair("GT", nn::ReduceKind::Max), {"LT", nn::ReduceKind::Min}}) {
    std::string isChosen = "or(" + std::string(direction) + "(0,2),NE(0,0))";
    if (spelled == "select(" + isChosen + ",0,2); select(or(" + isChosen +
                       ",and(EQ(0,2),LT(1,3))),1,3)")
      return kind;
  }
  return std::nullopt;
}

LogicalResult tessera::stablehlo::convertArgReduce(OpConversion &c) {
  auto dims = c.getIntegers("dimensions");
  RankedTensorType type = c.operandType(0), positions = c.operandType(1);
  if (failed(dims) || failed(c.checkDims(*dims, type.getRank(), "dimensions")))
    return failure();
  auto kind = c.op->getNumRegions() == 1 ? matchArgReduce(c.op->getRegion(0))
                                         : std::nullopt;
  auto first = dyn_cast_or_null<IntegerAttr>(getSplat(c.operands[3]));
  if (!kind || dims->size() != 1 ||
      !isPositions(c.operands[1], dims->front()) ||
      positions.getShape() != type.getShape() ||
      !isNeutral(getSplat(c.ordered(2)), *kind) || !first ||
      !first.getValue().isZero() || c.isBool())
    return c.error() << "expects a reduction of two tensors that is an argmax "
                        "or an argmin along one dimension";
  int64_t dim = dims->front();
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + dim);
  RankedTensorType result = type.clone(shape);
  auto found = nn::ArgReduceOp::create(c.b.b, c.b.loc, result,
                                       result.clone(c.b.b.getI32Type()), *kind,
                                       c.ordered(0), dim);
  Value value = c.orderedBack(found.getValue()), index = found.getIndex();
  if (c.isFloat()) {
    // The chosen element gets the gradient.
    SmallVector<int64_t> order;
    for (int64_t i = 0; i < type.getRank(); ++i)
      if (i != dim)
        order.push_back(i);
    order.push_back(dim);
    value = c.b.make<nn::TakeAlongAxisOp>(result,
                                          c.b.transpose(c.operands[0], order),
                                          index, Value(), IntegerAttr());
  }
  return c.yield({value, castPositions(c.b, index, positions)});
}

void tessera::stablehlo::addOrderHandlers(HandlerTable &t) {
  t.add("stablehlo.sort", HandlerTable::kAny, convertSort, HandlerTable::kAny);
}
