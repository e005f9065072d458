//===- SignedDivision.cpp - Signed division that wraps --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Codegen/SignedDivision.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tessera;

/// `value` in each element of `type`.
static Value constant(ImplicitLocOpBuilder &b, Type type, int64_t value) {
  TypedAttr attr = b.getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto shaped = dyn_cast<ShapedType>(type))
    attr = DenseElementsAttr::get(shaped, Attribute(attr));
  return arith::ConstantOp::create(b, attr);
}

/// A division by -1 is a subtraction, and what is divided is divided by 1.
static void wrap(Operation *op) {
  Value number = op->getOperand(0), divisor = op->getOperand(1);
  Type type = number.getType();
  bool isRemainder = isa<arith::RemSIOp>(op);
  ImplicitLocOpBuilder b(op->getLoc(), op);
  // Of one bit, 1 is -1.
  if (getElementTypeOrSelf(type).isInteger(1)) {
    Value made = isRemainder
                     ? Value(arith::RemUIOp::create(b, number, divisor))
                     : Value(arith::DivUIOp::create(b, number, divisor));
    op->getResult(0).replaceAllUsesWith(made);
    op->erase();
    return;
  }
  Value isMinusOne = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, divisor,
                                           constant(b, type, -1));
  op->setOperand(
      1, arith::SelectOp::create(b, isMinusOne, constant(b, type, 1), divisor));
  if (isRemainder)
    return;
  Value negated = arith::SubIOp::create(b, constant(b, type, 0), number);
  b.setInsertionPointAfter(op);
  Value result = op->getResult(0);
  auto select = arith::SelectOp::create(b, isMinusOne, negated, result);
  result.replaceAllUsesExcept(select, select);
}

void tessera::wrapSignedDivisions(Operation *root) {
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    APInt divisor;
    if (isa<arith::DivSIOp, arith::CeilDivSIOp, arith::FloorDivSIOp,
            arith::RemSIOp>(op) &&
        !(matchPattern(op->getOperand(1), m_ConstantInt(&divisor)) &&
          !divisor.isAllOnes()))
      ops.push_back(op);
  });
  llvm::for_each(ops, wrap);
}
