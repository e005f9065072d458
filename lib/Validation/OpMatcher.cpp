//===- OpMatcher.cpp - Does a local op compute a part of a global one? ----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The transfer function of a forward data-flow analysis (G. A. Kildall: A
// Unified Approach to Global Program Optimization, 1973) that does translation
// validation (A. Pnueli, M. Siegel, E. Singerman: Translation Validation,
// 1998): an op of the local program is compared with one of the reference, on
// the blocks of the reference's values that each device holds. Blocks of
// operands go to the factors of the op's sharding rule, where operands must
// agree, and on to the results. "bd,df->bf" on a mesh of dp=2, tp=2, an 8x16 by
// a 16x64:
//
//     device                0  1  2  3
//     x [{dp}, {}], dim 0   0  0  1  1    of 2 blocks of 4   \  b = 0 0 1 1
//     w [{}, {tp}], dim 1   0  1  0  1    of 2 blocks of 32   > f = 0 1 0 1
//     x dim 1, w dim 0      whole                            /  d whole
//     result, dim 0         0  0  1  1    b: [{dp}, {tp}], blocks of 4x32
//             dim 1         0  1  0  1    f
//
// With x [{dp}, {tp}] and w [{tp}, {}], d is 0 1 0 1 by both operands, and the
// result is partial over tp. With w [{dp}, {}] instead, d is 0 0 1 1 by w:
// operand 1 does not fit operand 0, and the error names device 1.
//
// This file: from dimensions to factors and back, offsets, and the comparison
// with the expected op. Partial values and padding are in
// OpMatcherReductions.cpp, ops without a reference in OpMatcherAlone.cpp.
//
//===----------------------------------------------------------------------===//

#include "OpMatcher.h"
#include "NeededBlocks.h"
#include "ScalarNumbers.h"
#include "tessera/Interfaces/PartRules.h"

using namespace mlir;
using namespace tessera;

