//===- ConvertExperts.cpp - Choices of experts, and experts ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// StableHLO has no op on experts. A custom call `nn.experts` has the operands
// of the op of that name, x, ids, gates and three weights, and its activation:
//
//     custom_call @nn.experts(...) {mhlo.backend_config = {activation =
//     "silu"}}
//
//===----------------------------------------------------------------------===//

#include "Converter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::stablehlo;

/// The largest elements of the last dimension and their positions.
static LogicalResult convertTopK(OpConversion &c) {
  auto k = dyn_cast_or_null<IntegerAttr>(getSourceAttr(c.op, "k"));
  RankedTensorType type = c.operandType(0);
  Value keys = type.getRank() == 0 ? Value() : findKeys(c);
  if (!keys)
    return c.error() << "expects a row of floats, or of integers of at most 32 "
                        "bits, but got "
                     << type;
  if (!k || !k.getType().isInteger(64) || k.getInt() < 1 ||
      k.getInt() > type.getShape().back())
    return c.error() << "expects k in [1, " << type.getShape().back() << "]";
  auto element = dyn_cast<IntegerType>(c.resultType(1).getElementType());
  if (!element)
    return c.error() << "expects positions that are integers but got "
                     << c.resultType(1);
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = k.getInt();
  Value ids = c.b.make<nn::TopKOp>(RankedTensorType::get(shape, element), keys,
                                   k, UnitAttr(), IntegerAttr(), IntegerAttr(),
                                   nn::GroupScoreAttr());
  Value found = c.b.make<nn::TakeAlongAxisOp>(
      c.b.typeOf(keys).clone(shape), keys, ids, Value(), IntegerAttr());
  return c.yield({fromKeys(c, found), ids});
}

LogicalResult tessera::stablehlo::convertExperts(OpConversion &c) {
  auto config = dyn_cast_or_null<DictionaryAttr>(
      c.op->getDiscardableAttr("mhlo.backend_config"));
  auto name = config ? config.getAs<StringAttr>("activation") : StringAttr();
  auto activation =
      name ? nn::symbolizeActivation(name.getValue()) : std::nullopt;
  if (!activation)
    return c.error() << "expects silu, gelu or gelu_tanh as activation in "
                        "mhlo.backend_config";
  if (c.operands.size() != 6 || c.op->getNumResults() != 1)
    return c.error() << "expects x, ids, gates and three weights, and one "
                        "result";
  RankedTensorType weight = c.operandType(3);
  if (weight.getRank() != 3)
    return c.error() << "expects weights [experts, width, ffn] but got "
                     << weight;
  Builder &b = c.b.b;
  Value result = c.b.make<nn::ExpertsOp>(
      TypeRange(c.resultType()), c.operands[0], c.operands[1], c.operands[2],
      c.operands[3], c.operands[4], c.operands[5], Value(),
      nn::ActivationAttr::get(b.getContext(), *activation),
      b.getI64IntegerAttr(weight.getDimSize(0)));
  return c.yield(result);
}

void tessera::stablehlo::addExpertHandlers(HandlerTable &t) {
  t.add("chlo.top_k", 1, convertTopK, 2);
}
