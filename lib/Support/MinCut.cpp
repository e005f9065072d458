//===- MinCut.cpp - The minimum cut of a network --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A minimum cut has the capacity of a maximum flow (L. R. Ford, D. R.
// Fulkerson: Maximal Flow through a Network, 1956), which blocking flows
// compute (E. A. Dinic: Algorithm for Solution of a Problem of Maximum Flow in
// a Network with Power Estimation, 1970). The example has two rounds of levels,
// and the cut of a third round, which does not reach t:
//
//     s --5--> a --2--> t     levels s 0, a 1, b 2, t 2     flow 2 by a
//              |        ^     a to t is full:
//              3        |     levels s 0, a 1, b 2, t 3     flow 1 by a and b
//              v        |     b to t is full; s reaches a and b but not t, so
//              b --1----+     the cut is {s, a, b} | {t}, of 2 + 1
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/MinCut.h"
#include <algorithm>

using namespace tessera;

void MinCut::addEdge(unsigned from, unsigned to, int64_t capacity) {
  edges[from].push_back(
      {to, static_cast<unsigned>(edges[to].size()), capacity});
  edges[to].push_back({from, static_cast<unsigned>(edges[from].size() - 1), 0});
}

bool MinCut::computeLevels(unsigned source, unsigned sink) {
  level.assign(edges.size(), -1);
  level[source] = 0;
  std::vector<unsigned> queue{source};
  for (size_t head = 0; head < queue.size(); ++head)
    for (const Edge &edge : edges[queue[head]])
      if (edge.left > 0 && level[edge.to] < 0) {
        level[edge.to] = level[queue[head]] + 1;
        queue.push_back(edge.to);
      }
  return level[sink] >= 0;
}

/// Sends flow along one path of rising levels; false if there is none. Dead
/// ends are not visited again before the next levels. Not recursive: a path can
/// be as long as the program.
bool MinCut::augment(unsigned source, unsigned sink) {
  std::vector<std::pair<unsigned, size_t>> path;
  unsigned node = source;
  while (node != sink) {
    size_t &i = next[node];
    while (i < edges[node].size() &&
           (edges[node][i].left <= 0 ||
            level[edges[node][i].to] != level[node] + 1))
      ++i;
    if (i < edges[node].size()) {
      path.push_back({node, i});
      node = edges[node][i].to;
      continue;
    }
    if (path.empty())
      return false;
    node = path.back().first;
    ++next[node];
    path.pop_back();
  }
  int64_t flow = kInfinite;
  for (auto [from, i] : path)
    flow = std::min(flow, edges[from][i].left);
  for (auto [from, i] : path) {
    Edge &edge = edges[from][i];
    edge.left -= flow;
    edges[edge.to][edge.reverse].left += flow;
  }
  return true;
}

std::vector<bool> MinCut::cut(unsigned source, unsigned sink) {
  while (computeLevels(source, sink)) {
    next.assign(edges.size(), 0);
    while (augment(source, sink)) {
    }
  }
  std::vector<bool> isSource;
  for (int distance : level)
    isSource.push_back(distance >= 0);
  return isSource;
}
