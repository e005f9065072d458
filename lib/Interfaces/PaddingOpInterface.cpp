//===- PaddingOpInterface.cpp - Requirements of ops on padding ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface, and its upstream ops: integer divisions, shifts and powers,
// and linalg ops with such ops in their bodies.
//
//===----------------------------------------------------------------------===//

#include "tessera/Interfaces/PaddingOpInterface.h"
#include "UpstreamModels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "tessera/Interfaces/NeutralElements.h"
#include "tessera/Interfaces/RuleInputs.h"

using namespace mlir;
using namespace tessera;

#include "tessera/Interfaces/PaddingOpInterface.cpp.inc"

/// Returns the operands that have `factor`.
static llvm::SmallBitVector getHaving(Operation *op, const ShardingRule &rule,
                                      unsigned factor) {
  llvm::SmallBitVector having(op->getNumOperands());
  for (auto [i, dims] : llvm::enumerate(rule.operands))
    having[i] = hasFactor(dims, factor);
  return having;
}

bool tessera::absorbsPadding(Operation *op, const ShardingRule &rule,
                             const llvm::SmallBitVector &factors) {
  if (factors.none())
    return true;
  if (!isa<ShardingRuleOpInterface>(op))
    return false;
  Operation *copy = op->clone();
  auto iface = cast<ShardingRuleOpInterface>(copy);
  bool all = llvm::all_of(factors.set_bits(), [&](unsigned factor) {
    return iface.absorbPadding(factor, rule.factors[factor].size);
  });
  copy->destroy();
  return all;
}

/// True if the op may reduce over padding of `factor`, because it is neutral or
/// because the op can mask it.
static bool mayReduce(Operation *op, const ShardingRule &rule,
                      unsigned factor) {
  // Models of linalg ops declare it by the factor's kind.
  if (isa<linalg::LinalgOp>(op) ||
      keepsNeutral(op, rule, factor, getHaving(op, rule, factor)))
    return true;
  llvm::SmallBitVector one(rule.factors.size());
  one.set(factor);
  return absorbsPadding(op, rule, one);
}

llvm::SmallBitVector tessera::getUnpaddable(Operation *op,
                                            const ShardingRule &rule) {
  llvm::SmallBitVector bits(rule.factors.size());
  auto iface = dyn_cast<PaddingOpInterface>(op);
  // A body that extracts elements of a tensor must not run at positions outside
  // of it.
  bool takesElements =
      op->getNumRegions() != 0 && !getCapturedTensors(op).empty();
  if (takesElements || (iface && !iface.canPad())) {
    bits.set();
    return bits;
  }
  for (auto [i, factor] : llvm::enumerate(rule.factors))
    bits[i] = factor.kind == FactorKind::Replicated ||
              (factor.kind == FactorKind::Reduction && !mayReduce(op, rule, i));
  auto addMinor = [&](const TensorFactors &tensor) {
    for (const DimFactors &dim : tensor)
      for (unsigned factor : llvm::drop_begin(dim, dim.empty() ? 0 : 1))
        bits.set(factor);
  };
  llvm::for_each(rule.operands, addMinor);
  llvm::for_each(rule.results, addMinor);
  return bits;
}

namespace {

/// An integer op that needs `element` in the padding of operand `number`.
template <unsigned number, int64_t element>
struct IntegerPadding
    : PaddingOpInterface::ExternalModel<IntegerPadding<number, element>,
                                        arith::DivSIOp> {
  TypedAttr getSafePadding(Operation *op, unsigned operand) const {
    if (operand != number)
      return {};
    Type type = getElementTypeOrSelf(op->getOperand(operand).getType());
    return Builder(op->getContext()).getIntegerAttr(type, element);
  }
};

/// Returns the elements that the body's arguments need in padding, null for
/// any. Returns none if it needs an element in a value that it computes.
std::optional<SmallVector<TypedAttr>> getSafeArguments(linalg::LinalgOp op) {
  Block *body = op.getBlock();
  SmallVector<TypedAttr> safe(body->getNumArguments());
  for (Operation &inner : body->without_terminator()) {
    auto iface = dyn_cast<PaddingOpInterface>(inner);
    for (auto [i, value] : llvm::enumerate(inner.getOperands())) {
      TypedAttr needed = iface ? iface.getSafePadding(i) : TypedAttr();
      bool isFixed =
          value.getParentBlock() != body || matchPattern(value, m_Constant());
      if (!needed || isFixed)
        continue;
      auto arg = dyn_cast<BlockArgument>(value);
      // A running value differs in each step.
      bool isRunning = arg && op.getNumReductionLoops() != 0 &&
                       arg.getArgNumber() >= op.getNumDpsInputs();
      if (!arg || isRunning)
        return std::nullopt;
      TypedAttr &known = safe[arg.getArgNumber()];
      if (known && known != needed)
        return std::nullopt;
      known = needed;
    }
  }
  return safe;
}

struct LinalgPadding
    : PaddingOpInterface::ExternalModel<LinalgPadding, linalg::GenericOp> {
  TypedAttr getSafePadding(Operation *operation, unsigned operand) const {
    auto op = cast<linalg::LinalgOp>(operation);
    auto safe = getSafeArguments(op);
    BlockArgument arg =
        op.getMatchingBlockArgument(&operation->getOpOperand(operand));
    return safe ? (*safe)[arg.getArgNumber()] : TypedAttr();
  }
  bool canPad(Operation *operation) const {
    return getSafeArguments(cast<linalg::LinalgOp>(operation)).has_value();
  }
};

} // namespace

void tessera::registerUpstreamPadding(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    using namespace arith;
    attachToAll<IntegerPadding<1, 1>, DivSIOp, DivUIOp, RemSIOp, RemUIOp,
                CeilDivSIOp, CeilDivUIOp, FloorDivSIOp>(context);
    // A shift amount must be less than the width.
    attachToAll<IntegerPadding<1, 0>, ShLIOp, ShRSIOp, ShRUIOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    // 0 has no negative powers.
    attachToAll<IntegerPadding<0, 1>, math::IPowIOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    attachToAll<LinalgPadding,
#define GET_OP_LIST
#include "mlir/Dialect/Linalg/IR/LinalgStructuredOps.cpp.inc"
                >(context);
  });
}