static RankedTensorType tensorOf(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// The meet of what operands say of one factor: equal elements fit any blocks,
/// and else the blocks must be the same on each device that holds true
/// elements.
bool OpMatcher::join(unsigned factor, FactorState found) {
  FactorState &mine = factors[factor];
  mine.isKnown = true;
  mine.isTied |= found.isTied;
  if (found.trueSize >= 0) {
    if (mine.trueSize >= 0 && mine.trueSize != found.trueSize)
      return wrong("its operands are masked from different elements on");
    mine.trueSize = found.trueSize;
  }
  if (found.isUniform)
    return true;
  if (mine.isUniform) {
    mine.isUniform = false;
    mine.placement = found.placement;
    mine.operand = found.operand;
    mine.dim = found.dim;
    return true;
  }
  if (mine.placement == found.placement)
    return true;
  // Devices whose block is all padding may hold anything.
  int64_t numTrue = llvm::divideCeil(mine.globalSize, mine.localSize);
  bool fits = placements.holdsTrue(found.placement, mine.placement, numTrue);
  if (fits || placements.holdsTrue(mine.placement, found.placement, numTrue)) {
    mine.isLoose = true;
    if (!fits) {
      mine.placement = found.placement;
      mine.operand = found.operand;
      mine.dim = found.dim;
    }
    return true;
  }
  return wrong("operand " + Twine(found.operand) + " does not fit operand " +
               Twine(mine.operand) + ": in dimension " + Twine(found.dim) +
               " " +
               explainDifference(placements, found.placement, mine.placement));
}

/// Whether a dimension without elements on a device is one without elements at
/// all, which then are all equal. None if devices have elements of it.
std::optional<bool> OpMatcher::isEmpty(const DimFactors &list) const {
  auto isNone = [&](unsigned factor) { return factors[factor].localSize == 0; };
  if (llvm::none_of(list, isNone))
    return std::nullopt;
  return llvm::any_of(
      list, [&](unsigned factor) { return factors[factor].globalSize == 0; });
}

/// Splits the blocks of one dimension into those of its factors, minor to
/// major, as the digits of a mixed radix: block 5 of 2x4 is 1 of the major
/// factor and 1 of the minor one. All but the major factor are without padding.
bool OpMatcher::readDim(unsigned operand, int64_t dim, const DimState &state,
                        const ShardingRule &rule) {
  const DimFactors &list = localRule.operands[operand][dim];
  std::string name =
      ("dimension " + Twine(dim) + " of operand " + Twine(operand)).str();
  if (list.empty())
    return state.uniform || state.placement == Placements::kWhole ||
           wrong(name + " is needed whole but is cut");
  if (auto empty = isEmpty(list))
    return *empty || wrong(name + " has no elements on a device");
  int number = getState(operand).value;
  bool isTied = number < 0 || !reference.getValue(number).freeDims.test(dim);
  if (state.uniform) {
    FactorState found;
    found.isTied = isTied;
    for (unsigned factor : list)
      join(factor, found);
    return true;
  }
  int64_t minorSize = 1;
  for (unsigned factor : ArrayRef(list).drop_front())
    minorSize *= std::max<int64_t>(factors[factor].globalSize, 1);
  int64_t count = placements.getCount(state.placement), below = 1;
  for (size_t i = list.size(); i-- > 0;) {
    int64_t local = factors[list[i]].localSize;
    int64_t global = factors[list[i]].globalSize;
    int64_t parts = i > 0 ? global / local : count / below;
    bool divides =
        i == 0 || (global % local == 0 && count / below % parts == 0);
    if (!divides)
      return wrong(name + " has " + Twine(count) + " blocks of " +
                   Twine(local) + ", which are not the " + Twine(global) +
                   " of the whole");
    bool isBlock =
        parts == 1 ||
        llvm::all_of(ArrayRef(list).take_front(i), [&](unsigned major) {
          return factors[major].localSize == 1;
        });
    if (!isBlock)
      return wrong(name + " is cut across the parts that it is made of");
    FactorState found;
    found.isUniform = false;
    found.isTied = isTied;
    if (i == 0 && state.trueSize >= 0) {
      if (state.trueSize % minorSize != 0)
        return wrong(name + " is masked from element " + Twine(state.trueSize) +
                     " on, in the middle of the parts that it is made of");
      found.trueSize = state.trueSize / minorSize;
    }
    found.operand = operand;
    found.dim = dim;
    found.placement = list.size() == 1
                          ? state.placement
                          : placements.getDigit(state.placement, below, parts);
    if (!join(list[i], found))
      return false;
    below *= parts;
  }
  return true;
}

bool OpMatcher::readOperands(const ShardingRule &rule) {
  factors.assign(rule.factors.size(), FactorState());
  for (auto [i, factor] : llvm::enumerate(factors)) {
    factor.localSize = localRule.factors[i].size;
    factor.globalSize = rule.factors[i].size;
  }
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    if (!tensorOf(op->getOperand(i)))
      continue;
    const ShardState &state = getState(i);
    // Each device needs all of a tensor that no factor is tied to.
    if (i >= localRule.operands.size() || localRule.operands[i].empty()) {
      for (auto [dim, s] : llvm::enumerate(state.dims))
        if (!s.uniform && s.placement != Placements::kWhole)
          return wrong("operand " + Twine(i) + " is needed whole but is cut");
      continue;
    }
    for (auto [dim, s] : llvm::enumerate(state.dims))
      if (!readDim(i, dim, s, rule))
        return false;
  }
  // What no operand has is the same all along, as in a broadcast; but not a
  // dimension that is made whole of another one, as by a slice.
  for (auto [factor, state] : llvm::zip(rule.factors, factors))
    if (factor.kind == FactorKind::Replicated && !state.isKnown)
      state.isUniform = false;
  return true;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Names the blocks of a factor whose elements are all equal, so that any block
/// is any other. The name matters if the other factors of the dimension are not
/// uniform: it is the one that a use needs, or else the first one.
std::optional<Placements::Id> OpMatcher::nameBlocks(const DimFactors &list,
                                                    unsigned position,
                                                    unsigned result,
                                                    int64_t dim) {
  int64_t below = 1;
  for (unsigned factor : ArrayRef(list).drop_front(position + 1)) {
    const FactorState &f = factors[factor];
    if (f.globalSize % f.localSize != 0)
      return std::nullopt;
    below *= f.globalSize / f.localSize;
  }
  // Of the major factor there may be more blocks than its size needs.
  const FactorState &own = factors[list[position]];
  bool isMajor = position == 0;
  if (!isMajor && own.globalSize % own.localSize != 0)
    return std::nullopt;
  int64_t parts = llvm::divideCeil(own.globalSize, own.localSize);
  auto needed =
      findNeededBlocks(op->getResult(result), dim,
                       isMajor ? below : parts * below, states, placements);
  guessed |= parts > 1 || needed;
  Placements::Id first = placements.intern(
      parts, std::vector<int32_t>(placements.getNumDevices(), 0), {});
  if (!needed)
    return first;
  if (isMajor) {
    if (placements.getCount(*needed) < parts * below)
      return first;
    parts = placements.getCount(*needed) / below;
  }
  Placements::Id mine = placements.getDigit(*needed, below, parts);
  // The parts of a sum are of one block.
  AxisList unreduced = passedAxes;
  unreduced.append(reducedAxes);
  bool isEqual = placements.isEqualWithin(
      mine, normalizeAxes(placements.getMesh(), unreduced));
  return isEqual ? mine : first;
}

/// A dimension of a result from its factors, the inverse of readDim(); none if
/// they make no block of it. A factor is cut only if a device has one element
/// of each factor that is more major, as in any block of a row-major dimension.
std::optional<DimState> OpMatcher::makeDim(const DimFactors &list,
                                           unsigned result, int64_t dim) {
  DimState made;
  if (list.empty())
    return made;
  if (auto empty = isEmpty(list)) {
    made.uniform = true;
    return *empty ? std::optional(made) : std::nullopt;
  }
  made.padding = getPadding(list.front());
  made.trueSize = factors[list.front()].trueSize;
  for (unsigned factor : ArrayRef(list).drop_front()) {
    const FactorState &f = factors[factor];
    if (f.trueSize >= 0 && f.trueSize != f.globalSize)
      return std::nullopt;
    if (made.trueSize >= 0)
      made.trueSize *= f.globalSize;
  }
  made.uniform = llvm::all_of(list, [&](unsigned factor) {
    const FactorState &f = factors[factor];
    // One element is the same along its dimension.
    return f.isUniform || (list.size() > 1 && f.localSize == 1 &&
                           f.placement == Placements::kWhole);
  });
  if (made.uniform)
    return made;
  for (auto [i, factor] : llvm::enumerate(list)) {
    const FactorState &f = factors[factor];
    Placements::Id mine = f.isUniform ? Placements::kWhole : f.placement;
    if (f.isUniform && f.localSize != f.globalSize) {
      auto named = nameBlocks(list, i, result, dim);
      if (!named)
        return std::nullopt;
      mine = *named;
    }
    // Padding of another than the major one would lie within the dimension.
    if (i > 0 && f.localSize * placements.getCount(mine) != f.globalSize)
      return std::nullopt;
    bool isCut = placements.getCount(mine) > 1;
    for (unsigned major : ArrayRef(list).take_front(i))
      if (isCut && factors[major].localSize != 1)
        return std::nullopt;
    made.placement = placements.combine(made.placement, mine);
  }
  return made;
}

bool OpMatcher::makeResults(const ReferenceOp &target,
                            const ShardingRule &rule) {
  // No dimension may be cut along axes that the results are partial over.
  AxisList unreduced = passedAxes;
  unreduced.append(reducedAxes);
  for (auto [i, factor] : llvm::enumerate(factors)) {
    bool isReduced = rule.factors[i].kind == FactorKind::Reduction;
    ArrayRef<AxisRef> axes = isReduced ? ArrayRef(passedAxes) : unreduced;
    if (!factor.isUniform && !placements.isEqualWithin(factor.placement, axes))
      return wrong("dimension " + Twine(factor.dim) + " of operand " +
                   Twine(factor.operand) + " is cut along " + printAxes(axes) +
                   ", over which the result is to be reduced");
  }
  made.clear();
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    ShardState &state = made.emplace_back();
    state.value = target.results.empty() ? -1 : target.results[i];
    RankedTensorType type = tensorOf(result);
    if (!type)
      continue;
    AxisList mine = passedAxes;
    state.share = share;
    for (const Reduced &reduced : reducedFactors)
      if (rule.isReducedIn(reduced.factor, i)) {
        mine.append(reduced.axes);
        state.share *= reduced.share;
      }
    state.unreduced = normalizeAxes(placements.getMesh(), mine);
    state.reduction = kind.value_or(ReductionKind::Sum);
    state.dims.resize(type.getRank());
    if (i >= localRule.results.size() || localRule.results[i].empty())
      continue;
    for (auto [dim, list] : llvm::enumerate(localRule.results[i])) {
      std::optional<DimState> s = makeDim(list, i, dim);
      if (!s)
        return wrong("what a device computes of dimension " + Twine(dim) +
                     " of the result is no block of it");
      state.dims[dim] = *s;
    }
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Offsets
//===----------------------------------------------------------------------===//

bool OpMatcher::isOffset(const ShardState *offset, Placements::Id placement,
                         int64_t size) const {
  if (!offset)
    return placement == Placements::kWhole;
  if (!offset->numbers)
    return false;
  for (auto [number, block] :
       llvm::zip(*offset->numbers, placements.getBlocks(placement)))
    if (number != block * size)
      return false;
  return true;
}

Fit OpMatcher::checkOffset(Value local, unsigned index) {
  FactorState &factor = factors[index];
  auto it = states.find(local);
  if (it == states.end() || !it->second.numbers)
    return fail(Fit::Unknown, "its offset is not known");
  // There is nothing to count.
  if (factor.globalSize == 0)
    return Fit::Yes;
  const std::vector<int64_t> &numbers = *it->second.numbers;
  if (factor.isUniform) {
    // Nothing but the offset says which part this is.
    auto placement = placements.findBlocks(numbers, factor.localSize);
    if (!placement)
      return fail(Fit::Wrong, "its offset is no multiple of the " +
                                  Twine(factor.localSize) +
                                  " elements of a device");
    factor.isUniform = false;
    factor.placement = *placement;
    return Fit::Yes;
  }
  ArrayRef<int32_t> blocks = placements.getBlocks(factor.placement);
  for (auto [device, number] : llvm::enumerate(numbers))
    if (number != blocks[device] * factor.localSize)
      return fail(Fit::Wrong, "device " + Twine(device) +
                                  " counts from position " + Twine(number) +
                                  " but its block begins at " +
                                  Twine(blocks[device] * factor.localSize));
  return Fit::Yes;
}

/// The value on each device of a scalar that only the expected op has: constant
/// folding, with a device's offset for each token.
std::optional<std::vector<int64_t>>
OpMatcher::evaluate(Value wanted, const ExpectedOp &expectedOp) {
  for (auto [factor, token] : llvm::zip(factors, expectedOp.tokens)) {
    if (token != wanted)
      continue;
    if (factor.isUniform)
      return std::nullopt;
    ArrayRef<int32_t> blocks = placements.getBlocks(factor.placement);
    std::vector<int64_t> numbers(blocks.begin(), blocks.end());
    for (int64_t &number : numbers)
      number *= factor.localSize;
    return numbers;
  }
  Operation *definition = wanted.getDefiningOp();
  if (!definition)
    return std::nullopt;
  std::vector<std::vector<int64_t>> operands;
  for (Value operand : definition->getOperands()) {
    auto numbers = evaluate(operand, expectedOp);
    if (!numbers)
      return std::nullopt;
    operands.push_back(std::move(*numbers));
  }
  return foldNumbers(definition, operands, placements.getNumDevices());
}

//===----------------------------------------------------------------------===//
// Comparison with the expected op
//===----------------------------------------------------------------------===//

Fit OpMatcher::compareOperand(Value local, Value wanted,
                              const ExpectedOp &expectedOp, StringRef what) {
  for (auto [i, token] : llvm::enumerate(expectedOp.tokens))
    if (token == wanted)
      return checkOffset(local, i);
  auto it = states.find(local);
  if (it == states.end())
    return fail(Fit::OtherOp, what + " is another value");
  if (expected.owns(wanted)) {
    auto numbers = evaluate(wanted, expectedOp);
    if (!numbers || !it->second.numbers)
      return fail(Fit::Unknown, what + " cannot be evaluated");
    if (*numbers != *it->second.numbers)
      return fail(Fit::Wrong, what + " is not the position of the block");
    return Fit::Yes;
  }
  if (it->second.value < 0 || it->second.value != reference.lookup(wanted))
    return fail(Fit::OtherOp, what + " is another value");
  return Fit::Yes;
}

/// Every device has all of a tensor, `value` in the reference, and no padding.
static bool isWhole(Value local, const ShardState &state, Value value) {
  return local.getType() == value.getType() && !state.isPartial() &&
         state.share == 1 && llvm::all_of(state.dims, [](const DimState &dim) {
           return dim.uniform || dim.placement == Placements::kWhole;
         });
}

/// Structural equality of operands, attributes and bodies, up to the local
/// values' names. The tensor operands were what the target was looked up by.
Fit OpMatcher::compare(const ExpectedOp &expectedOp) {
  Operation *wanted = expectedOp.op;
  if (op->getNumOperands() != wanted->getNumOperands())
    return fail(Fit::OtherOp,
                "it has " + Twine(op->getNumOperands()) + " operands but " +
                    Twine(wanted->getNumOperands()) + " are needed for a part");
  if (!expected.hasPropertiesOf(op, wanted))
    return fail(Fit::OtherOp, "its attributes differ");
  for (auto [i, local, value] :
       llvm::enumerate(op->getOperands(), wanted->getOperands())) {
    Fit how =
        compareOperand(local, value, expectedOp, ("operand " + Twine(i)).str());
    if (how != Fit::Yes)
      return how;
  }
  for (auto [a, b] : llvm::zip(op->getRegions(), wanted->getRegions())) {
    Fit how = Fit::Yes;
    bool same = isSameRegion(a, b, [&](Value local, Value value) {
      how = compareOperand(local, value, expectedOp, "a value in its body");
      if (how == Fit::Yes && tensorOf(local) &&
          !isWhole(local, states.find(local)->second, value))
        how = fail(Fit::Wrong, "its body uses a tensor that is not whole");
      return how == Fit::Yes;
    });
    if (how != Fit::Yes)
      return how;
    if (!same)
      return fail(Fit::OtherOp, "its body differs");
  }
  return Fit::Yes;
}

/// Tries which of the positional factors have an offset: those that are cut
/// must have one, those of equal elements may. First the likely sets (all that
/// may, those that must, all), then every subset of up to four open ones.
Fit OpMatcher::matchExpected(const ReferenceOp &target,
                             const llvm::SmallBitVector &absorbed,
                             const ShardingRule &rule) {
  llvm::SmallBitVector cut(factors.size()), open(factors.size());
  llvm::SmallBitVector all(factors.size());
  for (auto [i, factor] : llvm::enumerate(rule.factors)) {
    if (!factor.positional)
      continue;
    all.set(i);
    if (factors[i].isUniform)
      open.set(i);
    else if (factors[i].placement != Placements::kWhole)
      cut.set(i);
  }
  llvm::SmallBitVector cutOrOpen = cut;
  cutOrOpen |= open;
  SmallVector<llvm::SmallBitVector, 3> choices{cutOrOpen};
  auto add = [&](const llvm::SmallBitVector &choice) {
    if (!llvm::is_contained(choices, choice))
      choices.push_back(choice);
  };
  add(cut);
  add(all);
  // Nothing but an offset says which of the others is cut.
  constexpr unsigned kMaxOpen = 4;
  unsigned subsets = open.count() <= kMaxOpen ? 1u << open.count() : 0;
  for (unsigned some = 1; some + 1 < subsets; ++some) {
    llvm::SmallBitVector choice = cut;
    for (auto [bit, factor] : llvm::enumerate(open.set_bits()))
      if (some >> bit & 1)
        choice.set(factor);
    add(choice);
  }
  SmallVector<FactorState, 8> saved = factors;
  Fit best = Fit::OtherOp;
  std::string reason;
  for (const llvm::SmallBitVector &choice : choices) {
    factors = saved;
    // Without an offset counting starts at the first element.
    for (unsigned i : open.set_bits())
      if (!choice.test(i))
        factors[i].isUniform = false;
    Fit how = compare(expected.get(target.op, target.rule, absorbed, choice));
    if (how == Fit::Yes)
      return how;
    if (best == Fit::OtherOp) {
      best = how;
      reason = why;
    }
  }
  if (best == Fit::OtherOp && cut.any() &&
      op->getNumOperands() == target.op->getNumOperands() &&
      op->getNumRegions() == 0 && haveSameProperties(op, target.op))
    return fail(Fit::Wrong, "the op counts positions from 0, but the devices "
                            "hold different blocks of the dimension");
  return fail(best, reason);
}

Fit OpMatcher::matchVariant(const ReferenceOp &target, const ShardingRule &rule,
                            const llvm::SmallBitVector &absorbed) {
  // Blocks, the op itself, then what reductions need; the first that fails is
  // the reason.
  fit = Fit::Yes;
  told = {&target, absorbed};
  if (localRule.factors.size() != rule.factors.size() ||
      localRule.results.size() != rule.results.size())
    return fail(Fit::OtherOp, "its sharding rule differs");
  if (!readOperands(rule) || !checkKinds(rule, absorbed))
    return fit;
  if (Fit how = matchExpected(target, absorbed, rule); how != Fit::Yes)
    return how;
  if (!checkSizes(rule) || !checkPadding(rule, absorbed) ||
      !checkUniformSums(rule) || !findPartialAxes(rule) || !checkInits() ||
      !checkPartialOperands() || !makeResults(target, rule))
    return fit;
  return Fit::Yes;
}

/// Tensors of one rank and element type, or the same type.
static bool isAlike(Type a, Type b) {
  auto left = dyn_cast<RankedTensorType>(a);
  auto right = dyn_cast<RankedTensorType>(b);
  if (!left || !right)
    return a == b;
  return left.getElementType() == right.getElementType() &&
         left.getRank() == right.getRank();
}

/// The factors of which an op may have been told that they are padded: those
/// that are, and any others. Of equal elements nothing but the op says so, and
/// it may have been told in vain.
SmallVector<llvm::SmallBitVector, 2>
OpMatcher::listPadded(const ShardingRule &rule) const {
  llvm::SmallBitVector padded(factors.size()), open(factors.size());
  for (auto [i, factor, state] : llvm::enumerate(rule.factors, factors)) {
    if (factor.kind == FactorKind::Replicated)
      continue;
    if (state.localSize * placements.getCount(state.placement) >
        state.globalSize)
      padded.set(i);
    else
      open.set(i);
  }
  SmallVector<llvm::SmallBitVector, 2> lists;
  if (padded.any())
    lists.push_back(padded);
  constexpr unsigned kMaxOpen = 4;
  unsigned subsets = open.count() <= kMaxOpen ? 1u << open.count() : 0;
  for (unsigned some = 1; some < subsets; ++some) {
    llvm::SmallBitVector choice = padded;
    for (auto [bit, factor] : llvm::enumerate(open.set_bits()))
      if (some >> bit & 1)
        choice.set(factor);
    lists.push_back(choice);
  }
  return lists;
}

Match OpMatcher::match(Operation *local, const ReferenceOp &target) {
  op = local;
  for (auto [mine, type] :
       llvm::zip(op->getResultTypes(), target.op->getResultTypes()))
    if (!isAlike(mine, type))
      return {Fit::OtherOp, "its results have other types", {}};
  localRule = getPartRule(op, target.op);
  llvm::SmallBitVector none(target.rule.factors.size());
  Fit how = matchVariant(target, target.rule, none);
  // The op may know of the padding itself.
  if (how != Fit::Yes && isa<ShardingRuleOpInterface>(target.op) &&
      factors.size() == target.rule.factors.size()) {
    Fit first = how;
    std::string firstReason = why;
    for (const llvm::SmallBitVector &padded : listPadded(target.rule)) {
      const ExpectedOp &variant =
          expected.get(target.op, target.rule, padded, none);
      Fit told = variant.absorbed.any()
                     ? matchVariant(target, variant.rule, variant.absorbed)
                     : Fit::OtherOp;
      if (told == Fit::OtherOp || told == first)
        continue;
      how = told;
      break;
    }
    if (how == first)
      why = firstReason;
  }
  return finish(how);
}
