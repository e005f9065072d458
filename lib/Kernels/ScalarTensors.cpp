//===- ScalarTensors.cpp - Scalars stored in memory -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarTensors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tessera;

RankedTensorType tessera::getTensorOfScalar(Type type) {
  if (type.isIndex())
    type = IntegerType::get(type.getContext(), 64);
  return RankedTensorType::get({}, type);
}

Value tessera::loadScalar(ImplicitLocOpBuilder &b, Value tensor, Type type) {
  Value scalar = tensor::ExtractOp::create(b, tensor, ValueRange());
  if (type.isIndex())
    scalar = arith::IndexCastOp::create(b, type, scalar);
  return scalar;
}

Value tessera::storeScalar(ImplicitLocOpBuilder &b, Value scalar) {
  RankedTensorType type = getTensorOfScalar(scalar.getType());
  if (scalar.getType().isIndex())
    scalar = arith::IndexCastOp::create(b, type.getElementType(), scalar);
  Value empty =
      tensor::EmptyOp::create(b, type.getShape(), type.getElementType());
  return linalg::FillOp::create(b, scalar, empty).getResult(0);
}
