//===- OpMatcherReductions.cpp - Partial values and padding of an op ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands that are not whole: partial ones if the op is linear in them, shards
// of a dimension that it reduces, and padding that adds nothing. y is partial
// over tp if device 0 has y0 and device 1 has y1 with y = y0 + y1:
//
//     op              device 0   device 1   their sum
//     transpose(y)    y0'        y1'        y'            linear
//     gelu(y)         gelu(y0)   gelu(y1)   not gelu(y)   wrong
//     y + b           y0 + b     y1 + b     y + 2 b       wrong
//     y + z           y0 + z0    y1 + z1    y + z         linear in both
//
// Padding: 5 elements on two devices are a b c | d e P. A sum needs P = 0, a
// maximum the lowest number, a minimum the highest; an op that reduces nothing
// takes any P, and says what becomes of it.
//
//===----------------------------------------------------------------------===//

#include "OpMatcher.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "tessera/Interfaces/NeutralElements.h"

using namespace mlir;
using namespace tessera;

static bool isTensor(Value value) {
  return isa<RankedTensorType>(value.getType());
}

/// f(y0 + y1) = f(y0) + f(y1) in these operands, the others being equal on all
/// devices; the op's interface says so.
bool OpMatcher::isLinear(::tessera::ReductionKind reduction,
                         const llvm::SmallBitVector &operands) const {
  auto iface = dyn_cast<ShardingRuleOpInterface>(op);
  return iface && iface.commutesWithReduction(reduction, operands);
}

/// True of zeros in a sum, and of a constant that is the reduction's neutral
/// element.
bool OpMatcher::isNeutral(const ShardState &state,
                          ::tessera::ReductionKind reduction, Type type) const {
  if (state.value < 0)
    return false;
  const ReferenceValue &value = reference.getValue(state.value);
  bool isSum = !state.isPartial() || state.reduction == reduction;
  if (reduction == ::tessera::ReductionKind::Sum && isSum && value.isZero)
    return true;
  const ConstantValue &constant = value.constant;
  if (!constant.isSplat)
    return false;
  Type element = getElementTypeOrSelf(type);
  return element.isIntOrFloat() &&
         constant.value == getNeutralElement(element, reduction);
}

//===----------------------------------------------------------------------===//
// Kinds of factors
//===----------------------------------------------------------------------===//

