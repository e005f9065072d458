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
      return roles;
    if (streams.empty())
      roles.stream = stream;
    streams.insert(*stream);
    for (const WeightUse &use : open)
      if (use.made && !streams.count(*use.made) && !isKnown(*use.made) &&
          leadsTo(*stream, *use.made, uses) && inner.insert(*use.made).second)
        roles.inner.push_back(*use.made);
    open.erase(std::remove_if(open.begin(), open.end(), isDone), open.end());
  }
}
