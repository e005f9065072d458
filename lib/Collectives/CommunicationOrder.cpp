//===- CommunicationOrder.cpp - Do ranks wait for each other? -------------===//
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

/// Each member posts each meeting once, and nobody else does.
static std::optional<Deadlock> checkMembers(const CommunicationOrder &order) {
  std::vector<std::vector<unsigned>> posted(order.meetings.size());
  for (auto [rank, meetings] : llvm::enumerate(order.ranks))
    for (unsigned meeting : meetings)
      posted[meeting].push_back(rank);
  for (auto [i, ranks] : llvm::enumerate(posted)) {
    const Meeting &meeting = order.meetings[i];
    for (unsigned member : meeting.members) {
      auto count = llvm::count(ranks, member);
      if (count != 1)
        return Deadlock{"expects " + rankName(member) + " to post " +
                            meeting.name + " once but got " +
                            std::to_string(count) + " times",
                        {unsigned(i)}};
    }
    for (unsigned rank : ranks)
      if (!llvm::is_contained(meeting.members, rank))
        return Deadlock{rankName(rank) + " posts " + meeting.name +
                            " but is no member of it",
                        {unsigned(i)}};
  }
  return std::nullopt;
}

/// The members of a communicator post its meetings in one order.
static std::optional<Deadlock>
checkCommunicators(const CommunicationOrder &order) {
  struct First {
    unsigned rank = 0;
    std::vector<unsigned> meetings;
  };
  std::map<unsigned, First> firsts;
  for (auto [rank, meetings] : llvm::enumerate(order.ranks)) {
    std::map<unsigned, std::vector<unsigned>> here;
    for (unsigned meeting : meetings)
      here[order.meetings[meeting].communicator].push_back(meeting);
    for (auto &[communicator, posts] : here) {
      auto [it, isNew] = firsts.insert({communicator, {unsigned(rank), posts}});
      if (isNew || it->second.meetings == posts)
        continue;
      const std::vector<unsigned> &other = it->second.meetings;
      // Where members are the same, so are lengths.
      size_t at = 0;
      while (at + 1 < std::min(posts.size(), other.size()) &&
             posts[at] == other[at])
        ++at;
      return Deadlock{
          rankName(rank) + " posts " + order.meetings[posts[at]].name +
              " where " + rankName(it->second.rank) + " posts " +
              order.meetings[other[at]].name + " on the same communicator",
          {posts[at], other[at]}};
    }
  }
  return std::nullopt;
}

/// A cycle of "some rank posts a right before b", looked for depth first.
static std::optional<Deadlock> checkCycles(const CommunicationOrder &order) {
  unsigned n = order.meetings.size();
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
      auto &[meeting, edge] = path.back();
      if (edge == next[meeting].size()) {
        state[meeting] = Done;
        path.pop_back();
        continue;
      }
      unsigned to = next[meeting][edge++].first;
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
                            " posts " + order.meetings[from].name + " before " +
                            order.meetings[target].name;
        deadlock.meetings.push_back(from);
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
