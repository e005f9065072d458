//===- ShardState.cpp - Effects of collectives on values ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Defines collectives over blocks and groups of devices, as the ops are
// defined, and not over lists of axes, which the planner uses.
//
//===----------------------------------------------------------------------===//

#include "ShardState.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;
using llvm::Error;

PadContent tessera::getNeutralContent(::tessera::ReductionKind kind) {
  switch (kind) {
  case ::tessera::ReductionKind::Sum:
    return PadContent::Zero;
  case ::tessera::ReductionKind::Max:
    return PadContent::Lowest;
  case ::tessera::ReductionKind::Min:
    return PadContent::Highest;
  }
  return PadContent::Any;
}

AxisList tessera::normalizeAxes(const Mesh &mesh, ArrayRef<AxisRef> axes) {
  AxisList sorted(axes.begin(), axes.end());
  llvm::sort(sorted);
  return mergeAdjacent(sorted);
}

std::string tessera::printAxes(const Mesh &mesh, ArrayRef<AxisRef> axes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  mesh.print(os, axes);
  return text;
}

std::string tessera::explainDifference(const Placements &placements,
                                       Placements::Id got,
                                       Placements::Id needed) {
  int64_t gotCount = placements.getCount(got);
  int64_t count = placements.getCount(needed);
  if (gotCount != count)
    return "it is cut into " + std::to_string(gotCount) +
           " blocks but is needed in " + std::to_string(count);
  for (int64_t d = 0; d < placements.getNumDevices(); ++d) {
    int32_t has = placements.getBlocks(got)[d];
    int32_t wants = placements.getBlocks(needed)[d];
    if (has != wants)
      return "device " + std::to_string(d) + " holds block " +
             std::to_string(has) + " of " + std::to_string(count) +
             " but needs block " + std::to_string(wants);
  }
  return "it is the same";
}

std::vector<int32_t> tessera::getSources(dist::CollectivePermuteOp op,
                                         Placements &placements) {
  const AxisGroups &groups =
      placements.getGroups(op.getAxes().toAxes(placements.getMesh()));
  std::vector<int32_t> sources(placements.getNumDevices());
  for (size_t first = 0; first < groups.members.size(); first += groups.size)
    for (auto [from, to] : llvm::enumerate(op.getTargets()))
      sources[groups.members[first + to]] = groups.members[first + from];
  return sources;
}

namespace {

/// Applies one collective to a state.
class Applier {
public:
  Applier(Placements &placements, ArrayRef<AxisRef> axes, ShardState state,
          const GlobalFacts &facts)
      : placements(placements), axes(axes.begin(), axes.end()),
        state(std::move(state)), facts(facts) {}

  Error apply(dist::AllGatherOp op) {
    if (Error error = keepParts("are put side by side"))
      return error;
    return gather(op.getDim());
  }
  Error apply(dist::AllSliceOp op) {
    if (Error error = keepParts("are cut differently"))
      return error;
    split(op.getDim());
    return Error::success();
  }
  Error apply(dist::AllReduceOp op) { return reduce(toPlain(op.getKind())); }
  Error apply(dist::ReduceScatterOp op) {
    if (Error error = reduce(toPlain(op.getKind())))
      return error;
    split(op.getDim());
    return Error::success();
  }
  Error apply(dist::AllToAllOp op) {
    if (Error error = keepParts("are put side by side"))
      return error;
    if (Error error = gather(op.getGatherDim()))
      return error;
    split(op.getSplitDim());
    return Error::success();
  }
  Error apply(dist::CollectivePermuteOp op) {
    return move(getSources(op, placements));
  }
  Error apply(dist::BroadcastOp op) {
    const AxisGroups &groups = placements.getGroups(axes);
    std::vector<int32_t> sources(placements.getNumDevices());
    for (size_t first = 0; first < groups.members.size(); first += groups.size)
      for (int64_t i = 0; i < groups.size; ++i)
        sources[groups.members[first + i]] =
            groups.members[first + op.getRoot()];
    return move(sources);
  }
  Error applyToPartial(::tessera::ReductionKind kind) {
    bool isShared = state.share != 1 && kind != ::tessera::ReductionKind::Sum;
    if (isShared || (state.isPartial() && state.reduction != kind))
      return fail("is partial by another reduction already");
    if (Error error = keepParts("are partial already"))
      return error;
    if (Error error = checkEqual(/*except=*/-1))
      return error;
    AxisList all = state.unreduced;
    all.append(axes);
    state.unreduced = normalizeAxes(placements.getMesh(), all);
    state.reduction = kind;
    // Devices without the value have the neutral element in its padding.
    PadContent neutral = getNeutralContent(kind);
    for (DimState &dim : state.dims)
      if (dim.padding != neutral)
        dim.padding = PadContent::Any;
    return Error::success();
  }

  ShardState take() { return std::move(state); }

private:
  static Error fail(const Twine &text) {
    return llvm::createStringError("the value " + text);
  }
  std::string name() { return printAxes(placements.getMesh(), axes); }

  /// Fails if the devices of a group hold terms of one sum.
  Error keepParts(const Twine &what) {
    if (!overlapsAny(state.unreduced, axes))
      return Error::success();
    return fail("is still to be reduced over " +
                printAxes(placements.getMesh(), state.unreduced) +
                ", but its parts " + what.str() + " over " + name());
  }

  /// Checks that all devices of a group hold the same block of each dimension.
  Error checkEqual(int64_t except) {
    for (auto [i, dim] : llvm::enumerate(state.dims))
      if (static_cast<int64_t>(i) != except && !dim.uniform &&
          !placements.isEqualWithin(dim.placement, axes))
        return fail("is cut along " + name() + " in dimension " + Twine(i) +
                    ": the devices of a group hold different blocks");
    return Error::success();
  }

