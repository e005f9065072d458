//===- RowHelpers.h - Ops on rows of a tensor -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers that the forward and the backward of norms, losses and activations
// share.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_ROWHELPERS_H
#define TESSERA_CODEGEN_ROWHELPERS_H

#include "tessera/Codegen/GenericBuilder.h"
#include <cmath>

namespace tessera {

/// The loops of a tensor whose last dimension is normalized or reduced.
struct Rows {
  Rows(GenericBuilder &b, mlir::Value x)
      : type(llvm::cast<mlir::RankedTensorType>(x.getType())),
        rank(type.getRank()), shape(type.getShape()), outer(shape.drop_back()),
        wide(getWideType(type.getElementType())), all(b.identity(rank)),
        row(b.leading(rank, rank - 1)), rowOnly(b.identity(rank - 1)),
        last(b.project(rank, {unsigned(rank - 1)})) {}
  mlir::RankedTensorType type;
  int64_t rank;
  llvm::ArrayRef<int64_t> shape, outer;
  mlir::Type wide;
  /// Maps over all loops: to all loops, to all but the last, and to the last
  /// one; `rowOnly` is the identity over the row's loops.
  mlir::AffineMap all, row, rowOnly, last;
  int64_t size() const { return shape.back(); }
};

/// Returns `value` where the last loop, counted from `offset`, is before `end`,
/// and `other` in the padding after it. Returns `value` itself if there is no
/// `end`, or if a whole row of `r` is before it. Positions are below 2^31.
inline mlir::Value selectTrue(GenericBuilder &b, const Rows &r,
                              std::optional<uint64_t> end, mlir::Value offset,
                              mlir::Value value, double other) {
  if (!end || (!offset && static_cast<int64_t>(*end) >= r.size()))
    return value;
  // Positions are compared in 32 bits: twice as many of them fit a vector.
  mlir::Value position = mlir::arith::IndexCastOp::create(
      b, b.getI32Type(), b.position(r.rank - 1, offset));
  mlir::Value isTrue = mlir::arith::CmpIOp::create(
      b, mlir::arith::CmpIPredicate::slt, position,
      mlir::arith::ConstantOp::create(b, b.getI32IntegerAttr(*end)));
  return mlir::arith::SelectOp::create(b, isTrue, value,
                                       b.constant(value.getType(), other));
}

/// Multiplies x by a constant.
inline mlir::Value scaled(GenericBuilder &b, mlir::Value x, double factor) {
  return mlir::arith::MulFOp::create(b, x, b.constant(x.getType(), factor));
}

/// The argument of tanh in gelu: sqrt(2 / pi) (x + 0.044715 x^3).
constexpr double kGeluCubic = 0.044715;
inline mlir::Value geluArgument(GenericBuilder &b, mlir::Value x) {
  mlir::Value square = mlir::arith::MulFOp::create(b, x, x);
  mlir::Value term =
      mlir::arith::MulFOp::create(b, scaled(b, x, kGeluCubic), square);
  return scaled(b, mlir::arith::AddFOp::create(b, x, term),
                std::sqrt(2.0 / M_PI));
}

/// 0.5 x (1 + inner)
inline mlir::Value geluFrom(GenericBuilder &b, mlir::Value x,
                            mlir::Value inner) {
  mlir::Value one = b.constant(x.getType(), 1.0);
  return mlir::arith::MulFOp::create(
      b, scaled(b, x, 0.5), mlir::arith::AddFOp::create(b, inner, one));
}
inline mlir::Value tanhGelu(GenericBuilder &b, mlir::Value x) {
  return geluFrom(b, x, mlir::math::TanhOp::create(b, geluArgument(b, x)));
}

/// 0.5 (1 + x)
inline mlir::Value halfOfOnePlus(GenericBuilder &b, mlir::Value x) {
  return scaled(
      b, mlir::arith::AddFOp::create(b, x, b.constant(x.getType(), 1.0)), 0.5);
}

/// The derivative of tanhGelu: with u = c (x + a x^3) and t = tanh(u),
/// 0.5 (1 + t) + 0.5 x (1 - t^2) c (1 + 3 a x^2).
inline mlir::Value tanhGeluSlope(GenericBuilder &b, mlir::Value x) {
  mlir::Value one = b.constant(x.getType(), 1.0);
  mlir::Value t = mlir::math::TanhOp::create(b, geluArgument(b, x));
  mlir::Value rest =
      mlir::arith::SubFOp::create(b, one, mlir::arith::MulFOp::create(b, t, t));
  mlir::Value square = mlir::arith::MulFOp::create(b, x, x);
  mlir::Value inner =
      mlir::arith::AddFOp::create(b, one, scaled(b, square, 3 * kGeluCubic));
  mlir::Value product = mlir::arith::MulFOp::create(
      b, scaled(b, x, 0.5 * std::sqrt(2.0 / M_PI)), inner);
  return mlir::arith::AddFOp::create(
      b, halfOfOnePlus(b, t), mlir::arith::MulFOp::create(b, rest, product));
}

} // namespace tessera

#endif // TESSERA_CODEGEN_ROWHELPERS_H
