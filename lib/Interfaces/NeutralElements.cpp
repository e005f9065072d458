//===- NeutralElements.cpp - Neutral elements of reductions ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Interfaces/NeutralElements.h"
#include "mlir/IR/Matchers.h"
#include "tessera/Interfaces/LinalgBodies.h"

using namespace mlir;
using namespace tessera;

Value tessera::getFilledScalar(Operation *op) {
  auto fill = dyn_cast_or_null<linalg::FillOp>(op);
  if (!fill)
    return {};
  Block *body = fill.getBlock();
  bool isPlain = llvm::hasSingleElement(*body) &&
                 body->getTerminator()->getOperand(0) == body->getArgument(0);
  return isPlain ? fill.getInputs()[0] : Value();
}

bool tessera::isNeutral(Value value, ReductionKind kind) {
  Value filled = getFilledScalar(value.getDefiningOp());
  Value scalar = filled ? filled : value;
  Attribute attr;
  if (!matchPattern(scalar, m_Constant(&attr)))
    return false;
  if (auto splat = dyn_cast<SplatElementsAttr>(attr))
    attr = splat.getSplatValue<Attribute>();
  if (auto number = dyn_cast<FloatAttr>(attr);
      number && kind == ReductionKind::Sum)
    return number.getValue().isZero();
  Type element = getElementTypeOrSelf(scalar.getType());
  return element.isIntOrIndexOrFloat() &&
         attr == getNeutralElement(element, kind);
}

/// A linear function of zeros is zero. An op that is linear in one operand also
/// maps zeros in it and in other operands to zeros. A body may not, as in p
/// log(q).
bool tessera::keepsZeros(Operation *op, const llvm::SmallBitVector &zeros) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return yieldsZeros(linalgOp, zeros);
  auto iface = dyn_cast<ShardingRuleOpInterface>(op);
  if (!iface || zeros.none())
    return false;
  auto isLinearInOne = [&](unsigned i) {
    llvm::SmallBitVector one(zeros.size());
    one.set(i);
    return iface.commutesWithReduction(ReductionKind::Sum, one);
  };
  return iface.commutesWithReduction(ReductionKind::Sum, zeros) ||
         llvm::any_of(zeros.set_bits(), isLinearInOne);
}

bool tessera::makesZeros(Operation *op, const llvm::SmallBitVector &zeros) {
  // A start value that is not zero in padding would be added to the zeros.
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    for (OpOperand &init : linalgOp.getDpsInitsMutable())
      if (!zeros.test(init.getOperandNumber()) &&
          linalgOp.payloadUsesValueFromOperand(&init))
        return false;
  return keepsZeros(op, zeros);
}

bool tessera::keepsNeutral(Operation *op, const ShardingRule &rule,
                           unsigned factor,
                           const llvm::SmallBitVector &having) {
  auto iface = dyn_cast<ShardingRuleOpInterface>(op);
  if (!iface)
    return false;
  if (iface.mayReducePadding(factor))
    return true;
  ReductionKind kind = rule.factors[factor].reduction;
  return kind == ReductionKind::Sum
             ? keepsZeros(op, having)
             : having.any() && iface.commutesWithReduction(kind, having);
}
