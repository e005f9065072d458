//===- ReshardMoves.cpp - The collectives that a sharding allows ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The edges of the graph that the planner searches: all states that one slice
// or one collective leads to. An 8x8 tensor of f32 on a mesh of x=4, y=2 with
// equal links (1 us per step, 100 GB/s) is sharded as [{x}, {}] and wanted as
// [{y}, {}]. x1 and x2 are the major and the minor 2 of x:
//
//     from [{x}, {}], 16 elements on a device      us        to
//       slice of y                                 0         [{x, y}, {}]
//                                                            [{x}, {y}]
//       all_gather of x2                           1.00064   [{x1}, {}]
//       all_to_all of x2                           1.00032   [{x1}, {x2}]
//       all_to_all of x                            1.00048   [{}, {x}]
//       permute                                    1.00064   [{y, x1}, {}]
//                                                            and 4 more orders
//
// An all_gather of x is excluded: it holds 64 elements, more than the 32 of the
// goal. The plan is the permute to [{y, x1}, {}] and an all_gather of x1.
//
//===----------------------------------------------------------------------===//

#include "ReshardSpace.h"
#include "llvm/ADT/STLExtras.h"

using namespace tessera;
using llvm::ArrayRef;

namespace tessera {

/// Enumerates the moves from one state.
class MoveGenerator {
public:
  using Kind = ReshardStep::Kind;
  using Part = ReshardSpace::Part;
  using Parts = ReshardSpace::Parts;
  using State = ReshardSpace::State;
  using Move = ReshardSpace::Move;
  using Visit = ReshardSpace::Visit;

  MoveGenerator(const ReshardSpace &space, const State &state,
                const ReshardSpace::MoveLimits &limits, Visit visit)
      : space(space), state(state), limits(limits), visit(visit),
        size(space.getLocalSize(state)) {
    for (const Parts &dim : state.dims) {
      for (Part p : dim)
        used |= space.conflicts[p];
      counts.push_back(space.numShards(dim));
    }
    for (Part p : state.unreduced)
      blocked |= space.conflicts[p];
    used |= blocked;
  }

  void slices();
  /// All-gathers and all-to-alls.
  void gathersAndMoves();
  void reductions();
  void permutes() {
    State next = state;
    for (Parts &dim : next.dims) {
      held.push_back(space.expand(dim));
      dim = Parts();
    }
    arrange(next, 0, blocked, 1, 0);
  }

private:
  uint64_t bit(Part p) const { return uint64_t(1) << p; }
  uint64_t maskOf(ArrayRef<Part> list) const {
    uint64_t mask = 0;
    for (Part p : list)
      mask |= bit(p);
    return mask;
  }
  bool divides(size_t dim, int64_t more) const {
    return space.shape[dim] % (counts[dim] * more) == 0;
  }
  void gather(size_t dim, ArrayRef<Part> kept, ArrayRef<Part> suffix);
  void reduce(Parts &chosen, uint64_t taken, bool sorted);
  State withoutPartial(ArrayRef<Part> chosen) const;
  void arrange(State &next, size_t dim, uint64_t taken, int64_t count,
               uint64_t changed);
  bool admitsPermute(uint64_t changed);

  const ReshardSpace &space;
  const State &state;
  const ReshardSpace::MoveLimits &limits;
  Visit visit;
  int64_t size;
  llvm::SmallVector<int64_t, 4> counts;
  /// Parts that cannot be added to a dimension; parts that a permute cannot
  /// use.
  uint64_t used = 0, blocked = 0;
  /// The finest parts of each dimension of `state`.
  llvm::SmallVector<Parts, 4> held;
  /// Seconds of a permute of groups that differ in these parts.
  llvm::SmallDenseMap<uint64_t, double, 16> permuteTimes;
};

} // namespace tessera

/// Slices over the finest free parts, which take no time; coarser parts result
/// from several slices.
void MoveGenerator::slices() {
  for (Part p = 0; p < space.parts.size(); ++p) {
    if ((used & bit(p)) || !space.splits[p].empty())
      continue;
    for (size_t d = 0; d < state.dims.size(); ++d) {
      if (!divides(d, space.parts[p].size))
        continue;
      State next = state;
      space.append(next.dims[d], p);
      visit({Kind::Slice, {p}, static_cast<uint8_t>(d), 0, 0}, next);
    }
  }
}

/// An all-gather of a suffix of a dimension, and an all-to-all of it to each
/// other dimension.
void MoveGenerator::gather(size_t dim, ArrayRef<Part> kept,
                           ArrayRef<Part> suffix) {
  int64_t n = space.numShards(suffix);
  ArrayRef<LinkSpan> spans = space.spansOf(maskOf(suffix));
  Move move{Kind::AllGather, Parts(suffix), static_cast<uint8_t>(dim), 0,
            space.getTime(CollectiveKind::AllGather, size, spans)};
  if (size * n <= limits.cap && limits.admits(move.time)) {
    State next = state;
    next.dims[dim].assign(kept);
    visit(move, next);
  }
  move.kind = Kind::AllToAll;
  move.time = space.getTime(CollectiveKind::AllToAll, size, spans);
  for (size_t to = 0; to < state.dims.size(); ++to) {
    if (to == dim || !divides(to, n) || !limits.admits(move.time))
      continue;
    State next = state;
    next.dims[dim].assign(kept);
    space.append(next.dims[to], suffix);
    move.splitDim = static_cast<uint8_t>(to);
    visit(move, next);
  }
}

