//===- OpMatcherResults.cpp - From factors to the blocks of results -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes a dimension of a result from the blocks of its factors, the inverse
// of OpMatcherFactors: with b of 2 blocks of 1 and d of 2 blocks of 3,
//
//     device             0  1  2  3
//     b                  0  0  1  1
//     d                  0  1  0  1
//     result: 2 b + d    0  1  2  3     4 blocks of 3 of a dimension of 12
//
// Blocks of equal elements have no names: of ones(8) in 2 blocks of 4, either
// device holds either block. If another factor of the dimension has named
// blocks, the use of the result determines the names. This is a guess: a wrong
// name is found at the use.
//
//===----------------------------------------------------------------------===//

#include "NeededBlocks.h"
#include "OpComparison.h"

using namespace mlir;
using namespace tessera;

/// Names the blocks of a factor whose elements are all equal, so that any block
/// can be any other: as a use needs them, or else all by the first name.
/// `result` is partial over `unreduced`.
static std::optional<Placements::Id>
nameBlocks(const OpComparison &c, const DimFactors &list, unsigned position,
           OpResult result, int64_t dim, ArrayRef<AxisRef> unreduced) {
  Placements &placements = c.placements();
  int64_t below = 1;
  for (unsigned factor : ArrayRef(list).drop_front(position + 1)) {
    const FactorState &f = c.factors[factor];
    if (f.globalSize % f.localSize != 0)
      return std::nullopt;
    below *= f.globalSize / f.localSize;
  }
  // The major factor may have more blocks than its size needs.
  const FactorState &own = c.factors[list[position]];
  bool isMajor = position == 0;
  if (!isMajor && own.globalSize % own.localSize != 0)
    return std::nullopt;
  int64_t numBlocks = llvm::divideCeil(own.globalSize, own.localSize);
  auto needed =
      findNeededBlocks(result, dim, isMajor ? below : numBlocks * below,
                       c.context.states, placements);
  c.context.hasGuessed |= numBlocks > 1 || needed;
  Placements::Id first = placements.intern(
      numBlocks, std::vector<int32_t>(placements.getNumDevices(), 0), {});
  if (!needed)
    return first;
  if (isMajor) {
    if (placements.getCount(*needed) < numBlocks * below)
      return first;
    numBlocks = placements.getCount(*needed) / below;
  }
  Placements::Id mine = placements.getDigit(*needed, below, numBlocks);
  // All terms of a sum must be the same block.
  bool isEqual = placements.isEqualWithin(
      mine, normalizeAxes(placements.getMesh(), unreduced));
  return isEqual ? mine : first;
}

/// Computes a dimension of a result from its factors; none if they form no
/// block. A factor may be sharded only if a device has one element of each more
/// major factor, as in any block of a row-major dimension.
static std::optional<DimState> makeDim(const OpComparison &c,
                                       const DimFactors &list, OpResult result,
                                       int64_t dim,
                                       ArrayRef<AxisRef> unreduced) {
  DimState made;
  if (list.empty())
    return made;
  if (auto empty = isEmpty(c, list)) {
    made.uniform = true;
    return *empty ? std::optional(made) : std::nullopt;
  }
  made.padding = getResultPadding(c, list.front());
  made.trueSize = c.factors[list.front()].trueSize;
  for (unsigned factor : ArrayRef(list).drop_front()) {
    const FactorState &f = c.factors[factor];
    if (f.trueSize >= 0 && f.trueSize != f.globalSize)
      return std::nullopt;
    if (made.trueSize >= 0)
      made.trueSize *= f.globalSize;
  }
  made.uniform =
      made.trueSize < 0 && llvm::all_of(
                               list,
                               [&](unsigned factor) {
                                 const FactorState &f = c.factors[factor];
                                 // A single element is uniform along its
                                 // dimension.
                                 return f.isUniform ||
                                        (list.size() > 1 && f.localSize == 1 &&
                                         f.placement == Placements::kWhole);
                               });
  if (made.uniform)
    return made;
  Placements &placements = c.placements();
  for (auto [i, factor] : llvm::enumerate(list)) {
    const FactorState &f = c.factors[factor];
    Placements::Id mine = f.isUniform ? Placements::kWhole : f.placement;
    if (f.isUniform && f.localSize != f.globalSize) {
      auto named = nameBlocks(c, list, i, result, dim, unreduced);
      if (!named)
        return std::nullopt;
      mine = *named;
    }
    // Padding of a minor factor would be in the middle of the dimension.
    if (i > 0 && f.localSize * placements.getCount(mine) != f.globalSize)
      return std::nullopt;
    bool isSharded = placements.getCount(mine) > 1;
    for (unsigned major : ArrayRef(list).take_front(i))
      if (isSharded && c.factors[major].localSize != 1)
        return std::nullopt;
    made.placement = placements.combine(made.placement, mine);
  }
  return made;
}

