//===- ReshardSearch.cpp - A shortest way between two states --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A* (P. E. Hart, N. J. Nilsson, B. Raphael: A Formal Basis for the Heuristic
// Determination of Minimum Cost Paths, 1968). The queue is ordered by the time
// up to a state plus a lower bound of the time from there (ReshardBound.h). The
// first state taken from it that is the goal ends a shortest way. `greed` above
// 1 is weighted A* (I. Pohl: Heuristic Search Viewed as Path Finding in a
// Graph, 1970): the way is at most `greed` times the shortest one, and is found
// sooner.
//
//     [{x}, {}]  --permute-->  [{y, x1}, {}]  --all_gather x1-->  [{y}, {}]
//         0                       1.00064                          2.00128 us
//
// (8x8 of f32, x=4, y=2.) A state has many permutes, which seldom pay off. So
// it enters the queue a second time for them, with a bound of ways that begin
// with a permute.
//
//===----------------------------------------------------------------------===//

#include "ReshardSearch.h"
#include "ReshardBound.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <queue>

using namespace tessera;
using State = ReshardSpace::State;
using Move = ReshardSpace::Move;
using Kind = ReshardStep::Kind;

namespace {

/// Additional seconds for each step, each axis of a step, and each reordering
/// of chunks: among equal ways, the one with fewer wins. Less than any
/// transfer, more than rounding.
constexpr double kStep = 1e-12, kAxis = 1e-13, kReorder = 1e-14;
/// Ways that differ by at most these seconds are equal: more than rounding.
constexpr double kUnit = 1e-15;

struct Node {
  double time = 0;
  /// Bounds of the remaining seconds, including the additional ones of steps.
  double left = 0, leftByPermute = 0;
  int parent = -1;
  Move move;
  bool done = false;
};

/// A hash table of states with their nodes, numbered in the order of discovery.
/// Open addressing with linear probing (Knuth: The Art of Computer Programming
/// 3, section 6.4). States are stored contiguously, each with only the lists
/// that it has.
class Nodes {
public:
  explicit Nodes(const State &start)
      : stride(start.dims.size() + 1), table(256, -1) {
    nodes.reserve(64);
    pool.reserve(64 * stride);
  }

  Node &operator[](int node) { return nodes[node]; }
  const Node &operator[](int node) const { return nodes[node]; }
  State getState(int node) const {
    const PartList *lists = &pool[node * stride];
    State state;
    state.unreduced = lists[0];
    for (size_t i = 1; i < stride; ++i)
      state.dims.push_back(lists[i]);
    return state;
  }
  /// The number of a state, or -1; `slot` then is its slot.
  int find(const State &state, size_t &slot) const {
    size_t mask = table.size() - 1;
    for (slot = hashState(state) & mask; table[slot] >= 0;
         slot = (slot + 1) & mask)
      if (isEqual(table[slot], state))
        return table[slot];
    return -1;
  }
  int add(const State &state, size_t slot, Node node) {
    int number = nodes.size();
    nodes.push_back(node);
    pool.push_back(state.unreduced);
    pool.insert(pool.end(), state.dims.begin(), state.dims.end());
    table[slot] = number;
    if (2 * nodes.size() > table.size())
      grow();
    return number;
  }

private:
  bool isEqual(int node, const State &state) const {
    const PartList *lists = &pool[node * stride];
    return lists[0] == state.unreduced &&
           std::equal(state.dims.begin(), state.dims.end(), lists + 1);
  }
  void grow() {
    table.assign(4 * table.size(), -1);
    for (int node = 0, e = nodes.size(); node < e; ++node) {
      size_t slot;
      find(getState(node), slot);
      table[slot] = node;
    }
  }

  size_t stride;
  std::vector<Node> nodes;
  std::vector<PartList> pool;
  /// The size is a power of two; at most half full.
  std::vector<int> table;
};

class Search {
public:
  Search(const ReshardSpace &space, const State &start, const State &goal,
         const ReshardSearchOptions &options)
      : space(space), goal(goal), options(options), bound(space, goal),
        nodes(start), limit(options.limit) {}

  ReshardWay run(const State &start);

private:
  /// A node to expand. Permutes, which are many and seldom pay off, are
  /// expanded after everything more promising.
  struct Entry {
    /// In kUnits; ties go to the node with the least remaining time.
    double key;
    double left;
    size_t order;
    int node;
    /// The time at which the node was reached if its permutes are wanted; else
    /// negative.
    double permuteTime;
    bool operator<(const Entry &o) const {
      return std::tie(key, left, order) > std::tie(o.key, o.left, o.order);
    }
  };

  bool isGoal(const State &state) const;
  bool isBanned(const Move &move, const State &from, const State &to) const;
  /// The least additional seconds of the remaining steps.
  static double getSteps(int collectives, int slices) {
    return collectives * kStep + slices * (kStep + kAxis);
  }
  void push(int node, double left, double permuteTime);
  void reach(const State &state, const Move &move, int parent,
             unsigned reorders);
  void expand(int node);
  void permute(int node);
  ReshardWay trace(int node) const;