  Error gather(int64_t dim) {
    if (Error error = checkEqual(dim))
      return error;
    DimState &d = state.dims[dim];
    if (d.uniform)
      return Error::success();
    std::optional<Placements::Id> whole = placements.gather(d.placement, axes);
    if (!whole) {
      whole =
          placements.gatherTrue(d.placement, axes, facts.numTrueBlocks[dim]);
      d.padding = PadContent::Any;
    }
    if (!whole)
      return fail("has other blocks of dimension " + Twine(dim) +
                  " in the groups along " + name() +
                  " than consecutive ones in order");
    d.placement = *whole;
    return Error::success();
  }

  void split(int64_t dim) {
    DimState &d = state.dims[dim];
    if (!d.uniform)
      d.placement = placements.slice(d.placement, axes);
  }

  /// Reduces over the axes that the value is partial over, and over others: a
  /// sum of equal shares takes any axes with as many devices, a sum of zeros
  /// takes any axes, and a maximum of equal values is that value.
  Error reduce(::tessera::ReductionKind kind) {
    const Mesh &mesh = placements.getMesh();
    AxisList all = state.unreduced, own, others, left;
    all.append(axes);
    for (const AxisRef &axis : refineAxes(mesh, all)) {
      bool isPartial = overlapsAny(state.unreduced, axis);
      AxisList &list = !overlapsAny(axes, axis) ? left
                       : isPartial              ? own
                                                : others;
      list.push_back(axis);
    }
    bool isSum = kind == ::tessera::ReductionKind::Sum;
    bool isKind = !state.isPartial() || state.reduction == kind;
    bool isRight =
        others.empty() || (isKind && (!isSum || facts.isZero ||
                                      state.share % numShards(others) == 0));
    if (!isRight)
      return fail("is not partial over " + name() +
                  (state.isPartial()
                       ? ", only over " + printAxes(mesh, state.unreduced)
                       : std::string()) +
                  ": it would be reduced once more");
    if (!isKind)
      return fail("is to be reduced by " + stringifyReduction(state.reduction) +
                  ", not by " + stringifyReduction(kind));
    if (Error error = checkEqual(/*except=*/-1))
      return error;
    if (isSum && state.share % numShards(others) == 0)
      state.share /= numShards(others);
    for (DimState &dim : state.dims)
      if (dim.padding != PadContent::Zero &&
          dim.padding != getNeutralContent(kind))
        dim.padding = PadContent::Any;
    state.unreduced = normalizeAxes(mesh, left);
    return Error::success();
  }

  /// Moves each device's value to another device.
  Error move(ArrayRef<int32_t> sources) {
    if (!keepsSums(sources))
      return fail("is still to be reduced over " +
                  printAxes(placements.getMesh(), state.unreduced) +
                  ", and the parts of a sum are sent apart");
    for (DimState &dim : state.dims)
      if (!dim.uniform)
        dim.placement = placements.permute(dim.placement, sources, axes);
    return Error::success();
  }

  /// True if the terms of each sum again form one sum.
  bool keepsSums(ArrayRef<int32_t> sources) {
    if (!state.isPartial())
      return true;
    const AxisGroups &sums = placements.getGroups(state.unreduced);
    std::vector<int32_t> sumOf(sources.size());
    for (auto [i, device] : llvm::enumerate(sums.members))
      sumOf[device] = i / sums.size;
    llvm::SmallDenseSet<int32_t> seen;
    for (size_t first = 0; first < sums.members.size(); first += sums.size) {
      seen.clear();
      int32_t sum = sumOf[sources[sums.members[first]]];
      for (int64_t i = 0; i < sums.size; ++i) {
        int32_t source = sources[sums.members[first + i]];
        if (sumOf[source] != sum || !seen.insert(source).second)
          return false;
      }
    }
    return true;
  }

  Placements &placements;
  AxisList axes;
  ShardState state;
  const GlobalFacts &facts;
};

} // namespace

llvm::Expected<ShardState>
tessera::applyCollective(dist::CollectiveOpInterface op,
                         const ShardState &operand, const GlobalFacts &facts,
                         Placements &placements) {
  Applier applier(placements, op.getAxes().toAxes(placements.getMesh()),
                  operand, facts);
  Error error =
      llvm::TypeSwitch<Operation *, Error>(op)
          .Case<dist::AllGatherOp, dist::AllSliceOp, dist::AllReduceOp,
                dist::ReduceScatterOp, dist::AllToAllOp,
                dist::CollectivePermuteOp, dist::BroadcastOp>(
              [&](auto collective) { return applier.apply(collective); })
          .Default([&](Operation *) {
            return llvm::createStringError("this collective is not known");
          });
  if (error)
    return std::move(error);
  return applier.take();
}

llvm::Expected<ShardState> tessera::applyToPartial(dist::ToPartialOp op,
                                                   const ShardState &operand,
                                                   Placements &placements) {
  GlobalFacts facts;
  Applier applier(placements, op.getAxes().toAxes(placements.getMesh()),
                  operand, facts);
  if (Error error = applier.applyToPartial(dist::toPlain(op.getKind())))
    return std::move(error);
  return applier.take();
}

bool tessera::hasEnds(const ShardState &state) {
  return llvm::any_of(state.dims,
                      [](const DimState &dim) { return dim.trueSize >= 0; });
}

std::optional<unsigned> tessera::findOtherEnd(const ShardState &state,
                                              Type type) {
  auto tensor = dyn_cast_or_null<RankedTensorType>(type);
  for (auto [i, dim] : llvm::enumerate(state.dims))
    if (dim.trueSize >= 0 && (!tensor || dim.trueSize != tensor.getDimSize(i)))
      return i;
  return std::nullopt;
}
