//===- EightBits.cpp - Casts to and from 8-bit floats ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A normal 8-bit float is an f32 with fewer fraction bits and another exponent
// bias. Subnormals are multiples of the smallest subnormal. To round to such a
// multiple, f32 arithmetic adds a power of two whose last fraction bit is the
// smallest subnormal.
//
//===----------------------------------------------------------------------===//

#include "EightBits.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <cmath>
#include <optional>

using namespace mlir;
using namespace tessera;

namespace {

constexpr int32_t kMagnitude = 0x7fffffff, kInfinity = 0x7f800000,
                  kNaN = 0x7fc00000;

struct Format {
  /// The number of fraction bits, and the exponent bias of f32 minus this
  /// format's.
  int fraction, bias;
  /// The code of values out of range: infinity or NaN.
  int32_t beyond;
  bool hasInfinity;

  /// The number of fraction bits that f32 has in addition.
  int shift() const { return 23 - fraction; }
  /// The bits of the smallest normal number as f32.
  int32_t leastNormal() const { return (bias + 1) << 23; }
  /// The exponent e of the smallest subnormal, 2^e.
  int leastExponent() const { return bias + 1 - 127 - fraction; }
};

std::optional<Format> getFormat(Type type) {
  if (isa<Float8E4M3FNType>(type))
    return Format{3, 120, 0x7f, false};
  if (isa<Float8E5M2Type>(type))
    return Format{2, 112, 0x7c, true};
  return std::nullopt;
}

/// Builds arithmetic on 32-bit scalars.
struct Bits : ImplicitLocOpBuilder {
  Bits(OpBuilder &builder, Location loc) : ImplicitLocOpBuilder(loc, builder) {}

  template <typename Op> Value apply(Value a, Value b) {
    return Op::create(*this, a, b);
  }
  template <typename Op> Value apply(Value a, int32_t constant) {
    return apply<Op>(a, number(constant));
  }
  Value number(int32_t value) {
    return arith::ConstantOp::create(*this, getI32IntegerAttr(value));
  }
  Value power(int exponent) {
    return arith::ConstantOp::create(
        *this, getF32FloatAttr(std::ldexp(1.0f, exponent)));
  }
  Value cast(Value value, Type type) {
    return arith::BitcastOp::create(*this, type, value);
  }
  Value select(arith::CmpIPredicate predicate, Value a, int32_t b, Value yes,
               Value no) {
    Value condition = arith::CmpIOp::create(*this, predicate, a, number(b));
    return arith::SelectOp::create(*this, condition, yes, no);
  }

  Value truncate(Value value, const Format &format);
  Value extend(Value code, const Format &format);
};

} // namespace

/// Returns the code of an f32, in 32 bits.
Value Bits::truncate(Value value, const Format &f) {
  Value bits = cast(value, getI32Type());
  Value magnitude = apply<arith::AndIOp>(bits, kMagnitude);
  Value sign = apply<arith::AndIOp>(apply<arith::ShRUIOp>(bits, 24), 0x80);
  Value odd =
      apply<arith::AndIOp>(apply<arith::ShRUIOp>(magnitude, f.shift()), 1);
  Value normal = apply<arith::AddIOp>(magnitude, (1 << (f.shift() - 1)) - 1);
  normal = apply<arith::AddIOp>(normal, odd);
  normal = apply<arith::ShRUIOp>(normal, f.shift());
  normal = apply<arith::SubIOp>(normal, f.bias << f.fraction);
  Value adder = power(f.leastExponent() + 23);
  Value small =
      arith::AddFOp::create(*this, cast(magnitude, getF32Type()), adder);
  small = apply<arith::SubIOp>(cast(small, getI32Type()),
                               cast(adder, getI32Type()));
  Value code = select(arith::CmpIPredicate::ult, magnitude, f.leastNormal(),
                      small, normal);
  code = apply<arith::MinUIOp>(code, f.beyond);
  code = apply<arith::OrIOp>(code, sign);
  return select(arith::CmpIPredicate::ugt, magnitude, kInfinity, number(0x7f),
                code);
}

/// Returns the f32 for a code in 32 bits.
Value Bits::extend(Value code, const Format &f) {
  Value magnitude = apply<arith::AndIOp>(code, 0x7f);
  Value sign = apply<arith::ShLIOp>(apply<arith::AndIOp>(code, 0x80), 24);
  Value normal = apply<arith::ShLIOp>(magnitude, f.shift());
  normal = apply<arith::AddIOp>(normal, f.bias << 23);
  Value small = arith::UIToFPOp::create(*this, getF32Type(), magnitude);
  small = arith::MulFOp::create(*this, small, power(f.leastExponent()));
  Value bits = select(arith::CmpIPredicate::ult, magnitude, 1 << f.fraction,
                      cast(small, getI32Type()), normal);
  if (f.hasInfinity)
    bits = select(arith::CmpIPredicate::eq, magnitude, f.beyond,
                  number(kInfinity), bits);
  bits = select(arith::CmpIPredicate::uge, magnitude,
                f.hasInfinity ? f.beyond + 1 : f.beyond, number(kNaN), bits);
  return cast(apply<arith::OrIOp>(bits, sign), getF32Type());
}

bool tessera::isEightBitCast(Operation *op) {
  if (isa<arith::ExtFOp>(op))
    return getFormat(op->getOperand(0).getType()).has_value();
  return isa<arith::TruncFOp>(op) &&
         getFormat(op->getResult(0).getType()).has_value();
}

Value tessera::expandEightBitCast(OpBuilder &builder, Operation *op,
                                  Value value) {
  Bits b(builder, op->getLoc());
  Type from = value.getType(), to = op->getResult(0).getType();
  Type f32 = b.getF32Type(), i32 = b.getI32Type(), i8 = b.getI8Type();
  if (std::optional<Format> format = getFormat(to)) {
    if (from.getIntOrFloatBitWidth() < 32)
      value = arith::ExtFOp::create(b, f32, value);
    else if (from != f32)
      value = arith::TruncFOp::create(b, f32, value);
    Value code = b.truncate(value, *format);
    return b.cast(arith::TruncIOp::create(b, i8, code), to);
  }
  Value code = arith::ExtUIOp::create(b, i32, b.cast(value, i8));
  Value wide = b.extend(code, *getFormat(from));
  if (to == f32)
    return wide;
  if (to.getIntOrFloatBitWidth() > 32)
    return arith::ExtFOp::create(b, to, wide);
  return arith::TruncFOp::create(b, to, wide);
}
