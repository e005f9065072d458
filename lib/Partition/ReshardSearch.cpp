//===- ReshardSearch.cpp - A shortest way between two states --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReshardSearch.h"
#include "llvm/ADT/STLExtras.h"
#include <queue>
#include <unordered_set>

using namespace tessera;
using State = ReshardSpace::State;
using Move = ReshardSpace::Move;
using Kind = ReshardStep::Kind;

namespace {

/// Seconds that a step, and each axis of it, counts as more, so that of equal
/// ways the one with fewer wins. Less than any transfer, more than rounding.
constexpr double kStep = 1e-12, kAxis = 1e-13;

struct Node {
  State state;
  double time = 0, bound = 0;
  int parent = -1;
  Move move;
  bool done = false;
};

class Search {
public:
  Search(const ReshardSpace &space, const State &goal,
         const ReshardSearchOptions &options)
      : space(space), goal(goal), options(options),
        known(64, Hash{*this}, Equal{*this}) {}

  ReshardWay run(const State &start);

private:
  struct Hash {
    Search &search;
    size_t operator()(int node) const {
      return hashState(search.stateOf(node));
    }
  };
  struct Equal {
    Search &search;
    bool operator()(int a, int b) const {
      return search.stateOf(a) == search.stateOf(b);
    }
  };
  /// A state that is looked up is node -1.
  static constexpr int kProbe = -1;
  const State &stateOf(int node) const {
    return node == kProbe ? *probe : nodes[node].state;
  }

  struct Entry {
    double key;
    size_t order;
    int node;
    bool operator<(const Entry &o) const {
      return std::tie(key, order) > std::tie(o.key, o.order);
    }
  };

  bool isGoal(const State &state) const;
  bool isBanned(const Move &move, const State &from, const State &to) const;
  void push(int node) {
    queue.push({nodes[node].time + options.greed * nodes[node].bound, order++, node});
  }
  void reach(State &&state, const Move &move, int parent);
  void expand(int node);
  ReshardWay trace(int node) const;

  const ReshardSpace &space;
  const State &goal;
  const ReshardSearchOptions &options;
  std::vector<Node> nodes;
  const State *probe = nullptr;
  std::unordered_set<int, Hash, Equal> known;
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

void Search::reach(State &&state, const Move &move, int parent) {
  ++numMoves;
  double time =
      nodes[parent].time + move.time + kStep + kAxis * move.axes.size();
  if (time >= options.limit)
    return;
  probe = &state;
  auto it = known.find(kProbe);
  if (it == known.end()) {
    Node node;
    node.bound = space.getBound(state, goal);
    if (time + node.bound >= options.limit)
      return;
    node.state = std::move(state);
    node.time = time;
    node.parent = parent;
    node.move = move;
    nodes.push_back(std::move(node));
    known.insert(static_cast<int>(nodes.size()) - 1);
    push(nodes.size() - 1);
    return;
  }
  Node &node = nodes[*it];
  if (time >= node.time)
    return;
  node.time = time;
  node.parent = parent;
  node.move = move;
  node.done = false;
  push(*it);
}

void Search::expand(int index) {
  nodes[index].done = true;
  // A second permute behind a permute is one permute.
  bool permutes = nodes[index].move.kind != Kind::Permute;
  State state = nodes[index].state;
  space.forEachMove(state, options.cap, permutes, [&](const Move &move, State &&next) {
    if (!isBanned(move, state, next))
      reach(std::move(next), move, index);
  });
}

ReshardWay Search::trace(int node) const {
  ReshardWay way;
  way.found = true;
  way.complete = options.greed == 1;
  way.length = nodes[node].time;
  for (int i = node; nodes[i].parent >= 0; i = nodes[i].parent) {
    way.moves.push_back(nodes[i].move);
    way.states.push_back(nodes[i].state);
  }
  std::reverse(way.moves.begin(), way.moves.end());
  std::reverse(way.states.begin(), way.states.end());
  return way;
}

ReshardWay Search::run(const State &start) {
  Node first;
  first.state = start;
  first.bound = space.getBound(start, goal);
  nodes.push_back(std::move(first));
  known.insert(0);
  push(0);
  while (!queue.empty()) {
    Entry entry = queue.top();
    queue.pop();
    if (nodes[entry.node].done)
      continue;
    if (isGoal(nodes[entry.node].state))
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
  return Search(space, goal, options).run(start);
}
