//===- IntegerPower.cpp - Integer powers as multiplications ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Codegen/IntegerPower.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace tessera;
using arith::CmpIPredicate;

/// Multiplies the repeated squares selected by the bits of the exponent, in as
/// many rounds as it has bits.
static void expand(math::IPowIOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value base = op.getLhs(), exponent = op.getRhs();
  Type type = base.getType();
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, b.getIntegerAttr(type, value));
  };
  auto is = [&](CmpIPredicate predicate, Value a, Value other) -> Value {
    return arith::CmpIOp::create(b, predicate, a, other);
  };
  Value zero = number(0), one = number(1);
  Value isNegative = is(CmpIPredicate::slt, exponent, zero);
  Value isOdd =
      is(CmpIPredicate::ne, arith::AndIOp::create(b, exponent, one), zero);
  auto loop = scf::ForOp::create(
      b, arith::ConstantIndexOp::create(b, 0),
      arith::ConstantIndexOp::create(b, type.getIntOrFloatBitWidth()),
      arith::ConstantIndexOp::create(b, 1), ValueRange{one, base, exponent});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    auto carried = loop.getRegionIterArgs();
    Value product = carried[0], square = carried[1], rest = carried[2];
    Value takes =
        is(CmpIPredicate::ne, arith::AndIOp::create(b, rest, one), zero);
    Value more = arith::MulIOp::create(b, product, square);
    Value next = arith::SelectOp::create(b, takes, more, product);
    scf::YieldOp::create(b, ValueRange{next,
                                       arith::MulIOp::create(b, square, square),
                                       arith::ShRUIOp::create(b, rest, one)});
  }
  // A negative power of a number other than 1 and -1 has a magnitude below 1; a
  // negative power of 0 is a division by zero.
  Value isUnit = is(CmpIPredicate::eq, base, one);
  Value isMinusUnit = is(CmpIPredicate::eq, base, number(-1));
  Value ofMinusUnit = arith::SelectOp::create(b, isOdd, base, one);
  Value inverse = arith::SelectOp::create(
      b, isMinusUnit, ofMinusUnit,
      arith::SelectOp::create(
          b, isUnit, one,
          arith::SelectOp::create(b, is(CmpIPredicate::eq, base, zero),
                                  number(-1), zero)));
  Value power =
      arith::SelectOp::create(b, isNegative, inverse, loop.getResult(0));
  op.getResult().replaceAllUsesWith(power);
  op.erase();
}

void tessera::expandIntegerPowers(Operation *root) {
  SmallVector<math::IPowIOp> ops;
  root->walk([&](math::IPowIOp op) {
    if (op.getType().isInteger())
      ops.push_back(op);
  });
  llvm::for_each(ops, expand);
}
