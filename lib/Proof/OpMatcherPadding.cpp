//===- OpMatcherPadding.cpp - Padding of operands and results -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 5 elements on two devices are a b c | d e P. A sum needs P = 0, a maximum the
// lowest number, a minimum the highest. An op without reductions takes any P;
// its result has this padding:
//
//     op                    P = 0         P is anything
//     transpose(x)          0             anything       it moves elements
//     x + y, both padded    0             anything       it keeps zeros
//     exp(x)                anything      anything
//     sum(x)                right         wrong
//     a body on x           not known     anything
//
//===----------------------------------------------------------------------===//

#include "OpComparison.h"
#include "tessera/Interfaces/NeutralElements.h"

using namespace mlir;
using namespace tessera;

static constexpr ::tessera::ReductionKind kReductions[] = {
    ::tessera::ReductionKind::Sum, ::tessera::ReductionKind::Max,
    ::tessera::ReductionKind::Min};

std::optional<PadContent> tessera::getOperandPadding(const OpComparison &c,
                                                     unsigned operand,
                                                     unsigned factor) {
  if (operand >= c.localRule.operands.size() || !c.isTensor(operand))
    return std::nullopt;
  for (auto [dim, list] : llvm::enumerate(c.localRule.operands[operand])) {
    if (list.empty() || list.front() != factor)
      continue;
    if (c.factors[factor].isLoose)
      return PadContent::Any;
    const DimState &state = c.getState(operand).dims[dim];
    // A mask or appended zeros end a constant; otherwise its padding equals its
    // other elements.
    if (!state.uniform)
      return state.padding;
    for (auto reduction : kReductions)
      if (isNeutral(c, operand, reduction))
        return getNeutralContent(reduction);
    return PadContent::Any;
  }
  return std::nullopt;
}

/// Whether the op states that its results are zero in the padding of `factor`
/// if its operands are: it was told the padding, or does not need it.
static bool isToldOfPadding(const OpComparison &c, unsigned factor) {
  if (!c.target || factor >= c.absorbed.size())
    return false;
  if (c.absorbed.test(factor))
    return true;
  const ReferenceOp &target = *c.target;
  if (!isa<ShardingRuleOpInterface>(target.op) ||
      !c.isPadded(c.factors[factor]))
    return false;
  llvm::SmallBitVector one(c.absorbed.size()), nothing = one;
  one.set(factor);
  const ExpectedOp &copy =
      c.context.expected.get(target.op, target.rule, one, nothing);
  return copy.absorbed.test(factor) && copy.op->getNumRegions() == 0 &&
         haveSameProperties(copy.op, target.op);
}

/// If the op keeps zeros, a result is zero where all operands with the
/// dimension are. An op that only moves elements keeps any content. The result
/// of a body on zeros in some operands is unknown.
PadContent tessera::getResultPadding(const OpComparison &c, unsigned factor) {
  llvm::SmallBitVector having(c.op->getNumOperands());
  bool allZero = true, someZero = false, isUnknown = false;
  PadContent content = PadContent::Any;
  for (unsigned i = 0; i < c.op->getNumOperands(); ++i)
    if (std::optional<PadContent> found = getOperandPadding(c, i, factor)) {
      having.set(i);
      content = *found;
      allZero &= content == PadContent::Zero;
      someZero |= content == PadContent::Zero;
      isUnknown |= content == PadContent::Unknown;
    }
  if (allZero && (isToldOfPadding(c, factor) || keepsZeros(c.op, having)))
    return PadContent::Zero;
  if (having.none())
    return PadContent::Any;
  bool moves = having.count() == 1 && having.test(0) &&
               llvm::all_of(kReductions, [&](auto reduction) {
                 return isLinear(c.op, reduction, having);
               });
  if (moves)
    return content;
  isUnknown |= someZero && c.op->getNumRegions() != 0;
  return isUnknown ? PadContent::Unknown : PadContent::Any;
}

/// Checks that the operands are neutral in the padding of a factor reduced by
/// `kind`. Sets the operands that have the factor.
static CheckResult checkNeutral(const OpComparison &c, unsigned index,
                                ::tessera::ReductionKind kind,
                                llvm::SmallBitVector &having) {
  const FactorState &factor = c.factors[index];
  PadContent needed = getNeutralContent(kind);
  for (unsigned operand = 0; operand < c.op->getNumOperands(); ++operand) {
    std::optional<PadContent> content = getOperandPadding(c, operand, index);
    if (!content)
      continue;
    having.set(operand);
    // The lowest boolean is zero.
    bool isLowest =
        *content == PadContent::Zero && needed == PadContent::Lowest &&
        getElementTypeOrSelf(c.op->getOperand(operand)).isInteger(1);
    if (*content == needed || isLowest || isNeutral(c, operand, kind))
      continue;
    return {*content == PadContent::Unknown ? Fit::Unknown : Fit::Wrong,
            ("operand " + Twine(operand) + " is reduced with its padding, " +
             Twine(c.getHeldSize(factor)) + " elements for " +
             Twine(factor.globalSize) +
             ", which is not known to be neutral in a " +
             stringifyReduction(kind))
                .str()};
  }
  return {};
}

CheckResult tessera::checkPadding(const OpComparison &c) {
  for (auto [i, factor] : llvm::enumerate(c.rule.factors)) {
    if (factor.kind != FactorKind::Reduction || !c.isPadded(c.factors[i]) ||
        c.absorbed.test(i))
      continue;
    llvm::SmallBitVector having(c.op->getNumOperands());
    CheckResult neutral = checkNeutral(c, i, factor.reduction, having);
    if (!neutral.fits())
      return neutral;
    // A body may map neutral elements to others, and so may an op whose
    // interface does not exclude it.
    bool isSum = factor.reduction == ::tessera::ReductionKind::Sum;
    bool isKept = c.op->getNumRegions() == 0
                      ? keepsNeutral(c.op, c.rule, i, having)
                      : isSum && keepsZeros(c.op, having);
    if (isKept)
      continue;
    if (isSum)
      return wrong("its reduction over padding of zeros need not be zero");
    return unknown("what it makes of neutral padding is not known");
  }
  return {};
}
