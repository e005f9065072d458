//===- Incumbents.h - The best plans found so far ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeps the answers of a search, and excludes plans that cannot be among them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PLANNING_INCUMBENTS_H
#define TESSERA_LIB_PLANNING_INCUMBENTS_H

#include "tessera/Planning/LayoutSearch.h"
#include <array>

namespace tessera {

/// The axes of a plan on a cluster. Plans with different keys differ in more
/// than settings.
using MeshKey = std::array<int64_t, 7>;

class Incumbents {
public:
  explicit Incumbents(const SearchOptions &options) : options(options) {}

  /// Adds a plan that fits.
  void offer(const FoundPlan &found);
  /// Adds a plan that lacks little memory.
  void offerNearMiss(const FoundPlan &found);

  /// True if no plan of this mesh with at least these figures is among the
  /// answers. A plan with the same figures as an answer may be one.
  bool exclude(const FoundPlan &least, const MeshKey &mesh) const;
  /// True if no near miss that takes at least as long is among the answers.
  bool excludeNearMiss(const FoundPlan &least) const;
  /// True if exclude() is true for all plans with at least this value.
  bool excludeFrom(double value) const;

  /// Returns the seconds or dollars per token.
  double valueOf(const FoundPlan &found) const {
    return options.objective == SearchObjective::Time ? found.time
                                                      : found.dollars;
  }
  const FoundPlan *getBest() const { return top.empty() ? nullptr : &top[0]; }
  void fill(SearchResult &result) const;

private:
  bool isBetter(const FoundPlan &a, const FoundPlan &b) const;
  void insert(std::vector<FoundPlan> &list, const FoundPlan &found,
              size_t most) const;
  /// Returns the value that a plan must not exceed to be in a list.
  double limitOf(const std::vector<FoundPlan> &list, size_t most) const;
  double frontLimit() const;
  void offerMesh(const FoundPlan &found);
  void offerFront(const FoundPlan &found);

  const SearchOptions &options;
  std::vector<FoundPlan> top, front, nearMisses;
  /// The best plan of each mesh, sorted.
  std::vector<std::pair<MeshKey, FoundPlan>> meshes;
};

MeshKey meshOf(const Layout &layout, size_t cluster);

} // namespace tessera

#endif // TESSERA_LIB_PLANNING_INCUMBENTS_H
