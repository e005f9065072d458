//===- OpMatcherPartialSums.cpp - Axes over which results are partial
//------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results of partial operands are partial if the op is linear in them. An op
// that reduces a sharded dimension makes its results partial. y is partial over
// tp if device 0 has y0 and device 1 has y1 with y = y0 + y1:
//
//     op              device 0   device 1   their sum
//     transpose(y)    y0'        y1'        y'            linear
//     gelu(y)         gelu(y0)   gelu(y1)   not gelu(y)   wrong
//     y + b           y0 + b     y1 + b     y + 2 b       wrong
//     y + z           y0 + z0    y1 + z1    y + z         linear in both
//     sum([{tp}])     y0         y1         y             reduced over tp
//
// Equal elements have no blocks: sum(ones(8)) is 4 on each of two devices, one
// of 2 equal terms ("share") over any axes of 2 devices.
//
//===----------------------------------------------------------------------===//

#include "OpComparison.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "tessera/Interfaces/NeutralElements.h"

using namespace mlir;
using namespace tessera;

using Sums = PartialResults;

/// Checks f(y0 + y1) = f(y0) + f(y1) for these operands; the others are equal
/// on all devices.
bool tessera::isLinear(Operation *op, ::tessera::ReductionKind kind,
                       const llvm::SmallBitVector &operands) {
  auto iface = dyn_cast<ShardingRuleOpInterface>(op);
  return iface && iface.commutesWithReduction(kind, operands);
}

/// True for zeros in a sum, and for a constant that is the reduction's neutral
/// element.
bool tessera::isNeutral(const OpComparison &c, unsigned operand,
                        ::tessera::ReductionKind kind) {
  const ShardState &state = c.getState(operand);
  // A mask may put any value after the end.
  if (state.value < 0 || hasEnds(state))
    return false;
  const ReferenceValue &value = c.context.reference.getValue(state.value);
  if (value.isEmpty)
    return true;
  bool isSum = !state.isPartial() || state.reduction == kind;
  if (kind == ::tessera::ReductionKind::Sum && isSum && value.isZero)
    return true;
  const ConstantValue &constant = value.constant;
  if (!constant.isSplat)
    return false;
  Type element = getElementTypeOrSelf(c.op->getOperand(operand).getType());
  return element.isIntOrFloat() &&
         constant.value == getNeutralElement(element, kind);
}

//===----------------------------------------------------------------------===//
// The op's own reductions
//===----------------------------------------------------------------------===//

/// A sum of equal elements is proportional to its length: each device holds an
/// equal share of it.
static CheckResult findEqualShares(const OpComparison &c, Sums &sums) {
  for (auto [i, factor] : llvm::enumerate(c.rule.factors)) {
    const FactorState &state = c.factors[i];
    if (factor.kind != FactorKind::Reduction || !state.isUniform ||
        factor.reduction != ::tessera::ReductionKind::Sum ||
        state.localSize == state.globalSize)
      continue;
    llvm::SmallBitVector zeros(c.op->getNumOperands());
    for (unsigned operand = 0; operand < c.op->getNumOperands(); ++operand)
      zeros[operand] = getOperandPadding(c, operand, i) == PadContent::Zero;
    if (keepsZeros(c.op, zeros))
      continue;
    if (state.globalSize % state.localSize != 0)
      return wrong("it sums over " + Twine(state.localSize) +
                   " elements on each device, which are no part of " +
                   Twine(state.globalSize));
    sums.reduced.push_back({static_cast<unsigned>(i), AxisList(),
                            state.globalSize / state.localSize});
    sums.kind = factor.reduction;
  }
  return {};
}

/// Finds the axes over which the op's own reductions leave its results partial.
static CheckResult findReducedAxes(const OpComparison &c, Sums &sums) {
  for (auto [i, factor] : llvm::enumerate(c.rule.factors)) {
    const FactorState &state = c.factors[i];
    if (factor.kind != FactorKind::Reduction || state.isUniform ||
        state.placement == Placements::kWhole)
      continue;
    std::optional<AxisList> axes = c.placements().getAxes(state.placement);
    if (!axes || overlapsAny(sums.reducedAxes, *axes))
      return wrong(describe(state) +
                   " is reduced, but no groups of devices hold each of its " +
                   Twine(c.placements().getCount(state.placement)) +
                   " blocks once");
    if (sums.kind && *sums.kind != factor.reduction)
      return unknown("it would be partial by two kinds of reduction");
    sums.kind = factor.reduction;
    for (auto [other, state2] : llvm::enumerate(c.factors))
      if (other != i && !state2.isUniform &&
          !c.placements().isEqualWithin(state2.placement, *axes))
        return wrong(describe(state2) + " is cut along " + c.printAxes(*axes) +
                     ", over which the op reduces");
    sums.reducedAxes.append(*axes);
    sums.reduced.push_back({static_cast<unsigned>(i), *axes, 1});
  }
  sums.reducedAxes = normalizeAxes(c.placements().getMesh(), sums.reducedAxes);
  return {};
}

