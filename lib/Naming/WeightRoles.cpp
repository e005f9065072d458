//===- WeightRoles.cpp - Roles of dimensions between weights --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WeightRoles.h"

#include <algorithm>
#include <map>
#include <set>

using namespace tessera;

using Class = std::optional<unsigned>;

/// Returns the class that most weights touch, of those that may be a stream;
/// none if no two weights share one.
static Class findStream(const std::vector<WeightUse> &uses,
                        const std::function<bool(unsigned)> &isNormalized,
                        const std::function<bool(unsigned)> &mayBe) {
  std::map<unsigned, std::set<unsigned>> weights;
  for (const WeightUse &use : uses)
    for (Class number : {use.taken, use.made})
      if (number && mayBe(*number))
        weights[*number].insert(use.weight);
  Class best;
  auto rank = [&](unsigned number) {
    return std::make_pair(weights[number].size(), isNormalized(number));
  };
  for (const auto &[number, members] : weights)
    if (members.size() > 1 && (!best || rank(number) > rank(*best)))
      best = number;
  return best;
}

/// Whether of the weights that take a class more than half, by elements, make
/// the stream.
static bool leadsTo(unsigned stream, unsigned number,
                    const std::vector<WeightUse> &uses) {
  int64_t all = 0, toStream = 0;
  for (const WeightUse &use : uses)
    if (use.taken == number) {
      all += use.elements;
      toStream += use.made == stream ? use.elements : 0;
    }
  return 2 * toStream > all;
}

/// The streams that a weight reaches an inner class from, or from which it is
/// reached.
static std::set<unsigned>
findJoined(const std::set<unsigned> &streams,
           const std::vector<WeightUse> &uses,
           const std::function<bool(Class)> &isInside) {
  std::set<unsigned> joined;
  for (const WeightUse &use : uses)
    for (auto [from, to] :
         {std::pair(use.taken, use.made), std::pair(use.made, use.taken)})
      if (from && streams.count(*from) && isInside(to))
        joined.insert(*from);
  return joined;
}

namespace {
/// A class between weights of a chain: some make it, others take it.
struct Link {
  unsigned number;
  /// The uses that make or take it.
  std::vector<size_t> uses;
  bool isMade = false, isTaken = false, isOpen = true;
};
} // namespace

/// Finds the classes that may be, and that weights make and take, none of which
/// is done.
static std::vector<Link>
findLinks(const std::vector<WeightUse> &uses,
          const std::function<bool(unsigned)> &mayBe,
          const std::function<bool(const WeightUse &)> &isDone) {
  std::map<unsigned, Link> links;
  for (size_t i = 0; i < uses.size(); ++i)
    for (Class number : {uses[i].taken, uses[i].made}) {
      if (!number || !mayBe(*number))
        continue;
      Link &link = links.try_emplace(*number, Link{*number, {}}).first->second;
      link.uses.push_back(i);
      (number == uses[i].made ? link.isMade : link.isTaken) = true;
      link.isOpen &= uses[i].taken != uses[i].made && !isDone(uses[i]);
    }
  std::vector<Link> open;
  for (const auto &[number, link] : links)
    if (link.isMade && link.isTaken && link.isOpen)
      open.push_back(link);
  return open;
}

/// Chooses classes of which no two share a weight: a greedy matching, which
/// begins at the largest of the weights that have one class left, so that few
/// weights and small ones stay without.
static std::vector<unsigned> matchLinks(std::vector<Link> links,
                                        const std::vector<WeightUse> &uses) {
  std::vector<unsigned> chosen;
  while (!links.empty()) {
    std::vector<size_t> count(uses.size());
    for (const Link &link : links)
      for (size_t use : link.uses)
        ++count[use];
    auto rank = [&](const Link &link) {
      int64_t end = 0, all = 0;
      for (size_t use : link.uses) {
        all += uses[use].elements;
        if (count[use] == 1)
          end = std::max(end, uses[use].elements);
      }
      return std::pair(end, all);
    };
    Link best = *std::max_element(
        links.begin(), links.end(),
        [&](const Link &a, const Link &b) { return rank(a) < rank(b); });
    chosen.push_back(best.number);
    auto shares = [&](const Link &link) {
      return std::find_first_of(link.uses.begin(), link.uses.end(),
                                best.uses.begin(),
                                best.uses.end()) != link.uses.end();
    };
    links.erase(std::remove_if(links.begin(), links.end(), shares),
                links.end());
  }
  return chosen;
}

WeightRoles
tessera::findWeightRoles(const std::vector<WeightUse> &uses,
                         const std::function<bool(unsigned)> &isNormalized,
                         const std::function<bool(unsigned)> &isKnown,
                         const std::function<bool(unsigned)> &isInner) {
  WeightRoles roles;
  std::set<unsigned> streams, inner;
  std::vector<WeightUse> open = uses;
  auto isInside = [&](Class number) {
    return number && (isInner(*number) || inner.count(*number));
  };
  auto isDone = [&](const WeightUse &use) {
    return isInside(use.taken) || isInside(use.made);
  };
  while (true) {
    Class stream = findStream(open, isNormalized, [&](unsigned number) {
      return !streams.count(number) && !inner.count(number) &&
             !isInner(number) && (streams.empty() || !isKnown(number));
    });
    if (!stream)
      break;
    if (streams.empty())
      roles.stream = stream;
    streams.insert(*stream);
    for (const WeightUse &use : open)
      if (use.made && !streams.count(*use.made) && !isKnown(*use.made) &&
          leadsTo(*stream, *use.made, uses) && inner.insert(*use.made).second)
        roles.inner.push_back(*use.made);
    open.erase(std::remove_if(open.begin(), open.end(), isDone), open.end());
  }
  std::set<unsigned> joined = findJoined(streams, uses, isInside);
  auto mayLink = [&](unsigned number) {
    return !isKnown(number) && !isInside(number) && !joined.count(number);
  };
  std::vector<unsigned> chain =
      matchLinks(findLinks(uses, mayLink, isDone), uses);
  // A chain alone has no stream.
  if (!chain.empty() && roles.stream && !joined.count(*roles.stream))
    roles.stream = std::nullopt;
  roles.inner.insert(roles.inner.end(), chain.begin(), chain.end());
  return roles;
}
