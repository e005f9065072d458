//===- CommunicationOrder.cpp - Checks ranks for deadlocks ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Collectives/CommunicationOrder.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <map>

using namespace tessera;

static std::string rankName(unsigned rank) {
  return "rank " + std::to_string(rank);
}

/// Checks that each member posts each communication once, and nobody else does.
static std::optional<Deadlock> checkMembers(const CommunicationOrder &order) {
  std::vector<std::vector<unsigned>> posted(order.communications.size());
  for (auto [rank, communications] : llvm::enumerate(order.ranks))
    for (unsigned communication : communications)
      posted[communication].push_back(rank);
  for (auto [i, ranks] : llvm::enumerate(posted)) {
    const Communication &communication = order.communications[i];
    for (unsigned member : communication.members) {
      auto count = llvm::count(ranks, member);
      if (count != 1)
        return Deadlock{"expects " + rankName(member) + " to post " +
                            communication.name + " once but got " +
                            std::to_string(count) + " times",
                        {unsigned(i)}};
    }
    for (unsigned rank : ranks)
      if (!llvm::is_contained(communication.members, rank))
        return Deadlock{rankName(rank) + " posts " + communication.name +
                            " but is no member of it",
                        {unsigned(i)}};
  }
  return std::nullopt;
}

/// Checks that all members of a communicator post its communications in one
/// order.
static std::optional<Deadlock>
checkCommunicators(const CommunicationOrder &order) {
  struct First {
    unsigned rank = 0;
    std::vector<unsigned> communications;
  };
  std::map<unsigned, First> firsts;
  for (auto [rank, communications] : llvm::enumerate(order.ranks)) {
    std::map<unsigned, std::vector<unsigned>> here;
    for (unsigned communication : communications)
      here[order.communications[communication].communicator].push_back(
          communication);
    for (auto &[communicator, posts] : here) {
      auto [it, isNew] = firsts.insert({communicator, {unsigned(rank), posts}});
      if (isNew || it->second.communications == posts)
        continue;
      const std::vector<unsigned> &other = it->second.communications;
      // The same communications are posted, so the lengths are equal.
      size_t at = 0;
      while (at + 1 < std::min(posts.size(), other.size()) &&
             posts[at] == other[at])
        ++at;
      return Deadlock{rankName(rank) + " posts " +
                          order.communications[posts[at]].name + " where " +
                          rankName(it->second.rank) + " posts " +
                          order.communications[other[at]].name +
                          " on the same communicator",
                      {posts[at], other[at]}};
    }
  }
  return std::nullopt;
}

/// Looks for a cycle of "some rank posts a right before b", depth first.
static std::optional<Deadlock> checkCycles(const CommunicationOrder &order) {
  unsigned n = order.communications.size();
  // Successors, each with a rank that posts them in this order.
  std::vector<llvm::SmallVector<std::pair<unsigned, unsigned>, 2>> next(n);
  for (unsigned rank = 0; rank < order.ranks.size(); ++rank) {
    llvm::ArrayRef<unsigned> posts = order.ranks[rank];
    for (size_t i = 0; i + 1 < posts.size(); ++i) {
      unsigned to = posts[i + 1];
      auto &list = next[posts[i]];
      if (llvm::none_of(list, [&](auto &edge) { return edge.first == to; }))
        list.push_back({to, rank});
    }
  }
  enum { New, Open, Done };
  std::vector<char> state(n, New);
  std::vector<std::pair<unsigned, unsigned>> path;
  for (unsigned root = 0; root < n; ++root) {
    if (state[root] != New)
      continue;
    path.push_back({root, 0});
    state[root] = Open;
    while (!path.empty()) {
      auto &[communication, edge] = path.back();
      if (edge == next[communication].size()) {
        state[communication] = Done;
        path.pop_back();
        continue;
      }
      unsigned to = next[communication][edge++].first;
      if (state[to] == New) {
        state[to] = Open;
        path.push_back({to, 0});
        continue;
      }
      if (state[to] == Done)
        continue;
      Deadlock deadlock{"ranks wait for each other: ", {}};
      auto begin = llvm::find_if(path, [&](auto &e) { return e.first == to; });
      for (auto it = begin; it != path.end(); ++it) {
        auto [from, used] = *it;
        auto [target, rank] = next[from][used - 1];
        deadlock.message += (it == begin ? "" : ", ") + rankName(rank) +
                            " posts " + order.communications[from].name +
                            " before " + order.communications[target].name;
        deadlock.communications.push_back(from);
      }
      return deadlock;
    }
  }
  return std::nullopt;
}

std::optional<Deadlock> tessera::findDeadlock(const CommunicationOrder &order) {
  if (auto deadlock = checkMembers(order))
    return deadlock;
  if (auto deadlock = checkCommunicators(order))
    return deadlock;
  return checkCycles(order);
}
