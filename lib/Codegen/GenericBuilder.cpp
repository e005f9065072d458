//===- GenericBuilder.cpp - Builds linalg.generic on tensors --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Codegen/GenericBuilder.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace tessera;
using utils::IteratorType;

Type tessera::getWideType(Type element) {
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32)
    return Float32Type::get(element.getContext());
  return element;
}

AffineMap GenericBuilder::project(unsigned numLoops, ArrayRef<unsigned> dims) {
  SmallVector<AffineExpr> results;
  for (unsigned dim : dims)
    results.push_back(getAffineDimExpr(dim));
  return AffineMap::get(numLoops, 0, results, getContext());
}

AffineMap GenericBuilder::identity(unsigned numLoops) {
  return AffineMap::getMultiDimIdentityMap(numLoops, getContext());
}

AffineMap GenericBuilder::dropLoop(unsigned numLoops, unsigned loop) {
  return identity(numLoops).dropResult(loop);
}

AffineMap GenericBuilder::leading(unsigned numLoops, unsigned count) {
  return project(numLoops, llvm::to_vector(llvm::seq<unsigned>(0, count)));
}

SmallVector<Value> GenericBuilder::mapMany(
    ArrayRef<int64_t> shape, ArrayRef<Type> elements, ArrayRef<Input> inputs,
    llvm::function_ref<SmallVector<Value>(ValueRange)> body) {
  SmallVector<Value> operands, inits;
  SmallVector<AffineMap> maps;
  for (const Input &input : inputs) {
    operands.push_back(input.tensor);
    maps.push_back(input.map);
  }
  SmallVector<Type> types;
  for (Type element : elements) {
    inits.push_back(tensor::EmptyOp::create(*this, shape, element));
    maps.push_back(identity(shape.size()));
    types.push_back(inits.back().getType());
  }
  SmallVector<IteratorType> iterators(shape.size(), IteratorType::parallel);
  auto op = linalg::GenericOp::create(
      *this, types, operands, inits, maps, iterators,
      [&](OpBuilder &nested, Location loc, ValueRange args) {
        OpBuilder::InsertionGuard guard(*this);
        setInsertionPointToEnd(nested.getInsertionBlock());
        linalg::YieldOp::create(*this, body(args.drop_back(elements.size())));
      });
  return SmallVector<Value>(op.getResults());
}

Value GenericBuilder::map(ArrayRef<int64_t> shape, Type element,
                          ArrayRef<Input> inputs, Body body) {
  return mapMany(shape, element, inputs,
                 [&](ValueRange args) -> SmallVector<Value> {
                   return {body(args)};
                 })
      .front();
}

Value GenericBuilder::castTensor(Value value, Type element) {
  auto type = llvm::cast<RankedTensorType>(value.getType());
  if (type.getElementType() == element)
    return value;
  return map(type.getShape(), element, {{value, identity(type.getRank())}},
             [&](ValueRange v) { return cast(v[0], element); });
}

Value GenericBuilder::reduce(Combiner combiner, ArrayRef<int64_t> loops,
                             AffineMap resultMap, Type element,
                             ArrayRef<Input> inputs, Body body) {
  SmallVector<Value> operands;
  SmallVector<AffineMap> maps;
  for (const Input &input : inputs) {
    operands.push_back(input.tensor);
    maps.push_back(input.map);
  }
  maps.push_back(resultMap);
  SmallVector<IteratorType> iterators(loops.size(), IteratorType::reduction);
  SmallVector<int64_t> shape;
  for (AffineExpr expr : resultMap.getResults()) {
    unsigned dim = llvm::cast<AffineDimExpr>(expr).getPosition();
    iterators[dim] = IteratorType::parallel;
    shape.push_back(loops[dim]);
  }
  Value empty = tensor::EmptyOp::create(*this, shape, element);
  Value start = arith::ConstantOp::create(*this, neutral(combiner, element));
  Value init = linalg::FillOp::create(*this, start, empty).getResult(0);
  auto op = linalg::GenericOp::create(
      *this, init.getType(), operands, init, maps, iterators,
      [&](OpBuilder &nested, Location loc, ValueRange args) {
        OpBuilder::InsertionGuard guard(*this);
        setInsertionPointToEnd(nested.getInsertionBlock());
        Value value = body(args.drop_back());
        linalg::YieldOp::create(*this, combine(combiner, args.back(), value));
      });
  return op.getResult(0);
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value GenericBuilder::constant(Type type, double value) {
  if (isa<FloatType>(type))
    return arith::ConstantOp::create(*this, getFloatAttr(type, value));
  return arith::ConstantOp::create(*this, getIntegerAttr(type, int64_t(value)));
}

Value GenericBuilder::index(int64_t value) {
  return arith::ConstantIndexOp::create(*this, value);
}

Value GenericBuilder::cast(Value value, Type type) {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  unsigned to = type.getIntOrFloatBitWidth();
  if (value.getType() == type)
    return value;
  if (isa<FloatType>(value.getType())) {
    if (from < to)
      return arith::ExtFOp::create(*this, type, value);
    if (from > to)
      return arith::TruncFOp::create(*this, type, value);
    // Cast f16 and bf16 through f32.
    return cast(cast(value, getF32Type()), type);
  }
  if (from < to)
    return arith::ExtSIOp::create(*this, type, value);
  return arith::TruncIOp::create(*this, type, value);
}

Value GenericBuilder::widen(Value value) {
  return cast(value, getWideType(value.getType()));
}

Value GenericBuilder::loop(unsigned number) {
  return linalg::IndexOp::create(*this, number);
}

Value GenericBuilder::position(unsigned number, Value offset) {
  Value here = loop(number);
  return offset ? arith::AddIOp::create(*this, here, offset) : here;
}

Value GenericBuilder::combine(Combiner combiner, Value a, Value b) {
  bool isFloat = isa<FloatType>(a.getType());
  bool isBool = a.getType().isInteger(1);
  switch (combiner) {
  case Combiner::Sum:
    return isFloat ? Value(arith::AddFOp::create(*this, a, b))
                   : Value(arith::AddIOp::create(*this, a, b));
  case Combiner::Max:
    if (isBool)
      return arith::OrIOp::create(*this, a, b);
    return isFloat ? Value(arith::MaximumFOp::create(*this, a, b))
                   : Value(arith::MaxSIOp::create(*this, a, b));
  case Combiner::Min:
    if (isBool)
      return arith::AndIOp::create(*this, a, b);
    return isFloat ? Value(arith::MinimumFOp::create(*this, a, b))
                   : Value(arith::MinSIOp::create(*this, a, b));
  }
  llvm_unreachable("unknown combiner");
}

TypedAttr GenericBuilder::neutral(Combiner combiner, Type element) {
  bool isMax = combiner == Combiner::Max;
  if (combiner == Combiner::Sum)
    return getZeroAttr(element);
  if (auto type = dyn_cast<FloatType>(element)) {
    const llvm::fltSemantics &semantics = type.getFloatSemantics();
    return FloatAttr::get(type, APFloat::semanticsHasInf(semantics)
                                    ? APFloat::getInf(semantics, isMax)
                                    : APFloat::getLargest(semantics, isMax));
  }
  unsigned bits = element.isIndex() ? IndexType::kInternalStorageBitWidth
                                    : element.getIntOrFloatBitWidth();
  if (bits == 1)
    return getIntegerAttr(element, isMax ? 0 : 1);
  return getIntegerAttr(element, isMax ? APInt::getSignedMinValue(bits)
                                       : APInt::getSignedMaxValue(bits));
}
