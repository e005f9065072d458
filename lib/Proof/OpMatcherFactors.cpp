//===- OpMatcherFactors.cpp - From the blocks of operands to factors ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The blocks of a dimension split into blocks of its factors like a number in a
// mixed radix (D. E. Knuth: The Art of Computer Programming, 2, 4.1). A
// dimension of 12 with factors b = 2 and d = 6, in 4 blocks of 3 on 4 devices:
//
//     device             0  1  2  3
//     block              0  1  2  3     of 4
//     d: block % 2       0  1  0  1     of 2 blocks of 3
//     b: block / 2       0  0  1  1     of 2 blocks of 1
//
// In 2 blocks of 6, only b is sharded. In 3 blocks of 4, a device has elements
// 2 to 5 of one row of d and none of another: this is no block of the factors.
// Other operands must agree on b and d, device by device.
//
//===----------------------------------------------------------------------===//

#include "OpComparison.h"

using namespace mlir;
using namespace tessera;

std::string tessera::describe(const FactorState &factor) {
  return ("dimension " + Twine(factor.dim) + " of operand " +
          Twine(factor.operand))
      .str();
}

/// The meet of two operands' states of one factor: equal elements fit any
/// blocks, other blocks must be the same on each device that holds true
/// elements.
static CheckResult join(FactorState &mine, const FactorState &found,
                        const Placements &placements) {
  mine.isKnown = true;
  mine.isTied |= found.isTied;
  if (found.trueSize >= 0) {
    if (mine.trueSize >= 0 && mine.trueSize != found.trueSize)
      return wrong("its operands are masked from different elements on");
    mine.trueSize = found.trueSize;
  }
  if (found.isUniform)
    return {};
  auto take = [&] {
    mine.placement = found.placement;
    mine.operand = found.operand;
    mine.dim = found.dim;
  };
  if (mine.isUniform) {
    mine.isUniform = false;
    take();
    return {};
  }
  if (mine.placement == found.placement)
    return {};
  // Devices whose block is all padding may hold anything.
  int64_t numTrue = llvm::divideCeil(mine.globalSize, mine.localSize);
  bool fits = placements.holdsTrue(found.placement, mine.placement, numTrue);
  if (fits || placements.holdsTrue(mine.placement, found.placement, numTrue)) {
    mine.isLoose = true;
    if (!fits)
      take();
    return {};
  }
  return wrong("operand " + Twine(found.operand) + " does not fit operand " +
               Twine(mine.operand) + ": in dimension " + Twine(found.dim) +
               " " +
               explainDifference(placements, found.placement, mine.placement));
}

std::optional<bool> tessera::isEmpty(const OpComparison &c,
                                     const DimFactors &factors) {
  auto isNone = [&](unsigned f) { return c.factors[f].localSize == 0; };
  if (llvm::none_of(factors, isNone))
    return std::nullopt;
  return llvm::any_of(factors,
                      [&](unsigned f) { return c.factors[f].globalSize == 0; });
}

/// Splits the blocks of one dimension into blocks of its factors, minor to
/// major. Only the major factor may be padded.
static CheckResult readBlocks(OpComparison &c, const DimFactors &list,
                              const DimState &state, FactorState found,
                              const std::string &name) {
  Placements &placements = c.placements();
  int64_t minorSize = 1;
  for (unsigned factor : ArrayRef(list).drop_front())
    minorSize *= std::max<int64_t>(c.factors[factor].globalSize, 1);
  int64_t count = placements.getCount(state.placement), below = 1;
  for (size_t i = list.size(); i-- > 0;) {
    int64_t local = c.factors[list[i]].localSize;
    int64_t global = c.factors[list[i]].globalSize;
    int64_t numBlocks = i > 0 ? global / local : count / below;
    // A minor factor is split evenly; the last block of the major factor may be
    // padded.
    bool divides =
        i == 0 || (global % local == 0 && count / below % numBlocks == 0);
    if (!divides)
      return wrong(name + " has " + Twine(count) + " blocks of " +
                   Twine(local) + ", which are not the " + Twine(global) +
                   " of the whole");
    // In row-major order, a block of more than one row has whole minor factors.
    bool isBlock =
        numBlocks == 1 ||
        llvm::all_of(ArrayRef(list).take_front(i), [&](unsigned major) {
          return c.factors[major].localSize == 1;
        });
    if (!isBlock)
      return wrong(name + " is cut across the parts that it is made of");
    if (i == 0 && state.trueSize >= 0) {
      if (state.trueSize % minorSize != 0)
        return wrong(name + " is masked from element " + Twine(state.trueSize) +
                     " on, in the middle of the parts that it is made of");
      found.trueSize = state.trueSize / minorSize;
    }
    found.placement = list.size() == 1 ? state.placement
                                       : placements.getDigit(state.placement,
                                                             below, numBlocks);
    CheckResult joined = join(c.factors[list[i]], found, placements);
    if (!joined.fits())
      return joined;
    below *= numBlocks;
  }
  return {};
}

