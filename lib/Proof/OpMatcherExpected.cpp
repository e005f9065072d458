//===- OpMatcherExpected.cpp - The op itself: offsets, properties ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The target is copied, and methods of its interface tell the copy where a
// device's block begins. A token represents that position, which differs per
// device. The local op must equal the copy, with an offset instead of the
// token:
//
//     reference   nn.rope(x : 8x16)            positions 0 to 7
//     copy        nn.rope(x, offset = T)
//     local       nn.rope(x : 4x16, offset = %0)
//
//     device      0  1
//     T           0  4      the blocks 0 1 of 4 rows each
//     %0          0  4      the op fits; with 0 0 it is wrong, and the error
//                           names device 1
//
//===----------------------------------------------------------------------===//

#include "OpComparison.h"
#include "ScalarNumbers.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Offsets
//===----------------------------------------------------------------------===//

bool tessera::isOffset(const Placements &placements, const ShardState *offset,
                       Placements::Id placement, int64_t size) {
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

CheckResult tessera::checkOffset(OpComparison &c, Value local, unsigned index) {
  FactorState &factor = c.factors[index];
  const ShardState *offset = c.context.states.findWithEnds(local);
  if (!offset || !offset->numbers)
    return unknown("its offset is not known");
  // An empty factor has no positions.
  if (factor.globalSize == 0)
    return {};
  const std::vector<int64_t> &numbers = *offset->numbers;
  if (factor.isUniform) {
    // Only the offset determines the block.
    auto placement = c.placements().findBlocks(numbers, factor.localSize);
    if (!placement)
      return wrong("its offset is no multiple of the " +
                   Twine(factor.localSize) + " elements of a device");
    factor.isUniform = false;
    factor.placement = *placement;
    return {};
  }
  ArrayRef<int32_t> blocks = c.placements().getBlocks(factor.placement);
  for (auto [device, number] : llvm::enumerate(numbers))
    if (number != blocks[device] * factor.localSize)
      return wrong("device " + Twine(device) + " counts from position " +
                   Twine(number) + " but its block begins at " +
                   Twine(blocks[device] * factor.localSize));
  return {};
}

/// The value per device of a scalar that only the expected op has, by constant
/// folding with a device's offset for each token.
static std::optional<std::vector<int64_t>>
evaluate(const OpComparison &c, Value wanted, const ExpectedOp &expectedOp) {
  for (auto [factor, token] : llvm::zip(c.factors, expectedOp.tokens)) {
    if (token != wanted)
      continue;
    if (factor.isUniform)
      return std::nullopt;
    ArrayRef<int32_t> blocks = c.placements().getBlocks(factor.placement);
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
    auto numbers = evaluate(c, operand, expectedOp);
    if (!numbers)
      return std::nullopt;
    operands.push_back(std::move(*numbers));
  }
  return foldNumbers(definition, operands, c.placements().getNumDevices());
}

//===----------------------------------------------------------------------===//
// Comparison with the expected op
//===----------------------------------------------------------------------===//

static CheckResult compareOperand(OpComparison &c, Value local, Value wanted,
                                  const ExpectedOp &expectedOp,
                                  const Twine &what) {
  for (auto [i, token] : llvm::enumerate(expectedOp.tokens))
    if (token == wanted)
      return checkOffset(c, local, i);
  const ShardState *state = c.context.states.findWithEnds(local);
  if (!state)
    return otherOp(what + " is another value");
  if (c.context.expected.owns(wanted)) {
    auto numbers = evaluate(c, wanted, expectedOp);
    if (!numbers || !state->numbers)
      return unknown(what + " cannot be evaluated");
    if (*numbers != *state->numbers)
      return wrong(what + " is not the position of the block");
    return {};
  }
  int number = state->value;
  if (number < 0 || number != c.context.reference.lookup(wanted))
    return otherOp(what + " is another value");
  return {};
}

/// Whether each device has all of a tensor (`value` in the reference),
/// unpadded.
static bool isWhole(Value local, const ShardState &state, Value value) {
  return local.getType() == value.getType() && !state.isPartial() &&
         state.share == 1 && !findOtherEnd(state, value.getType()) &&
         llvm::all_of(state.dims, [](const DimState &dim) {
           return dim.uniform || dim.placement == Placements::kWhole;
         });
}

static bool isInAllResults(const ShardingRule &rule, unsigned factor) {
  return llvm::all_of(rule.results, [&](const TensorFactors &tensor) {
    return llvm::any_of(tensor, [&](const DimFactors &dim) {
      return llvm::is_contained(dim, factor);
    });
  });
}

/// Checks that an ended operand ends where the expected operand of type `type`
/// does. It may have any length along a factor that the op treats elementwise;
/// results then end where the operand does.
static CheckResult checkEnds(const OpComparison &c, unsigned operand,
                             Type type) {
  const ShardState &state = c.getState(operand);
  const auto &tensors = c.localRule.operands;
  for (auto [i, dim] : llvm::enumerate(state.dims)) {
    int64_t size = cast<RankedTensorType>(type).getDimSize(i);
    if (dim.trueSize < 0 || dim.trueSize == size)
      continue;
    auto isElementwise = [&](unsigned factor) {
      return c.rule.factors[factor].kind == FactorKind::Parallel &&
             isInAllResults(c.rule, factor);
    };
    bool hasFactors = operand < tensors.size() && !tensors[operand].empty() &&
                      !tensors[operand][i].empty();
    if (!hasFactors || !llvm::all_of(tensors[operand][i], isElementwise))
      return wrong("dimension " + Twine(i) + " of operand " + Twine(operand) +
                   " is masked from element " + Twine(dim.trueSize) +
                   " on but its true size is " + Twine(size));
  }
  return {};
}

/// Checks structural equality of operands, attributes and bodies, up to value
/// names. The tensor operands were already compared in the lookup of the
/// target.
static CheckResult compare(OpComparison &c, const ExpectedOp &expectedOp) {
  Operation *wanted = expectedOp.op;
  if (c.op->getNumOperands() != wanted->getNumOperands())
    return otherOp("it has " + Twine(c.op->getNumOperands()) +
                   " operands but " + Twine(wanted->getNumOperands()) +
                   " are needed for a part");
  if (!c.context.expected.hasPropertiesOf(c.op, wanted))
    return otherOp("its attributes differ");
  for (auto [i, local, value] :
       llvm::enumerate(c.op->getOperands(), wanted->getOperands())) {
    CheckResult found =
        compareOperand(c, local, value, expectedOp, "operand " + Twine(i));
    if (found.fits() && c.isTensor(i))
      found = checkEnds(c, i, value.getType());
    if (!found.fits())
      return found;
  }
  for (auto [a, b] : llvm::zip(c.op->getRegions(), wanted->getRegions())) {
    CheckResult found;
    bool isSame = isSameRegion(a, b, [&](Value local, Value value) {
      found =
          compareOperand(c, local, value, expectedOp, "a value in its body");
      if (found.fits() && isa<RankedTensorType>(local.getType()) &&
          !isWhole(local, c.context.states.getWithEnds(local), value))
        found = wrong("its body uses a tensor that is not whole");
      return found.fits();
    });
    if (!found.fits())
      return found;
    if (!isSame)
      return otherOp("its body differs");
  }
  return {};
}

/// The factors whose index the op reads, if they can have an offset.
namespace {
struct PositionalFactors {
  llvm::SmallBitVector all;
  /// The sharded factors, which must have an offset.
  llvm::SmallBitVector sharded;
  /// The factors of equal elements, which may have one: only an offset
  /// determines their blocks.
  llvm::SmallBitVector open;
};
} // namespace

static PositionalFactors findPositional(const OpComparison &c) {
  size_t count = c.factors.size();
  PositionalFactors found{llvm::SmallBitVector(count),
                          llvm::SmallBitVector(count),
                          llvm::SmallBitVector(count)};
  for (auto [i, factor] : llvm::enumerate(c.rule.factors)) {
    if (!factor.positional)
      continue;
    found.all.set(i);
    if (c.factors[i].isUniform)
      found.open.set(i);
    else if (c.factors[i].placement != Placements::kWhole)
      found.sharded.set(i);
  }
  return found;
}

/// Lists the sets of factors to try: first the likely ones (all that may have
/// an offset, all that must, all), then every subset of up to four open ones.
static SmallVector<llvm::SmallBitVector, 3>
listPositioned(const PositionalFactors &factors) {
  llvm::SmallBitVector shardedOrOpen = factors.sharded;
  shardedOrOpen |= factors.open;
  SmallVector<llvm::SmallBitVector, 3> choices{shardedOrOpen};
  auto add = [&](const llvm::SmallBitVector &choice) {
    if (!llvm::is_contained(choices, choice))
      choices.push_back(choice);
  };
  add(factors.sharded);
  add(factors.all);
  constexpr unsigned kMaxOpen = 4;
  unsigned numOpen = factors.open.count();
  unsigned subsets = numOpen <= kMaxOpen ? 1u << numOpen : 0;
  for (unsigned some = 1; some + 1 < subsets; ++some) {
    llvm::SmallBitVector choice = factors.sharded;
    for (auto [bit, factor] : llvm::enumerate(factors.open.set_bits()))
      if (some >> bit & 1)
        choice.set(factor);
    add(choice);
  }
  return choices;
}

CheckResult tessera::checkExpected(OpComparison &c) {
  Operation *wanted = c.target->op;
  PositionalFactors positional = findPositional(c);
  SmallVector<FactorState, 8> saved = c.factors;
  CheckResult best = otherOp("");
  for (const llvm::SmallBitVector &choice : listPositioned(positional)) {
    c.factors = saved;
    // Counting starts at the first element if there is no offset.
    for (unsigned i : positional.open.set_bits())
      if (!choice.test(i))
        c.factors[i].isUniform = false;
    CheckResult found = compare(
        c, c.context.expected.get(wanted, c.target->rule, c.absorbed, choice));
    if (found.fits())
      return found;
    if (best.fit == Fit::OtherOp)
      best = std::move(found);
  }
  if (best.fit == Fit::OtherOp && positional.sharded.any() &&
      c.op->getNumOperands() == wanted->getNumOperands() &&
      c.op->getNumRegions() == 0 && haveSameProperties(c.op, wanted))
    return wrong("the op counts positions from 0, but the devices hold "
                 "different blocks of the dimension");
  return best;
}
