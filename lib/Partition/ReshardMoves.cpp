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
  using Visit = llvm::function_ref<void(const Move &, State &&)>;

  MoveGenerator(const ReshardSpace &space, const State &state, int64_t cap,
                Visit visit)
      : space(space), state(state), cap(cap), visit(visit),
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
      dim.clear();
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
  int64_t cap;
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
      visit({Kind::Slice, {p}, static_cast<uint8_t>(d), 0, 0},
            std::move(next));
    }
  }
}

/// All-gather of a suffix of a dimension, and all-to-all of it to each other
/// dimension.
void MoveGenerator::gather(size_t dim, ArrayRef<Part> kept,
                           ArrayRef<Part> suffix) {
  int64_t n = space.numShards(suffix);
  uint64_t mask = maskOf(suffix);
  auto from = static_cast<uint8_t>(dim);
  if (size * n <= cap) {
    State next = state;
    next.dims[dim].assign(kept.begin(), kept.end());
    visit({Kind::AllGather, Parts(suffix), from, 0,
           space.getTime(CollectiveKind::AllGather, size, mask)},
          std::move(next));
  }
  for (size_t to = 0; to < state.dims.size(); ++to) {
    if (to == dim || !divides(to, n))
      continue;
    State next = state;
    next.dims[dim].assign(kept.begin(), kept.end());
    space.append(next.dims[to], suffix);
    visit({Kind::AllToAll, Parts(suffix), from, static_cast<uint8_t>(to),
           space.getTime(CollectiveKind::AllToAll, size, mask)},
          std::move(next));
  }
}

void MoveGenerator::gathersAndMoves() {
  for (size_t d = 0; d < state.dims.size(); ++d) {
    ArrayRef<Part> list = state.dims[d];
    for (size_t i = list.size(); i-- > 0;) {
      for (auto [major, minor] : space.splits[list[i]]) {
        Parts kept(list.take_front(i)), suffix{minor};
        kept.push_back(major);
        suffix.append(list.begin() + i + 1, list.end());
        gather(d, kept, suffix);
      }
      gather(d, list.take_front(i), list.drop_front(i));
    }
  }
}

MoveGenerator::State
MoveGenerator::withoutPartial(ArrayRef<Part> chosen) const {
  AxisList left = *subtractAxes(space.toAxes(state.unreduced),
                                space.toAxes(chosen));
  llvm::sort(left);
  State next = state;
  next.unreduced.clear();
  for (const AxisRef &ref : mergeAdjacent(left))
    next.unreduced.push_back(space.find(ref));
  llvm::sort(next.unreduced);
  return next;
}

/// Every list of partial parts: reduced and scattered over each dimension in
/// its order, and, once for each set, reduced on all devices.
void MoveGenerator::reduce(Parts &chosen, uint64_t taken, bool sorted) {
  if (!chosen.empty()) {
    uint64_t mask = maskOf(chosen);
    int64_t n = space.numShards(chosen);
    State reduced = withoutPartial(chosen);
    if (sorted)
      visit({Kind::AllReduce, chosen, 0, 0,
             space.getTime(CollectiveKind::AllReduce, size, mask)},
            State(reduced));
    for (size_t d = 0; d < state.dims.size(); ++d) {
      if (!divides(d, n))
        continue;
      State next = reduced;
      space.append(next.dims[d], chosen);
      visit({Kind::ReduceScatter, chosen, static_cast<uint8_t>(d), 0,
             space.getTime(CollectiveKind::ReduceScatter, size, mask)},
            std::move(next));
    }
  }
  for (Part p = 0; p < space.parts.size(); ++p) {
    bool isPartial = llvm::any_of(state.unreduced, [&](Part u) {
      return space.inside[u] & bit(p);
    });
    if (!isPartial || (taken & bit(p)) ||
        (!chosen.empty() && space.joined[chosen.back()][p] != space.kNone))
      continue;
    bool ascends = chosen.empty() ||
                   space.parts[chosen.back()] < space.parts[p];
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
    visit({Kind::Permute, {}, 0, 0,
           space.getTime(CollectiveKind::Permute, size, changed)},
          State(next));
    return;
  }
  for (Part p = 0; p < space.parts.size(); ++p) {
    int64_t n = count * space.parts[p].size;
    Parts &list = next.dims[dim];
    if ((taken & bit(p)) || counts[dim] % n != 0 ||
        (!list.empty() && space.joined[list.back()][p] != space.kNone))
      continue;
    list.push_back(p);
    arrange(next, dim, taken | space.conflicts[p], n);
    next.dims[dim].pop_back();
  }
}

void ReshardSpace::forEachMove(
    const State &state, int64_t cap, bool permutes,
    llvm::function_ref<void(const Move &, State &&)> visit) const {
  MoveGenerator moves(*this, state, cap, visit);
  moves.slices();
  moves.reductions();
  moves.gathersAndMoves();
  if (permutes)
    moves.permutes();
}