/// Reads one dimension of an operand into its factors: the blocks that devices
/// hold, or that all elements are equal.
static CheckResult readDim(OpComparison &c, unsigned operand, int64_t dim) {
  const DimState &state = c.getState(operand).dims[dim];
  const DimFactors &list = c.localRule.operands[operand][dim];
  FactorState found;
  found.operand = operand;
  found.dim = dim;
  std::string name = describe(found);
  if (list.empty()) {
    if (state.uniform || state.placement == Placements::kWhole)
      return {};
    return wrong(name + " is needed whole but is cut");
  }
  if (auto empty = isEmpty(c, list)) {
    if (*empty)
      return {};
    return wrong(name + " has no elements on a device");
  }
  int number = c.getState(operand).value;
  found.isTied =
      number < 0 || !c.context.reference.getValue(number).freeDims.test(dim);
  found.isUniform = state.uniform;
  if (!state.uniform)
    return readBlocks(c, list, state, found, name);
  for (unsigned factor : list)
    if (CheckResult joined = join(c.factors[factor], found, c.placements());
        !joined.fits())
      return joined;
  return {};
}

CheckResult tessera::readOperands(OpComparison &c) {
  c.factors.assign(c.rule.factors.size(), FactorState());
  for (auto [i, factor] : llvm::enumerate(c.factors)) {
    factor.localSize = c.localRule.factors[i].size;
    factor.globalSize = c.rule.factors[i].size;
  }
  for (unsigned i = 0; i < c.op->getNumOperands(); ++i) {
    if (!c.isTensor(i))
      continue;
    // Each device needs all of a tensor that no factor is tied to.
    bool isFree =
        i >= c.localRule.operands.size() || c.localRule.operands[i].empty();
    for (auto [dim, s] : llvm::enumerate(c.getState(i).dims)) {
      if (!isFree) {
        if (CheckResult read = readDim(c, i, dim); !read.fits())
          return read;
      } else if (!s.uniform && s.placement != Placements::kWhole) {
        return wrong("operand " + Twine(i) + " is needed whole but is cut");
      }
    }
  }
  // Elements are equal along a factor that no operand has, as in a broadcast,
  // unless the op computes the dimension from another one, as a slice does.
  for (auto [factor, state] : llvm::zip(c.rule.factors, c.factors))
    if (factor.kind == FactorKind::Replicated && !state.isKnown)
      state.isUniform = false;
  return {};
}

CheckResult tessera::checkKinds(OpComparison &c) {
  for (auto [i, factor] : llvm::enumerate(c.rule.factors)) {
    FactorState &state = c.factors[i];
    bool needsWhole = factor.kind == FactorKind::Replicated ||
                      factor.kind == FactorKind::Decomposed;
    if (!needsWhole)
      continue;
    // Results need not be equal along a dimension if the op treats its elements
    // differently.
    state.isUniform = false;
    if (state.placement != Placements::kWhole)
      return wrong(describe(state) + " is needed whole but is cut into " +
                   Twine(c.placements().getCount(state.placement)) + " blocks");
    if (state.localSize != state.globalSize && !c.absorbed.test(i))
      return wrong(describe(state) + " is needed in its true size " +
                   Twine(state.globalSize) + " but has " +
                   Twine(state.localSize));
  }
  return {};
}

CheckResult tessera::checkSizes(const OpComparison &c) {
  for (auto [i, state] : llvm::enumerate(c.factors)) {
    bool counts =
        state.isTied || c.rule.factors[i].kind != FactorKind::Parallel;
    if (!counts || !state.isKnown)
      continue;
    if (state.trueSize >= 0 && state.trueSize != state.globalSize)
      return wrong(describe(state) + " is masked from element " +
                   Twine(state.trueSize) + " on but its true size is " +
                   Twine(state.globalSize));
    int64_t held = c.getHeldSize(state);
    if (!state.isUniform && held < state.globalSize)
      return wrong("all devices hold " + Twine(held) + " elements of " +
                   describe(state) + ", which has " + Twine(state.globalSize));
  }
  return {};
}
