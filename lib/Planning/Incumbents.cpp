//===- Incumbents.cpp - The best plans found so far -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Incumbents.h"
#include "tessera/Cost/Uncertainty.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <tuple>

using namespace tessera;

unsigned FoundPlan::numAxes() const {
  unsigned axes = 0;
  for (int64_t size : {plan.dp, plan.tp, plan.pp, plan.cp, plan.ep})
    axes += size > 1;
  return axes;
}

double tessera::getMemoryLimit(const cost::ExecutedPlan &plan,
                               const ClusterSpec &cluster, double fit) {
  double capacity = cluster.device.memoryBytes.value;
  if (fit == 0.5)
    return capacity;
  cost::Doubt doubt =
      cost::memoryDoubt(cost::noveltyOf(plan, plan.execution(), cluster));
  // The half-width covers both sides of the distribution.
  return capacity * std::exp(-doubt.halfWidth(2 * fit - 1));
}

MeshKey tessera::meshOf(const Layout &layout, size_t cluster) {
  return {int64_t(cluster), layout.pp, layout.dp,           layout.cp,
          layout.tp,        layout.ep, layout.globalBatch()};
}

bool Incumbents::isBetter(const FoundPlan &a, const FoundPlan &b) const {
  auto key = [&](const FoundPlan &found) {
    return std::tuple(valueOf(found), found.numAxes(), found.order);
  };
  return key(a) < key(b);
}

void Incumbents::insert(std::vector<FoundPlan> &list, const FoundPlan &found,
                        size_t most) const {
  // The dive may have found it before.
  if (llvm::any_of(list, [&](const FoundPlan &other) {
        return other.order == found.order && other.plan == found.plan;
      }))
    return;
  auto at = llvm::upper_bound(
      list, found,
      [&](const FoundPlan &a, const FoundPlan &b) { return isBetter(a, b); });
  list.insert(at, found);
  if (list.size() > most)
    list.pop_back();
}

double Incumbents::limitOf(const std::vector<FoundPlan> &list,
                           size_t most) const {
  return list.size() < most ? INFINITY : valueOf(list.back());
}

double Incumbents::frontLimit() const {
  if (top.empty())
    return INFINITY;
  return options.frontSlack < 0 ? -INFINITY
                                : valueOf(top[0]) * (1 + options.frontSlack);
}

/// True if no figure of `a` is larger.
static bool covers(const FoundPlan &a, const FoundPlan &b) {
  return a.time <= b.time && a.bytes <= b.bytes && a.dollars <= b.dollars;
}

void Incumbents::offerMesh(const FoundPlan &found) {
  MeshKey key = meshOf(found.plan, found.cluster);
  auto same = llvm::find_if(
      meshes, [&](const auto &entry) { return entry.first == key; });
  if (same != meshes.end()) {
    if (!isBetter(found, same->second))
      return;
    meshes.erase(same);
  }
  auto at =
      llvm::upper_bound(meshes, found, [&](const FoundPlan &a, const auto &b) {
        return isBetter(a, b.second);
      });
  meshes.insert(at, {key, found});
}

void Incumbents::offerFront(const FoundPlan &found) {
  for (const FoundPlan &point : front)
    if (covers(point, found) &&
        !(covers(found, point) && found.order < point.order))
      return;
  llvm::erase_if(front,
                 [&](const FoundPlan &point) { return covers(found, point); });
  front.push_back(found);
}

void Incumbents::offer(const FoundPlan &found) {
  if (found.time > options.mostTime)
    return;
  insert(top, found, options.top);
  offerMesh(found);
  if (options.frontSlack >= 0)
    offerFront(found);
}

/// Maximum number of near misses to report.
static constexpr size_t kNearMisses = 3;

void Incumbents::offerNearMiss(const FoundPlan &found) {
  insert(nearMisses, found, kNearMisses);
}

bool Incumbents::excludeNearMiss(const FoundPlan &least) const {
  return valueOf(least) > limitOf(nearMisses, kNearMisses) ||
         (!top.empty() && valueOf(least) >= valueOf(top[0]));
}

bool Incumbents::excludeFrom(double value) const {
  if (options.objective == SearchObjective::Time && value > options.mostTime)
    return true;
  return top.size() >= options.top && value > valueOf(top.back()) &&
         meshes.size() >= options.top &&
         value > valueOf(meshes[options.top - 1].second) &&
         value > frontLimit();
}

bool Incumbents::exclude(const FoundPlan &least, const MeshKey &mesh) const {
  double value = valueOf(least);
  if (least.time > options.mostTime)
    return true;
  if (value <= limitOf(top, options.top))
    return false;
  if (meshes.size() < options.top ||
      value <= valueOf(meshes[options.top - 1].second)) {
    auto same = llvm::find_if(
        meshes, [&](const auto &entry) { return entry.first == mesh; });
    if (same == meshes.end() || value <= valueOf(same->second))
      return false;
  }
  if (value > frontLimit())
    return true;
  return llvm::any_of(front, [&](const FoundPlan &point) {
    return covers(point, least) && !covers(least, point);
  });
}

void Incumbents::fill(SearchResult &result) const {
  result.top = top;
  for (const auto &[key, found] : meshes)
    if (result.meshes.size() < options.top)
      result.meshes.push_back(found);
  for (const FoundPlan &point : front)
    if (valueOf(point) <= frontLimit())
      result.front.push_back(point);
  llvm::sort(result.front, [&](const FoundPlan &a, const FoundPlan &b) {
    return isBetter(a, b);
  });
  for (const FoundPlan &found : nearMisses)
    if (top.empty() || isBetter(found, top[0]))
      result.nearMisses.push_back(found);
}