  const ReshardSpace &space;
  const State &goal;
  const ReshardSearchOptions &options;
  ReshardBound bound;
  Nodes nodes;
  /// The minimum of the time of a known way and the option.
  double limit;
  std::priority_queue<Entry> queue;
  size_t order = 0, numMoves = 0;
};

} // namespace

bool Search::isGoal(const State &state) const {
  if (state.dims != goal.dims)
    return false;
  if (state.unreduced.empty() || state.unreduced == goal.unreduced)
    return true;
  return subtractAxes(space.toAxes(goal.unreduced),
                      space.toAxes(state.unreduced))
      .has_value();
}

bool Search::isBanned(const Move &move, const State &from,
                      const State &to) const {
  const BannedStep *banned = options.banned;
  if (!banned || move.kind != banned->kind)
    return false;
  AxisList axes = move.kind == Kind::Permute ? space.getPermuteAxes(from, to)
                                             : space.toAxes(move.axes);
  return mergeAdjacent(axes) == mergeAdjacent(banned->axes);
}

void Search::push(int node, double left, double permuteTime) {
  double time = nodes[node].time;
  if (time + left < limit)
    queue.push({std::nearbyint((time + options.greed * left) / kUnit), left,
                order++, node, permuteTime});
}

/// Relaxes an edge: keeps the move if no shorter way to `state` is known. Drops
/// a way at once if, with its bound, it is no shorter than the best known.
void Search::reach(const State &state, const Move &move, int parent,
                   unsigned reorders) {
  ++numMoves;
  double time = nodes[parent].time + move.time + kStep +
                kAxis * move.axes.size() + kReorder * reorders;
  if (time >= limit)
    return;
  size_t slot;
  int found = nodes.find(state, slot);
  if (found < 0) {
    ReshardBound::Bound left = bound.get(state);
    Node node;
    node.left = left.time + getSteps(left.collectives, left.slices);
    if (time + node.left >= limit)
      return;
    node.leftByPermute =
        left.permuteTime + getSteps(left.permuteCollectives, left.slices);
    found = nodes.add(state, slot, node);
  } else if (time >= nodes[found].time) {
    return;
  }
  Node &node = nodes[found];
  node.time = time;
  node.parent = parent;
  node.move = move;
  node.done = false;
  push(found, node.left, -1);
  if (isGoal(state))
    limit = time;
}

void Search::expand(int index) {
  Node &node = nodes[index];
  node.done = true;
  // Two consecutive permutes are one permute.
  if (node.move.kind != Kind::Permute)
    push(index, node.leftByPermute, node.time);
  State state = nodes.getState(index);
  space.forEachMove(state, {options.cap, node.time, limit},
                    [&](const Move &move, const State &next) {
                      if (!isBanned(move, state, next))
                        reach(next, move, index,
                              space.countReorders(move, state, next));
                    });
}

void Search::permute(int index) {
  State state = nodes.getState(index);
  space.forEachPermute(state, {options.cap, nodes[index].time, limit},
                       [&](const Move &move, const State &next) {
                         if (!isBanned(move, state, next))
                           reach(next, move, index, /*reorders=*/0);
                       });
}

/// Follows parents back from the goal.
ReshardWay Search::trace(int node) const {
  ReshardWay way;
  way.found = true;
  way.complete = options.greed == 1;
  way.length = nodes[node].time;
  for (int i = node; nodes[i].parent >= 0; i = nodes[i].parent) {
    way.moves.push_back(nodes[i].move);
    way.states.push_back(nodes.getState(i));
  }
  std::reverse(way.moves.begin(), way.moves.end());
  std::reverse(way.states.begin(), way.states.end());
  return way;
}

ReshardWay Search::run(const State &start) {
  ReshardBound::Bound left = bound.get(start);
  Node first;
  first.left = left.time + getSteps(left.collectives, left.slices);
  first.leftByPermute =
      left.permuteTime + getSteps(left.permuteCollectives, left.slices);
  size_t slot;
  nodes.find(start, slot);
  push(nodes.add(start, slot, first), first.left, -1);
  while (!queue.empty()) {
    Entry entry = queue.top();
    queue.pop();
    const Node &node = nodes[entry.node];
    if (entry.permuteTime >= 0) {
      // The entry is stale if a shorter way was found since.
      if (entry.permuteTime == node.time)
        permute(entry.node);
      continue;
    }
    if (node.done)
      continue;
    if (isGoal(nodes.getState(entry.node)))
      return trace(entry.node);
    if (numMoves > options.maxMoves) {
      ReshardWay none;
      none.complete = false;
      return none;
    }
    expand(entry.node);
  }
  return ReshardWay();
}

ReshardWay tessera::findWay(const ReshardSpace &space, const State &start,
                            const State &goal,
                            const ReshardSearchOptions &options) {
  return Search(space, start, goal, options).run(start);
}
