//===- ReshardMoves.cpp - The collectives that a sharding allows ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
  void gathersAndMoves();
  void reductions();
  void permutes() {
    State next = state;
    for (Parts &dim : next.dims)
      dim = Parts();
    arrange(next, 0, blocked, 1);
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
  void arrange(State &next, size_t dim, uint64_t taken, int64_t count);

  const ReshardSpace &space;
  const State &state;
  const ReshardSpace::MoveLimits &limits;
  Visit visit;
  int64_t size;
  llvm::SmallVector<int64_t, 4> counts;
  /// Parts that cannot be put on a dimension; those that a permute cannot.
  uint64_t used = 0, blocked = 0;
};

} // namespace tessera

/// Longer parts come from several slices.
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

/// All-gather of a suffix of a dimension, and all-to-all of it to each other
/// dimension.
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

/// Every list of partial parts: reduced and scattered over each dimension in
/// its order, and, once for each set, reduced on all devices.
void MoveGenerator::reduce(Parts &chosen, uint64_t taken, bool sorted) {
  if (!chosen.empty()) {
    ArrayRef<LinkSpan> spans = space.spansOf(maskOf(chosen));
    double time = space.getTime(CollectiveKind::ReduceScatter, size, spans);
    int64_t n = space.numShards(chosen);
    bool isShort = limits.admits(time);
    State reduced = isShort ? withoutPartial(chosen) : state;
    if (isShort && sorted)
      visit({Kind::AllReduce, chosen, 0, 0,
             space.getTime(CollectiveKind::AllReduce, size, spans)},
            reduced);
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

/// Fills dimension `dim` of `next`, which has `count` shards so far, with parts
/// that are not `taken`, until each dimension has as many as it had.
void MoveGenerator::arrange(State &next, size_t dim, uint64_t taken,
                            int64_t count) {
  while (dim < counts.size() && count == counts[dim]) {
    ++dim;
    count = 1;
  }
  if (dim == counts.size()) {
    if (next == state)
      return;
    uint64_t changed = space.getChanged(state, next);
    double time =
        space.getTime(CollectiveKind::Permute, size, space.spansOf(changed));
    if (limits.admits(time))
      visit({Kind::Permute, {}, 0, 0, time}, next);
    return;
  }
  for (Part p = 0; p < space.parts.size(); ++p) {
    int64_t n = count * space.parts[p].size;
    Parts &list = next.dims[dim];
    if ((taken & bit(p)) || counts[dim] % n != 0 ||
        (!list.empty() && space.join(list.back(), p) != space.kNone))
      continue;
    list.push_back(p);
    arrange(next, dim, taken | space.conflicts[p], n);
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