/// Only minor axes leave a dimension, since joined shards must be contiguous:
/// the suffixes of {x1, y} are {y} and {x1, y}. If an axis can be split, its
/// minor part alone may leave, too.
void MoveGenerator::gathersAndMoves() {
  for (size_t d = 0; d < state.dims.size(); ++d) {
    ArrayRef<Part> list = state.dims[d];
    for (size_t i = list.size(); i-- > 0;) {
      for (auto [major, minor] : space.splits[list[i]]) {
        Parts kept(list.take_front(i)), suffix{minor};
        kept.push_back(major);
        suffix.append(list.drop_front(i + 1));
        gather(d, kept, suffix);
      }
      gather(d, list.take_front(i), list.drop_front(i));
    }
  }
}

/// The state after a reduction over `chosen`: an axis that was reduced in part
/// keeps the rest. Merges parts again, so that equal states stay equal.
MoveGenerator::State
MoveGenerator::withoutPartial(ArrayRef<Part> chosen) const {
  AxisList left =
      *subtractAxes(space.toAxes(state.unreduced), space.toAxes(chosen));
  llvm::sort(left);
  State next = state;
  next.unreduced = Parts();
  for (const AxisRef &ref : mergeAdjacent(left))
    next.unreduced.push_back(space.find(ref));
  next.unreduced.sort();
  return next;
}

/// Extends `chosen` by each partial part in turn, depth first, so that every
/// ordered list of partial parts occurs once. A reduce-scatter puts the shards
/// on a dimension in that order. An all-reduce has no order, so only the sorted
/// list of each set makes one.
void MoveGenerator::reduce(Parts &chosen, uint64_t taken, bool sorted) {
  if (!chosen.empty()) {
    ArrayRef<LinkSpan> spans = space.spansOf(maskOf(chosen));
    double time = space.getTime(CollectiveKind::ReduceScatter, size, spans);
    // Over many nodes, an all-reduce (a tree) may be the faster one.
    double whole =
        sorted ? space.getTime(CollectiveKind::AllReduce, size, spans) : time;
    int64_t n = space.numShards(chosen);
    bool isShort = limits.admits(time), isWholeShort = limits.admits(whole);
    State reduced = isShort || isWholeShort ? withoutPartial(chosen) : state;
    if (isWholeShort && sorted)
      visit({Kind::AllReduce, chosen, 0, 0, whole}, reduced);
    for (size_t d = 0; d < state.dims.size(); ++d) {
      if (!isShort || !divides(d, n))
        continue;
      State next = reduced;
      space.append(next.dims[d], chosen);
      visit({Kind::ReduceScatter, chosen, static_cast<uint8_t>(d), 0, time},
            next);
    }
  }
  for (Part p = 0; p < space.parts.size(); ++p) {
    bool isPartial = llvm::any_of(
        state.unreduced, [&](Part u) { return space.inside[u] & bit(p); });
    if (!isPartial || (taken & bit(p)) ||
        (!chosen.empty() && space.join(chosen.back(), p) != space.kNone))
      continue;
    // A list with two adjacent parts that form one equals the list with that
    // part.
    bool ascends =
        chosen.empty() || space.parts[chosen.back()] < space.parts[p];
    chosen.push_back(p);
    reduce(chosen, taken | space.conflicts[p], sorted && ascends);
    chosen.pop_back();
  }
}

void MoveGenerator::reductions() {
  Parts chosen;
  if (!state.unreduced.empty())
    reduce(chosen, 0, true);
}

/// True if a permute of groups that differ in the parts `changed`, and possibly
/// in more, can be fast enough. It takes the time of its slowest link, and more
/// parts add links.
bool MoveGenerator::admitsPermute(uint64_t changed) {
  if (changed == 0)
    return true;
  auto [it, isNew] = permuteTimes.try_emplace(changed);
  if (isNew)
    it->second =
        space.getTime(CollectiveKind::Permute, size, space.spansOf(changed));
  return limits.admits(it->second);
}

/// Backtracking over all states with as many shards in each dimension as this
/// one. Fills dimension `dim` of `next`, which has `count` shards so far, with
/// parts that are not `taken`. Dimensions before it have `changed` these parts.
void MoveGenerator::arrange(State &next, size_t dim, uint64_t taken,
                            int64_t count, uint64_t changed) {
  while (dim < counts.size() && count == counts[dim]) {
    changed |=
        ReshardSpace::getChanged(held[dim], space.expand(next.dims[dim]));
    ++dim;
    count = 1;
  }
  if (!admitsPermute(changed))
    return;
  if (dim == counts.size()) {
    if (changed != 0)
      visit({Kind::Permute, {}, 0, 0, permuteTimes.lookup(changed)}, next);
    return;
  }
  for (Part p = 0; p < space.parts.size(); ++p) {
    int64_t n = count * space.parts[p].size;
    Parts &list = next.dims[dim];
    if ((taken & bit(p)) || counts[dim] % n != 0 ||
        (!list.empty() && space.join(list.back(), p) != space.kNone))
      continue;
    list.push_back(p);
    arrange(next, dim, taken | space.conflicts[p], n, changed);
    next.dims[dim].pop_back();
  }
}

void ReshardSpace::forEachMove(const State &state, const MoveLimits &limits,
                               Visit visit) const {
  MoveGenerator moves(*this, state, limits, visit);
  moves.slices();
  moves.reductions();
  moves.gathersAndMoves();
}

void ReshardSpace::forEachPermute(const State &state, const MoveLimits &limits,
                                  Visit visit) const {
  MoveGenerator(*this, state, limits, visit).permutes();
}