/// True if the op's reductions leave some results in equal shares.
static bool isShared(const Sums &sums) {
  return llvm::any_of(sums.reduced, [](const Sums::Reduced &reduced) {
    return reduced.share != 1;
  });
}

/// Makes equal shares of a sum the terms over `axes`, if these have as many
/// devices.
static bool shareOver(const OpComparison &c, Sums &sums,
                      ArrayRef<AxisRef> axes) {
  int64_t shares = 1;
  for (const Sums::Reduced &reduced : sums.reduced)
    shares *= reduced.share;
  bool isEqual =
      shares == numShards(axes) && llvm::all_of(c.factors, [&](auto &factor) {
        return factor.isUniform ||
               c.placements().isEqualWithin(factor.placement, axes);
      });
  if (!isEqual)
    return false;
  const Mesh &mesh = c.placements().getMesh();
  AxisList left = refineAxes(mesh, axes);
  for (Sums::Reduced &reduced : sums.reduced)
    for (; reduced.share > 1; left.erase(left.begin())) {
      if (left.empty() || reduced.share % left.front().size != 0)
        return false;
      reduced.share /= left.front().size;
      reduced.axes.push_back(left.front());
    }
  sums.reducedAxes.append(axes.begin(), axes.end());
  sums.reducedAxes = normalizeAxes(mesh, sums.reducedAxes);
  return true;
}

