//===- TensorBuilder.cpp - Ops on tensors of a graph ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorBuilder.h"

using namespace mlir;
using namespace tessera;

Location TensorBuilder::at(StringRef name) {
  return NameLoc::get(StringAttr::get(builder.getContext(), name));
}

Value TensorBuilder::einsum(StringRef spec, Value lhs, Value rhs) {
  return einsum(spec, lhs, rhs, element);
}

Value TensorBuilder::einsum(StringRef spec, Value lhs, Value rhs,
                            Type resultElement) {
  auto [operands, result] = spec.split("->");
  auto [lhsLetters, rhsLetters] = operands.split(',');
  auto lhsType = cast<RankedTensorType>(lhs.getType());
  auto rhsType = cast<RankedTensorType>(rhs.getType());
  SmallVector<int64_t> shape;
  for (char letter : result) {
    size_t inLhs = lhsLetters.find(letter);
    shape.push_back(inLhs != StringRef::npos
                        ? lhsType.getDimSize(inLhs)
                        : rhsType.getDimSize(rhsLetters.find(letter)));
  }
  return nn::EinsumOp::create(
      builder, RankedTensorType::get(shape, resultElement), spec, lhs, rhs);
}

Value TensorBuilder::splat(Value like, double number) {
  return splatOf(cast<RankedTensorType>(like.getType()), number);
}

Value TensorBuilder::splatOf(RankedTensorType type, double number) {
  Attribute value = builder.getFloatAttr(type.getElementType(), number);
  return arith::ConstantOp::create(
      builder, cast<TypedAttr>(DenseElementsAttr::get(type, value)));
}

Value TensorBuilder::scaleBy(Value x, double factor) {
  return arith::MulFOp::create(builder, x, splat(x, factor));
}

Value TensorBuilder::broadcastTo(Value x, Value like) {
  auto type = cast<RankedTensorType>(like.getType());
  int64_t rank = cast<RankedTensorType>(x.getType()).getRank();
  SmallVector<int64_t> dims =
      llvm::to_vector(llvm::seq(type.getRank() - rank, type.getRank()));
  return nn::BroadcastOp::create(builder, type, x, dims);
}

Value TensorBuilder::sum(Value x) {
  auto type = cast<RankedTensorType>(x.getType());
  SmallVector<int64_t> dims =
      llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  return nn::ReduceOp::create(builder,
                              RankedTensorType::get({}, type.getElementType()),
                              nn::ReduceKind::Sum, x, dims);
}

Value TensorBuilder::sigmoid(Value x) {
  Value zero = splat(x, 0.0), one = splat(x, 1.0);
  Value isBelow =
      arith::CmpFOp::create(builder, arith::CmpFPredicate::OLT, x, zero);
  Value minus = arith::SelectOp::create(builder, isBelow, x,
                                        arith::NegFOp::create(builder, x));
  Value e = math::ExpOp::create(builder, minus);
  return arith::DivFOp::create(
      builder, arith::SelectOp::create(builder, isBelow, e, one),
      arith::AddFOp::create(builder, one, e));
}

Value TensorBuilder::divideBySum(Value rows, double eps) {
  auto type = cast<RankedTensorType>(rows.getType());
  int64_t last = type.getRank() - 1;
  Value sums = nn::ReduceOp::create(
      builder,
      RankedTensorType::get(type.getShape().drop_back(), type.getElementType()),
      nn::ReduceKind::Sum, rows, ArrayRef<int64_t>{last});
  if (eps != 0.0)
    sums = arith::AddFOp::create(builder, sums, splat(sums, eps));
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, last));
  return arith::DivFOp::create(
      builder, rows, nn::BroadcastOp::create(builder, type, sums, dims));
}

Value TensorBuilder::activate(Activation activation, Value x) {
  switch (activation) {
  case Activation::GeluErf:
    return nn::GeluOp::create(builder, x, nn::GeluKind::Erf);
  case Activation::GeluTanh:
    return nn::GeluOp::create(builder, x, nn::GeluKind::Tanh);
  case Activation::QuickGelu: {
    constexpr double kSlope = 1.702;
    return scaleBy(nn::SiluOp::create(builder, scaleBy(x, kSlope)),
                   1.0 / kSlope);
  }
  case Activation::Relu:
    return relu(x);
  case Activation::Relu2: {
    Value y = relu(x);
    return arith::MulFOp::create(builder, y, y);
  }
  case Activation::Silu:
    return nn::SiluOp::create(builder, x);
  }
  llvm_unreachable("an Activation");
}

Value TensorBuilder::relu(Value x) {
  Value zero = splat(x, 0.0);
  Value isBelow =
      arith::CmpFOp::create(builder, arith::CmpFPredicate::OLE, x, zero);
  return arith::SelectOp::create(builder, isBelow, zero, x);
}

Value TensorBuilder::limit(Value x, double cap) {
  Value most = splat(x, cap);
  Value ratio = arith::DivFOp::create(builder, x, most);
  return arith::MulFOp::create(builder, math::TanhOp::create(builder, ratio),
                               most);
}
