//===- IntegerDivision.cpp - Integer division defined for every divisor ---===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Codegen/IntegerDivision.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace tessera;

/// Returns `value` in each element of `type`.
static Value constant(ImplicitLocOpBuilder &b, Type type, int64_t value) {
  TypedAttr attr = b.getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto shaped = dyn_cast<ShapedType>(type))
    attr = DenseElementsAttr::get(shaped, Attribute(attr));
  return arith::ConstantOp::create(b, attr);
}

/// Replaces divisors without a quotient by 1, and selects the defined result
/// for them.
static void define(Operation *op) {
  Value number = op->getOperand(0), divisor = op->getOperand(1);
  Type type = number.getType();
  bool isRemainder = isa<arith::RemSIOp, arith::RemUIOp>(op);
  bool isSigned = !isa<arith::DivUIOp, arith::CeilDivUIOp, arith::RemUIOp>(op);
  ImplicitLocOpBuilder b(op->getLoc(), op);
  // In one signed bit, 1 means -1. Its division equals the unsigned one.
  if (isSigned && getElementTypeOrSelf(type).isInteger(1)) {
    Operation *made = isRemainder ? arith::RemUIOp::create(b, number, divisor)
                                  : arith::DivUIOp::create(b, number, divisor);
    op->replaceAllUsesWith(made);
    op->erase();
    return define(made);
  }
  auto isEqual = [&](int64_t value) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, divisor,
                                 constant(b, type, value));
  };
  Value isZero = isEqual(0), isMinusOne = isSigned ? isEqual(-1) : Value();
  Value isOther =
      isSigned ? arith::OrIOp::create(b, isZero, isMinusOne) : isZero;
  op->setOperand(
      1, arith::SelectOp::create(b, isOther, constant(b, type, 1), divisor));
  Value negated;
  if (isSigned && !isRemainder)
    negated = arith::SubIOp::create(b, constant(b, type, 0), number);
  Value ofZero = isRemainder ? number : constant(b, type, -1);
  b.setInsertionPointAfter(op);
  Value result = op->getResult(0), defined = result;
  SmallPtrSet<Operation *, 2> selects;
  auto select = [&](Value condition, Value value) {
    defined = arith::SelectOp::create(b, condition, value, defined);
    selects.insert(defined.getDefiningOp());
  };
  if (negated)
    select(isMinusOne, negated);
  select(isZero, ofZero);
  result.replaceAllUsesExcept(defined, selects);
}

void tessera::defineIntegerDivisions(Operation *root) {
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    APInt divisor;
    if (isa<arith::DivSIOp, arith::CeilDivSIOp, arith::FloorDivSIOp,
            arith::RemSIOp, arith::DivUIOp, arith::CeilDivUIOp, arith::RemUIOp>(
            op) &&
        !(matchPattern(op->getOperand(1), m_ConstantInt(&divisor)) &&
          !divisor.isAllOnes() && !divisor.isZero()))
      ops.push_back(op);
  });
  llvm::for_each(ops, define);
}
