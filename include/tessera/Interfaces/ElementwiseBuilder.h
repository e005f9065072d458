//===- ElementwiseBuilder.h - Arithmetic on tensors -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Short spelling for the ops that decompositions and gradients consist of.
// Works on tensors and on scalars.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_ELEMENTWISEBUILDER_H
#define TESSERA_INTERFACES_ELEMENTWISEBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

namespace tessera {

/// Builds elementwise ops at one insertion point.
struct ElementwiseBuilder {
  mlir::OpBuilder &b;
  mlir::Location loc;

  using Value = mlir::Value;

  /// Creates an op at `loc` and returns its first result.
  template <typename Op, typename... Args> Value make(Args &&...args) {
    return Op::create(b, loc, std::forward<Args>(args)...)->getResult(0);
  }

  /// A constant of one value, with the type of `like`.
  Value splat(Value like, double value) {
    return splatOf(like.getType(), value);
  }
  Value splatOf(mlir::Type type, double value) {
    mlir::Type element = mlir::getElementTypeOrSelf(type);
    mlir::TypedAttr attr;
    if (auto floatType = mlir::dyn_cast<mlir::FloatType>(element))
      attr = b.getFloatAttr(floatType, value);
    else
      attr = b.getIntegerAttr(element, static_cast<int64_t>(value));
    if (auto shaped = mlir::dyn_cast<mlir::RankedTensorType>(type))
      attr = mlir::SplatElementsAttr::get(shaped, mlir::Attribute(attr));
    return make<mlir::arith::ConstantOp>(attr);
  }

  /// Casts the value to another float element type.
  Value cast(Value v, mlir::Type element) {
    mlir::Type from = mlir::getElementTypeOrSelf(v.getType());
    if (from == element)
      return v;
    mlir::Type to = element;
    if (auto shaped = mlir::dyn_cast<mlir::RankedTensorType>(v.getType()))
      to = shaped.clone(element);
    unsigned fromWidth = from.getIntOrFloatBitWidth();
    unsigned toWidth = element.getIntOrFloatBitWidth();
    if (fromWidth < toWidth)
      return make<mlir::arith::ExtFOp>(to, v);
    if (fromWidth > toWidth)
      return make<mlir::arith::TruncFOp>(to, v);
    // No cast leads from bf16 to f16 or back but through a wider type.
    return cast(cast(v, b.getF32Type()), element);
  }
  /// Casts the value to f32, unless it is at least that wide.
  Value widen(Value v) {
    mlir::Type element = mlir::getElementTypeOrSelf(v.getType());
    return element.getIntOrFloatBitWidth() >= 32 ? v : cast(v, b.getF32Type());
  }
  /// Casts the value to the element type of `like`.
  Value narrow(Value v, mlir::Type like) {
    return cast(v, mlir::getElementTypeOrSelf(like));
  }

  Value add(Value a, Value c) { return make<mlir::arith::AddFOp>(a, c); }
  Value sub(Value a, Value c) { return make<mlir::arith::SubFOp>(a, c); }
  Value mul(Value a, Value c) { return make<mlir::arith::MulFOp>(a, c); }
  Value div(Value a, Value c) { return make<mlir::arith::DivFOp>(a, c); }
  Value neg(Value v) { return make<mlir::arith::NegFOp>(v); }
  Value exp(Value v) { return make<mlir::math::ExpOp>(v); }
  /// `a` where `condition` (i1, or a tensor of it) is true, else `c`.
  Value select(Value condition, Value a, Value c) {
    return make<mlir::arith::SelectOp>(condition, a, c);
  }
  /// Compares floats element by element; the result is i1.
  Value compare(mlir::arith::CmpFPredicate predicate, Value a, Value c) {
    return make<mlir::arith::CmpFOp>(predicate, a, c);
  }
};

} // namespace tessera

#endif // TESSERA_INTERFACES_ELEMENTWISEBUILDER_H