/// Factors that the op cannot shard must be whole, in their true size.
bool OpMatcher::checkKinds(const ShardingRule &rule,
                           const llvm::SmallBitVector &absorbed) {
  for (auto [i, factor] : llvm::enumerate(rule.factors)) {
    FactorState &state = factors[i];
    bool needsWhole = factor.kind == FactorKind::Replicated ||
                      factor.kind == FactorKind::Decomposed;
    if (!needsWhole)
      continue;
    // What the op makes of elements that are equal along a dimension need not
    // be, where it does not treat them alike.
    state.isUniform = false;
    std::string where = ("dimension " + Twine(state.dim) + " of operand " +
                         Twine(state.operand))
                            .str();
    if (state.placement != Placements::kWhole)
      return wrong(where + " is needed whole but is cut into " +
                   Twine(placements.getCount(state.placement)) + " blocks");
    if (state.localSize != state.globalSize && !absorbed.test(i))
      return wrong(where + " is needed in its true size " +
                   Twine(state.globalSize) + " but has " +
                   Twine(state.localSize));
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

std::optional<PadContent> OpMatcher::getOperandPadding(unsigned operand,
                                                       unsigned factor) const {
  if (operand >= localRule.operands.size() ||
      !isTensor(op->getOperand(operand)))
    return std::nullopt;
  for (auto [dim, list] : llvm::enumerate(localRule.operands[operand])) {
    if (list.empty() || list.front() != factor)
      continue;
    if (factors[factor].isLoose)
      return PadContent::Any;
    const ShardState &state = getState(operand);
    // A mask or appended zeros end a constant, whose elements are else equal
    // in the padding too.
    if (!state.dims[dim].uniform)
      return state.dims[dim].padding;
    for (auto reduction :
         {::tessera::ReductionKind::Sum, ::tessera::ReductionKind::Max,
          ::tessera::ReductionKind::Min})
      if (isNeutral(state, reduction, op->getOperand(operand).getType()))
        return getNeutralContent(reduction);
    return PadContent::Any;
  }
  return std::nullopt;
}

/// Whether the op says that its results are zero in the padding of `factor`
/// where its operands are: it was told of the padding, or need not be told.
bool OpMatcher::keepsZeros(unsigned factor) const {
  if (!told.target || factor >= told.absorbed.size())
    return false;
  if (told.absorbed.test(factor))
    return true;
  const ReferenceOp &target = *told.target;
  if (!isa<ShardingRuleOpInterface>(target.op) || !isPadded(factors[factor]))
    return false;
  llvm::SmallBitVector one(told.absorbed.size()), nothing = one;
  one.set(factor);
  const ExpectedOp &copy = expected.get(target.op, target.rule, one, nothing);
  return copy.absorbed.test(factor) && copy.op->getNumRegions() == 0 &&
         haveSameProperties(copy.op, target.op);
}

/// A result is zero where all operands are that have the dimension, if the op
/// keeps zeros. An op that only moves elements keeps whatever it is. What a
/// body makes of zeros in some operands is not known.
PadContent OpMatcher::getPadding(unsigned factor) const {
  llvm::SmallBitVector having(op->getNumOperands());
  bool allZero = true, someZero = false, isUnknown = false;
  PadContent content = PadContent::Any;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    if (std::optional<PadContent> found = getOperandPadding(i, factor)) {
      having.set(i);
      content = *found;
      allZero &= content == PadContent::Zero;
      someZero |= content == PadContent::Zero;
      isUnknown |= content == PadContent::Unknown;
    }
  if (allZero && (keepsZeros(factor) || tessera::keepsZeros(op, having)))
    return PadContent::Zero;
  if (having.none())
    return PadContent::Any;
  bool moves =
      having.count() == 1 && having.test(0) &&
      llvm::all_of(ArrayRef({::tessera::ReductionKind::Sum,
                             ::tessera::ReductionKind::Max,
                             ::tessera::ReductionKind::Min}),
                   [&](auto reduction) { return isLinear(reduction, having); });
  if (moves)
    return content;
  isUnknown |= someZero && op->getNumRegions() != 0;
  return isUnknown ? PadContent::Unknown : PadContent::Any;
}

/// What is reduced must add nothing in its padding.
bool OpMatcher::checkPadding(const ShardingRule &rule,
                             const llvm::SmallBitVector &absorbed) {
  for (size_t i = 0; i < rule.factors.size(); ++i) {
    const Factor &factor = rule.factors[i];
    if (factor.kind != FactorKind::Reduction || !isPadded(factors[i]) ||
        absorbed.test(i))
      continue;
    PadContent needed = getNeutralContent(factor.reduction);
    llvm::SmallBitVector having(op->getNumOperands());
    for (unsigned operand = 0; operand < op->getNumOperands(); ++operand) {
      std::optional<PadContent> content = getOperandPadding(operand, i);
      if (!content)
        continue;
      having.set(operand);
      bool isLowest =
          *content == PadContent::Zero && needed == PadContent::Lowest &&
          getElementTypeOrSelf(op->getOperand(operand)).isInteger(1);
      if (*content == needed || isLowest)
        continue;
      fail(*content == PadContent::Unknown ? Fit::Unknown : Fit::Wrong,
           "operand " + Twine(operand) + " is reduced with its padding, " +
               Twine(factors[i].localSize *
                     placements.getCount(factors[i].placement)) +
               " elements for " + Twine(factors[i].globalSize) +
               ", which is not known to be neutral in a " +
               stringifyReduction(factor.reduction));
      return false;
    }
    // A body may make something else of what is neutral.
    bool isSum = factor.reduction == ::tessera::ReductionKind::Sum;
    if (op->getNumRegions() == 0 || (isSum && tessera::keepsZeros(op, having)))
      continue;
    if (isSum)
      return wrong("its reduction over padding of zeros need not be zero");
    fail(Fit::Unknown, "what its body makes of padding is not known");
    return false;
  }
  return true;
}

/// All devices together must hold what the op reduces, and all of a dimension
/// whose length the operands say.
bool OpMatcher::checkSizes(const ShardingRule &rule) {
  for (auto [i, state] : llvm::enumerate(factors)) {
    bool counts = state.isTied || rule.factors[i].kind == FactorKind::Reduction;
    if (!counts || !state.isKnown)
      continue;
    std::string where = ("dimension " + Twine(state.dim) + " of operand " +
                         Twine(state.operand))
                            .str();
    if (state.trueSize >= 0 && state.trueSize != state.globalSize)
      return wrong(where + " is masked from element " + Twine(state.trueSize) +
                   " on but its true size is " + Twine(state.globalSize));
    int64_t held = state.localSize * placements.getCount(state.placement);
    if (!state.isUniform && held < state.globalSize)
      return wrong("all devices hold " + Twine(held) + " elements of " + where +
                   ", which has " + Twine(state.globalSize));
  }
  return true;
}

/// A sum along which the operands do not change is as large as it is long: each
/// device holds as much of it as another.
bool OpMatcher::checkUniformSums(const ShardingRule &rule) {
  share = 1;
  kind.reset();
  reducedFactors.clear();
  for (auto [i, factor] : llvm::enumerate(rule.factors)) {
    const FactorState &state = factors[i];
    if (factor.kind != FactorKind::Reduction || !state.isUniform ||
        factor.reduction != ::tessera::ReductionKind::Sum ||
        state.localSize == state.globalSize)
      continue;
    llvm::SmallBitVector zeros(op->getNumOperands());
    for (unsigned operand = 0; operand < op->getNumOperands(); ++operand)
      zeros[operand] = getOperandPadding(operand, i) == PadContent::Zero;
    if (tessera::keepsZeros(op, zeros))
      continue;
    if (state.globalSize % state.localSize != 0)
      return wrong("it sums over " + Twine(state.localSize) + " elements on " +
                   "each device, which are no part of " +
                   Twine(state.globalSize));
    reducedFactors.push_back({static_cast<unsigned>(i), AxisList(),
                              state.globalSize / state.localSize});
    kind = factor.reduction;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Partial values
//===----------------------------------------------------------------------===//

/// The axes that the op's own reductions leave its results partial over.
bool OpMatcher::findPartialAxes(const ShardingRule &rule) {
  reducedAxes.clear();
  passedAxes.clear();
  for (auto [i, factor] : llvm::enumerate(rule.factors)) {
    const FactorState &state = factors[i];
    if (factor.kind != FactorKind::Reduction || state.isUniform ||
        state.placement == Placements::kWhole)
      continue;
    std::optional<AxisList> axes = placements.getAxes(state.placement);
    if (!axes || overlapsAny(reducedAxes, *axes))
      return wrong("dimension " + Twine(state.dim) + " of operand " +
                   Twine(state.operand) +
                   " is reduced, but no groups of devices hold each of its " +
                   Twine(placements.getCount(state.placement)) +
                   " blocks once");
    if (kind && *kind != factor.reduction) {
      fail(Fit::Unknown, "it would be partial by two kinds of reduction");
      return false;
    }
    kind = factor.reduction;
    for (auto [other, state2] : llvm::enumerate(factors))
      if (other != i && !state2.isUniform &&
          !placements.isEqualWithin(state2.placement, *axes))
        return wrong("dimension " + Twine(state2.dim) + " of operand " +
                     Twine(state2.operand) + " is cut along " +
                     printAxes(*axes) + ", over which the op reduces");
    reducedAxes.append(*axes);
    reducedFactors.push_back({static_cast<unsigned>(i), *axes, 1});
  }
  reducedAxes = normalizeAxes(placements.getMesh(), reducedAxes);
  return true;
}

/// True if the op's reductions leave some results in equal parts.
bool OpMatcher::isShared() const {
  return llvm::any_of(reducedFactors, [](const Reduced &reduced) {
    return reduced.share != 1;
  });
}

/// Lets equal parts of a sum be the parts over `axes`, if those are of as many
/// devices.
bool OpMatcher::shareOver(ArrayRef<AxisRef> axes) {
  int64_t parts = 1;
  for (const Reduced &reduced : reducedFactors)
    parts *= reduced.share;
  bool isEqual =
      parts == numShards(axes) && llvm::all_of(factors, [&](auto &factor) {
        return factor.isUniform ||
               placements.isEqualWithin(factor.placement, axes);
      });
  if (!isEqual)
    return false;
  AxisList left = refineAxes(placements.getMesh(), axes);
  for (Reduced &reduced : reducedFactors)
    for (; reduced.share > 1; left.erase(left.begin())) {
      if (left.empty() || reduced.share % left.front().size != 0)
        return false;
      reduced.share /= left.front().size;
      reduced.axes.push_back(left.front());
    }
  reducedAxes.append(axes.begin(), axes.end());
  reducedAxes = normalizeAxes(placements.getMesh(), reducedAxes);
  return true;
}

/// What the op adds its reduction to must count once.
bool OpMatcher::checkInits() {
  auto destinations = dyn_cast<DestinationStyleOpInterface>(op);
  if (!destinations || (reducedAxes.empty() && !isShared()))
    return true;
  for (OpOperand &init : destinations.getDpsInitsMutable()) {
    if (!isTensor(init.get()))
      continue;
    const ShardState &state = getState(init.getOperandNumber());
    if (isNeutral(state, *kind, init.get().getType()))
      continue;
    std::optional<AxisList> left = subtractAxes(state.unreduced, reducedAxes);
    bool isPart = left && !left->empty() && state.reduction == *kind;
    if (isShared() && isPart && !shareOver(*left)) {
      fail(Fit::Unknown, "operand " + Twine(init.getOperandNumber()) +
                             " begins a sum in other parts than those that the "
                             "op sums up");
      return false;
    }
    if (isShared())
      return wrong("operand " + Twine(init.getOperandNumber()) +
                   ", which the reduction starts with, would count once in "
                   "each of several equal parts of the sum");
    if (!left || state.reduction != *kind)
      return wrong("operand " + Twine(init.getOperandNumber()) +
                   ", which the reduction starts with, would count once on "
                   "each device along " +
                   printAxes(reducedAxes));
  }
  return true;
}

/// The op must be linear in `partial`. The neutral element is partial and whole
/// at once.
bool OpMatcher::checkLinear(llvm::SmallBitVector partial,
                            ::tessera::ReductionKind reduction,
                            const Twine &over) {
  if (kind && *kind != reduction) {
    fail(Fit::Unknown, "it would be partial by two kinds of reduction");
    return false;
  }
  kind = reduction;
  if (isLinear(reduction, partial))
    return true;
  std::string names;
  for (unsigned i : partial.set_bits())
    names += (names.empty() ? "" : ", ") + std::to_string(i);
  llvm::SmallBitVector all = partial;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    if (partial.test(i) || !isTensor(op->getOperand(i)) ||
        !isNeutral(getState(i), reduction, op->getOperand(i).getType()))
      continue;
    all.set(i);
    // In a product one of them is partial, and the others are whole.
    llvm::SmallBitVector one = partial;
    one.set(i);
    if (isLinear(reduction, one))
      return true;
  }
  if (isLinear(reduction, all))
    return true;
  // A maximum of equal elements is partial over any axes, too.
  bool mayBePartial = llvm::any_of(factors, [](const FactorState &factor) {
    return factor.isUniform && factor.localSize != factor.globalSize;
  });
  fail(mayBePartial ? Fit::Unknown : Fit::Wrong,
       "operand " + names + " is still to be reduced" + over + " by " +
           stringifyReduction(reduction) +
           ", which the op does not commute with on these operands");
  return false;
}

/// Along one axis: the op must be linear in the operands that are partial over
/// it, taken together, and these by one reduction. The result is partial, too.
bool OpMatcher::checkPartialAxis(const AxisRef &axis) {
  llvm::SmallBitVector partial = sharing;
  std::optional<::tessera::ReductionKind> mine;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    if (!isTensor(op->getOperand(i)))
      continue;
    const ShardState &state = getState(i);
    if (!overlapsAny(state.unreduced, axis))
      continue;
    partial.set(i);
    if (mine && *mine != state.reduction)
      return wrong("its operands are partial by different reductions");
    mine = state.reduction;
  }
  if (sharing.any() && *mine != ::tessera::ReductionKind::Sum)
    return wrong("its operands are partial by different reductions");
  if (!checkLinear(partial, *mine, " over " + printAxes(axis)))
    return false;
  passedAxes.push_back(axis);
  return true;
}

/// Operands that are equal parts of a sum: over the axes that others are
/// partial over and they are not, if those are of as many devices.
bool OpMatcher::checkShares(ArrayRef<AxisRef> axes) {
  sharing.clear();
  sharing.resize(op->getNumOperands());
  // Parts that no axes account for.
  std::optional<int64_t> left;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    if (!isTensor(op->getOperand(i)) || getState(i).share == 1)
      continue;
    const ShardState &state = getState(i);
    int64_t parts = 1;
    for (const AxisRef &axis : axes)
      if (!overlapsAny(state.unreduced, axis))
        parts *= axis.size;
    int64_t mine = parts == 1 ? state.share : 1;
    if ((parts != 1 && parts != state.share) || (left && *left != mine)) {
      fail(Fit::Unknown, "its operands are different parts of sums");
      return false;
    }
    left = mine;
    sharing.set(i);
  }
  if (!left || *left == 1)
    return true;
  share *= *left;
  return checkLinear(sharing, ::tessera::ReductionKind::Sum, "");
}

bool OpMatcher::checkPartialOperands() {
  auto destinations = dyn_cast<DestinationStyleOpInterface>(op);
  AxisList all;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    if (!isTensor(op->getOperand(i)))
      continue;
    const ShardState &state = getState(i);
    AxisList unreduced = state.unreduced;
    bool isInit = destinations && !reducedAxes.empty() &&
                  destinations.isDpsInit(&op->getOpOperand(i));
    if (isInit)
      if (auto left = subtractAxes(unreduced, reducedAxes))
        unreduced = *left;
    if (overlapsAny(unreduced, reducedAxes))
      return wrong("operand " + Twine(i) + " is still to be reduced over " +
                   printAxes(unreduced) + ", over which the op reduces");
    all.append(unreduced);
  }
  AxisList axes = refineAxes(placements.getMesh(), all);
  if (!checkShares(axes))
    return false;
  for (const AxisRef &axis : axes)
    if (!checkPartialAxis(axis))
      return false;
  return true;
}