AxisList PartialResults::getAxes() const {
  AxisList axes = passedAxes;
  axes.append(reducedAxes);
  return axes;
}

/// Checks that no dimension is sharded along axes that results are partial
/// over.
static CheckResult checkShardedAxes(const OpComparison &c,
                                    const PartialResults &partial) {
  AxisList unreduced = partial.getAxes();
  for (auto [i, factor] : llvm::enumerate(c.factors)) {
    bool isReduced = c.rule.factors[i].kind == FactorKind::Reduction;
    ArrayRef<AxisRef> axes =
        isReduced ? ArrayRef(partial.passedAxes) : ArrayRef(unreduced);
    if (!factor.isUniform &&
        !c.placements().isEqualWithin(factor.placement, axes))
      return wrong(describe(factor) + " is cut along " + c.printAxes(axes) +
                   ", over which the result is to be reduced");
  }
  return {};
}

/// Checks that an ended result ends where the target's result does, unless it
/// has any length in the reference.
static CheckResult checkResultEnds(const OpComparison &c, unsigned result,
                                   ShardState &state) {
  if (!c.target || !hasEnds(state))
    return {};
  auto type = cast<RankedTensorType>(c.target->op->getResult(result).getType());
  const ReferenceValue &value = c.context.reference.getValue(state.value);
  for (auto [i, dim] : llvm::enumerate(state.dims)) {
    if (dim.trueSize < 0 || value.freeDims.test(i))
      continue;
    if (dim.trueSize != type.getDimSize(i))
      return wrong("dimension " + Twine(i) + " of result " + Twine(result) +
                   " is masked from element " + Twine(dim.trueSize) +
                   " on but its true size is " + Twine(type.getDimSize(i)));
    dim.trueSize = -1;
  }
  return {};
}

CheckResult tessera::makeResults(const OpComparison &c,
                                 const PartialResults &partial,
                                 SmallVectorImpl<ShardState> &results) {
  if (CheckResult check = checkShardedAxes(c, partial); !check.fits())
    return check;
  AxisList unreduced = partial.getAxes();
  for (auto [i, result] : llvm::enumerate(c.op->getResults())) {
    ShardState &state = results.emplace_back();
    state.value = c.target ? c.target->results[i] : -1;
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (!type)
      continue;
    AxisList mine = partial.passedAxes;
    state.share = partial.share;
    for (const PartialResults::Reduced &reduced : partial.reduced)
      if (c.rule.isReducedIn(reduced.factor, i)) {
        mine.append(reduced.axes);
        state.share *= reduced.share;
      }
    state.unreduced = normalizeAxes(c.placements().getMesh(), mine);
    state.reduction = partial.kind.value_or(ReductionKind::Sum);
    state.dims.resize(type.getRank());
    if (i >= c.localRule.results.size() || c.localRule.results[i].empty())
      continue;
    for (auto [dim, list] : llvm::enumerate(c.localRule.results[i])) {
      std::optional<DimState> made = makeDim(c, list, result, dim, unreduced);
      if (!made)
        return wrong("what a device computes of dimension " + Twine(dim) +
                     " of the result is no block of it");
      state.dims[dim] = *made;
    }
    if (CheckResult check = checkResultEnds(c, i, state); !check.fits())
      return check;
  }
  return {};
}