/// Checks that the initial value of a reduction is added only once.
static CheckResult checkInits(const OpComparison &c, Sums &sums) {
  auto destinations = dyn_cast<DestinationStyleOpInterface>(c.op);
  if (!destinations || (sums.reducedAxes.empty() && !isShared(sums)))
    return {};
  for (OpOperand &init : destinations.getDpsInitsMutable()) {
    unsigned operand = init.getOperandNumber();
    if (!c.isTensor(operand) || isNeutral(c, operand, *sums.kind))
      continue;
    const ShardState &state = c.getState(operand);
    std::optional<AxisList> left =
        subtractAxes(state.unreduced, sums.reducedAxes);
    bool isTerm = left && !left->empty() && state.reduction == *sums.kind;
    if (isShared(sums) && isTerm && !shareOver(c, sums, *left))
      return unknown("operand " + Twine(operand) +
                     " begins a sum in other parts than those that the op "
                     "sums up");
    std::string where =
        ("operand " + Twine(operand) + ", which the reduction starts with, ")
            .str();
    if (isShared(sums))
      return wrong(where + "would count once in each of several equal parts "
                           "of the sum");
    if (!left || state.reduction != *sums.kind)
      return wrong(where + "would count once on each device along " +
                   c.printAxes(sums.reducedAxes));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Partial operands
//===----------------------------------------------------------------------===//

/// Checks that the op is linear in `partial`. The neutral element is both
/// partial and whole.
static CheckResult checkLinear(const OpComparison &c, Sums &sums,
                               const llvm::SmallBitVector &partial,
                               ::tessera::ReductionKind kind,
                               const Twine &over) {
  if (sums.kind && *sums.kind != kind)
    return unknown("it would be partial by two kinds of reduction");
  sums.kind = kind;
  if (isLinear(c.op, kind, partial))
    return {};
  std::string names;
  for (unsigned i : partial.set_bits())
    names += (names.empty() ? "" : ", ") + std::to_string(i);
  llvm::SmallBitVector all = partial;
  for (unsigned i = 0; i < c.op->getNumOperands(); ++i) {
    if (partial.test(i) || !c.isTensor(i) || !isNeutral(c, i, kind))
      continue;
    all.set(i);
    // In a multiplication, one operand is partial and the others are whole.
    llvm::SmallBitVector one = partial;
    one.set(i);
    if (isLinear(c.op, kind, one))
      return {};
  }
  if (isLinear(c.op, kind, all))
    return {};
  // A maximum of equal elements is also partial over any axes.
  bool mayBePartial = llvm::any_of(c.factors, [](const FactorState &factor) {
    return factor.isUniform && factor.localSize != factor.globalSize;
  });
  return {mayBePartial ? Fit::Unknown : Fit::Wrong,
          ("operand " + names + " is still to be reduced" + over + " by " +
           stringifyReduction(kind) +
           ", which the op does not commute with on these operands")
              .str()};
}

/// Checks operands that are equal shares of a sum, which `sharing` gets. They
/// are shares over the axes that only other operands are partial over, if these
/// have as many devices.
static CheckResult checkShares(const OpComparison &c, Sums &sums,
                               ArrayRef<AxisRef> axes,
                               llvm::SmallBitVector &sharing) {
  // Shares that no axes account for.
  std::optional<int64_t> left;
  for (unsigned i = 0; i < c.op->getNumOperands(); ++i) {
    if (!c.isTensor(i) || c.getState(i).share == 1)
      continue;
    const ShardState &state = c.getState(i);
    int64_t devices = 1;
    for (const AxisRef &axis : axes)
      if (!overlapsAny(state.unreduced, axis))
        devices *= axis.size;
    int64_t mine = devices == 1 ? state.share : 1;
    if ((devices != 1 && devices != state.share) || (left && *left != mine))
      return unknown("its operands are different parts of sums");
    left = mine;
    sharing.set(i);
  }
  if (!left || *left == 1)
    return {};
  sums.share *= *left;
  return checkLinear(c, sums, sharing, ::tessera::ReductionKind::Sum, "");
}

/// Checks one axis: the op must be linear in all operands together that are
/// partial over it, and they must have one kind of reduction. The result is
/// then partial.
static CheckResult checkPartialAxis(const OpComparison &c, Sums &sums,
                                    const AxisRef &axis,
                                    const llvm::SmallBitVector &sharing) {
  llvm::SmallBitVector partial = sharing;
  std::optional<::tessera::ReductionKind> kind;
  for (unsigned i = 0; i < c.op->getNumOperands(); ++i) {
    if (!c.isTensor(i) || !overlapsAny(c.getState(i).unreduced, axis))
      continue;
    partial.set(i);
    if (kind && *kind != c.getState(i).reduction)
      return wrong("its operands are partial by different reductions");
    kind = c.getState(i).reduction;
  }
  if (sharing.any() && *kind != ::tessera::ReductionKind::Sum)
    return wrong("its operands are partial by different reductions");
  CheckResult linear =
      checkLinear(c, sums, partial, *kind, " over " + c.printAxes(axis));
  if (linear.fits())
    sums.passedAxes.push_back(axis);
  return linear;
}

static CheckResult checkPartialOperands(const OpComparison &c, Sums &sums) {
  auto destinations = dyn_cast<DestinationStyleOpInterface>(c.op);
  AxisList all;
  for (unsigned i = 0; i < c.op->getNumOperands(); ++i) {
    if (!c.isTensor(i))
      continue;
    AxisList unreduced = c.getState(i).unreduced;
    bool isInit = destinations && !sums.reducedAxes.empty() &&
                  destinations.isDpsInit(&c.op->getOpOperand(i));
    if (isInit)
      if (auto left = subtractAxes(unreduced, sums.reducedAxes))
        unreduced = *left;
    if (overlapsAny(unreduced, sums.reducedAxes))
      return wrong("operand " + Twine(i) + " is still to be reduced over " +
                   c.printAxes(unreduced) + ", over which the op reduces");
    all.append(unreduced);
  }
  AxisList axes = refineAxes(c.placements().getMesh(), all);
  llvm::SmallBitVector sharing(c.op->getNumOperands());
  if (CheckResult check = checkShares(c, sums, axes, sharing); !check.fits())
    return check;
  for (const AxisRef &axis : axes)
    if (CheckResult check = checkPartialAxis(c, sums, axis, sharing);
        !check.fits())
      return check;
  return {};
}

CheckResult tessera::findPartialResults(const OpComparison &c, Sums &sums) {
  for (auto check :
       {findEqualShares, findReducedAxes, checkInits, checkPartialOperands})
    if (CheckResult found = check(c, sums); !found.fits())
      return found;
  return {};
}
