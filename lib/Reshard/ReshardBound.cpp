//===- ReshardBound.cpp - Lower bounds on the remaining time --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The heuristic of the A* search in ReshardSearch.cpp. It is admissible (never
// above the remaining time), so the first way found is a shortest one.
//
//===----------------------------------------------------------------------===//

#include "ReshardBound.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <limits>

using namespace tessera;
using llvm::ArrayRef;

/// Leaves room for rounding.
static constexpr double kSlack = 1 - 1e-12;

static double getLog2(int64_t n) {
  return llvm::isPowerOf2_64(n) ? llvm::Log2_64(n)
                                : std::log2(static_cast<double>(n));
}

ReshardBound::ReshardBound(const ReshardSpace &space, const State &goal)
    : space(space), goal(goal),
      elements(static_cast<double>(space.otherElements)) {
  for (auto [list, n] : llvm::zip(goal.dims, space.shape)) {
    goalParts.push_back(space.expand(list));
    goalShards.push_back(space.numShards(list));
    allShards *= goalShards.back();
    elements *= static_cast<double>(n);
  }
  wanted = elements / static_cast<double>(allShards);
  goalLog = getLog2(allShards);
  for (auto [part, splits] : llvm::zip(space.parts, space.splits))
    if (splits.empty())
      largestPart = std::max(largestPart, part.size);
  goalPartial = space.numShards(goal.unreduced);
  replicas = static_cast<double>(space.mesh.numDevices()) /
             static_cast<double>(allShards * goalPartial);
  double devices = 1;
  for (auto [axis, size] : llvm::enumerate(space.mesh.sizes))
    if (space.mesh.stageAxis != axis)
      devices *= static_cast<double>(size);
  mostReplicas = devices / static_cast<double>(allShards * goalPartial);
  bandwidth = space.getBandwidth();
  addOuterLevels();
}

double ReshardBound::countShards(ArrayRef<Part> list, uint64_t mask) const {
  double n = 1;
  for (Part p : list)
    if (mask >> p & 1)
      n *= static_cast<double>(space.parts[p].size);
  return n;
}

void ReshardBound::addOuterLevels() {
  llvm::SmallVector<unsigned, 4> levels;
  for (const LinkSpans &axis : space.links.axes) {
    if (axis.size() > 1)
      return;
    for (const LinkSpan &span : axis)
      levels.push_back(span.level);
  }
  llvm::sort(levels);
  levels.erase(llvm::unique(levels), levels.end());
  // Axes of one device have no links.
  if (levels.empty())
    return;
  for (unsigned level : llvm::drop_begin(levels)) {
    Outer outer;
    outer.latency = std::numeric_limits<double>::infinity();
    for (double rate : llvm::drop_begin(space.levelRates, level))
      outer.bandwidth += rate;
    double groups = 1;
    uint64_t axes = 0;
    for (auto [axis, spans] : llvm::enumerate(space.links.axes))
      for (const LinkSpan &span : spans) {
        if (span.level < level)
          continue;
        axes |= uint64_t(1) << axis;
        groups *= static_cast<double>(span.size);
        outer.latency = std::min(outer.latency, span.latency);
      }
    for (auto [p, part] : llvm::enumerate(space.parts))
      outer.parts |= uint64_t(axes >> part.axis & 1) << p;
    outer.inside = static_cast<double>(space.mesh.numDevices()) / groups;
    for (const Parts &list : goal.dims)
      outer.goalShards *= countShards(list, outer.parts);
    outer.goalPartial = countShards(goal.unreduced, outer.parts);
    outer.replicas = groups / (outer.goalShards * outer.goalPartial);
    setWeights(outer, groups);
    outers.push_back(outer);
  }
}

/// Collectives within the groups take 1 / bandwidth per byte, collectives
/// between them 1 / outer.bandwidth. A collective over both, with g devices in
/// each of N groups, receives
///  * in a ring (N - 1) / (N g - 1) of its bytes from other groups, and takes
///    1 / min(bandwidth, g outer.bandwidth) per byte;
///  * in an all-to-all g (N - 1) / (N g - 1) of them, more than half, and takes
///    1 / outer.bandwidth for each of those.
/// The first inequality gets stricter with more groups.
void ReshardBound::setWeights(Outer &outer, double groups) const {
  for (int i = 0; i < Outer::kWeights; ++i) {
    double any = i / (bandwidth * (Outer::kWeights - 1));
    double more = 1 / outer.bandwidth - 2 * any;
    for (int64_t g = 2; static_cast<double>(g) <= outer.inside; ++g) {
      if (static_cast<int64_t>(outer.inside) % g)
        continue;
      auto devices = static_cast<double>(g);
      double ring = std::max(1 / bandwidth, 1 / (devices * outer.bandwidth));
      more =
          std::min(more, (ring - any) * (groups * devices - 1) / (groups - 1));
      // More devices are no faster, and receive less from other groups.
      if (devices * outer.bandwidth >= bandwidth)
        break;
    }
    outer.weights[i] = {any, std::max(more, 0.0)};
  }
}

/// The needs of a group as if it were a device: the elements that it lacks of
/// its devices' goal, and the sums that travel. Each device receives an equal
/// share over these links. Reductions take their latencies on each level
/// separately, and permutes do not take part in them.
ReshardBound::OuterNeeds ReshardBound::getOuterNeeds(const Outer &outer,
                                                     const State &state,
                                                     const Held &held) const {
  double kept = 1;
  for (Part p : state.unreduced)
    for (Part g : goal.unreduced)
      if (space.inside[p] >> g & 1)
        kept *= countShards(g, outer.parts);
      else if (space.inside[g] >> p & 1)
        kept *= countShards(p, outer.parts);
  double partial = countShards(state.unreduced, outer.parts) / kept;
  double all = elements / outer.inside, summed = 0;
  if (partial > 1)
    summed = all / outer.goalShards * kept * (partial + outer.replicas - 2) /
             (outer.replicas * outer.goalPartial);
  double overlap = 1;
  for (auto [d, list] : llvm::enumerate(state.dims)) {
    bool isApart = held.apart.test(d) && (outer.parts >> held.mine[d] & 1) &&
                   (outer.parts >> held.goals[d] & 1);
    overlap = isApart
                  ? 0
                  : overlap / std::max(countShards(list, outer.parts),
                                       countShards(goal.dims[d], outer.parts));
  }
  double missing = std::max(all / outer.goalShards - all * overlap, summed);
  double latencies = partial > 1 ? std::ceil(std::log2(partial) - 1e-9) : 0;
  double least = missing > 0 ? 1 : 0;
  return {std::max(latencies, least) * (outer.latency - space.latency),
          missing * static_cast<double>(space.elementBytes)};
}

/// Collectives over n devices take at least log2 n latencies, an all-reduce two
/// for each of them. `partial` is log2 of the devices to sum over; 2^a of these
/// may scatter their sum; 2^(tooMany + a) excess shards must then be gathered.
/// `removals` other collectives take shards from a dimension, and may include
/// all-gathers. Returns the minimum over all a, reached at the last a without
/// additional gathers.
static int getLatencies(double partial, double tooMany, int removals) {
  double scattered = std::clamp(removals - tooMany, 0.0, partial);
  double all =
      2 * partial - scattered + std::max<double>(removals, tooMany + scattered);
  return static_cast<int>(std::ceil(all - 1e-9));
}

/// A dimension with too many shards must lose some. Only an all-gather or an
/// all-to-all takes shards from a dimension, and each from one dimension only.
/// A dimension that is split along other axes than in the goal needs one of
/// these, or all such dimensions share one permute.
ReshardBound::Needs ReshardBound::getNeeds(const Held &held,
                                           int64_t partial) const {
  Needs needs;
  int64_t shards = 1;
  int tooMany = 0, removals = 0;
  for (auto [d, wants] : llvm::enumerate(goalShards)) {
    int64_t has = held.shards[d];
    shards *= has;
    bool isTooMany = has > 1 && has != wants && wants % has != 0;
    tooMany += isTooMany;
    removals += isTooMany || held.apart.test(d);
  }
  double partialLog = getLog2(partial), excess = getLog2(shards) - goalLog;
  needs.permuted = getLatencies(partialLog, excess, tooMany);
  needs.permutedCollectives = tooMany + (partial > 1);
  needs.latencies = needs.permuted;
  needs.collectives = needs.permutedCollectives;
  if (removals > tooMany) {
    needs.latencies = std::min(needs.permuted + 1,
                               getLatencies(partialLog, excess, removals));
    ++needs.collectives;
  }
  return needs;
}

/// Follows the axes of each dimension as far as they match the goal.
ReshardBound::Held ReshardBound::getHeld(const State &state) const {
  Held held;
  for (auto [d, list] : llvm::enumerate(state.dims)) {
    held.shards.push_back(space.numShards(list));
    Parts parts = space.expand(list);
    ArrayRef<Part> target = goalParts[d];
    size_t i = 0;
    while (i < parts.size() && i < target.size() && parts[i] == target[i])
      ++i;
    if (i < parts.size() && i < target.size() &&
        !(space.conflicts[parts[i]] >> target[i] & 1)) {
      held.apart.set(d);
      held.mine[d] = parts[i];
      held.goals[d] = target[i];
      held.myTail[d] = static_cast<double>(
          space.numShards(ArrayRef<Part>(parts).drop_front(i)));
      held.goalTail[d] =
          static_cast<double>(space.numShards(target.drop_front(i)));
    }
  }
  return held;
}

/// The most elements of its goal block that the worst-off device holds: at most
/// the overlap of nested blocks. If a dimension's axes diverge from the goal's,
/// the blocks of some device are disjoint.
double ReshardBound::getOverlap(const Held &held) const {
  if (held.apart.any())
    return 0;
  double overlap = wanted;
  for (auto [has, wants] : llvm::zip(held.shards, goalShards))
    if (has > wants)
      overlap = overlap * static_cast<double>(wants) / static_cast<double>(has);
  return overlap;
}

ReshardBound::Ratios ReshardBound::getRatios(const Held &held,
                                             bool permutes) const {
  Ratios ratios;
  for (auto [d, wants] : llvm::enumerate(goalShards)) {
    auto has = static_cast<double>(held.shards[d]);
    auto gets = static_cast<double>(wants);
    if (!permutes && held.apart.test(d)) {
      ratios.joins.push_back(held.myTail[d]);
      ratios.splits.push_back(held.goalTail[d]);
    } else if (has > gets) {
      ratios.joins.push_back(has / gets);
    } else if (has < gets) {
      ratios.splits.push_back(gets / has);
    }
  }
  return ratios;
}

/// The least sum of 1 - 1 / n over factors n that multiply to each ratio, if
/// factors with a product of `free` cost nothing. `free` is best spent on few
/// ratios, one after the other in some order.
static double getLeastSum(ArrayRef<double> ratios, double free) {
  if (ratios.empty())
    return 0;
  double least = static_cast<double>(ratios.size());
  for (size_t first = 0; first < ratios.size(); ++first) {
    llvm::SmallVector<double, 4> others;
    for (auto [i, ratio] : llvm::enumerate(ratios))
      if (i != first)
        others.push_back(ratio);
    double used = std::min(free, ratios[first]);
    least = std::min(least, 1 - used / ratios[first] +
                                getLeastSum(others, free / used));
    if (free == 1)
      break;
  }
  return least;
}

/// Collectives that split or join dimensions by a factor n move at least
/// (1 - 1 / n) of a device's elements. An all-to-all does both, and a
/// reduce-scatter splits. An all-gather joins, and frees axes along which
/// slices may split any dimension. Each holds at least 1 / x of the goal's
/// block for some x from 1 to the number of all devices with equal goal blocks.
/// All-gathers then bring the rest, 1 - 1 / x of the block: they join
/// dimensions by x and free slices by as much. Slices and reduce-scatters also
/// split by the factor of additional shards in the goal.
///
///     shards [1, 1, 8] to [4, 2, 1]: 3/4 and 1/2 of a block, over 7/8 which
///                                    are missing
///
/// If these cost nothing, the sum for a given x is 1 - (1 - least) / x. `least`
/// is a minimum of functions linear in x, so the sum is least at an end of the
/// range or where a ratio is used up. A permute also moves a whole block.
double ReshardBound::getShuffled(const Held &held, const Ratios &ratios,
                                 bool permutes) const {
  int64_t shards = 1;
  for (int64_t n : held.shards)
    shards *= n;
  double more = static_cast<double>(allShards) / static_cast<double>(shards);
  double fewest = std::max(1.0, 1 / more);
  auto getLeast = [&](ArrayRef<double> all, double free) {
    // Any subset of the ratios bounds the sum; the largest matter most.
    constexpr size_t kMostRatios = 3;
    llvm::SmallVector<double, 4> few(all);
    llvm::sort(few, std::greater<double>());
    few.resize(std::min(few.size(), kMostRatios));
    double least = std::numeric_limits<double>::infinity();
    auto offer = [&](double x) {
      x = std::clamp(x, fewest, mostReplicas);
      double sum = getLeastSum(few, std::max(1.0, free * x)) + permutes;
      least = std::min(least, 1 - (1 - sum) / x);
    };
    offer(fewest);
    if (mostReplicas <= fewest)
      return least;
    offer(mostReplicas);
    for (unsigned set = 1; set < 1u << few.size(); ++set) {
      double product = 1;
      for (auto [i, ratio] : llvm::enumerate(few))
        product *= set >> i & 1 ? ratio : 1;
      offer(product / free);
    }
    return least;
  };
  return wanted *
         std::max(getLeast(ratios.splits, more), getLeast(ratios.joins, 1));
}

int64_t ReshardBound::getPartial(const State &state, double &kept) const {
  int64_t stays = 1;
  for (Part p : state.unreduced)
    for (Part g : goal.unreduced)
      if (space.inside[p] >> g & 1)
        stays *= space.parts[g].size;
      else if (space.inside[g] >> p & 1)
        stays *= space.parts[p].size;
  kept = static_cast<double>(stays);
  return space.numShards(state.unreduced) / stays;
}

/// Counts the slices that are needed in addition to what reductions scatter.
int ReshardBound::getSlices(const Held &held, int64_t partial) const {
  int64_t shards = partial;
  for (int64_t n : held.shards)
    shards *= n;
  int slices = 0;
  for (; shards < allShards; shards *= largestPart)
    ++slices;
  return slices;
}

/// Each collective takes one of two protocols. If all take the low-latency one,
/// all bytes travel at its share of the bandwidth; if one does not, it has the
/// higher latency.
double ReshardBound::getTime(int collectives, double latency,
                             double transfer) const {
  if (collectives == 0)
    return 0;
  const CollectiveConstants &library = space.links.library;
  double bytes = std::min(transfer / library.lowShare,
                          library.baseBulk - library.baseLow + transfer);
  return (collectives * library.baseLow + latency + bytes) * kSlack;
}

/// To sum n partial values, n - 1 of them travel, and each further device that
/// needs the sum receives at least once: (n - 1) + (r - 1) transfers per
/// element for r devices. A device that holds fewer elements than it needs
/// receives the missing ones, permuted or not.
ReshardBound::Bound ReshardBound::get(const State &state) const {
  double kept = 1, summed = 0;
  int64_t partial = state.unreduced.empty() ? 1 : getPartial(state, kept);
  if (partial > 1)
    summed = wanted * kept * (static_cast<double>(partial) + replicas - 2) /
             (replicas * static_cast<double>(goalPartial));
  Held held = getHeld(state);
  Needs needs = getNeeds(held, partial);
  double size = elements;
  for (int64_t shards : held.shards)
    size /= static_cast<double>(shards);
  double missing = std::max(wanted - getOverlap(held), summed);
  double shuffled = 0;
  // Axes that are partial only in the goal might split dimensions before.
  if (kept == static_cast<double>(goalPartial)) {
    Ratios ratios = getRatios(held, /*permutes=*/true);
    shuffled = getShuffled(held, ratios, /*permutes=*/false);
    missing = std::max(
        missing,
        held.apart.any()
            ? std::min(getShuffled(held, ratios, true),
                       getShuffled(held, getRatios(held, false), false))
            : shuffled);
  }
  Bound bound;
  bound.slices = getSlices(held, partial);
  bound.collectives = std::max(needs.collectives, missing > 0 ? 1 : 0);
  bound.permuteCollectives = needs.permutedCollectives + 1;
  double permuted = size + std::max({wanted - size, summed, shuffled});
  auto bytes = [&](double amount) {
    return std::max(amount, 0.0) * static_cast<double>(space.elementBytes);
  };
  double far = 0;
  double transfer = bytes(missing) / bandwidth;
  double permuteTransfer = bytes(permuted) / bandwidth;
  for (const Outer &outer : outers) {
    OuterNeeds outside = getOuterNeeds(outer, state, held);
    far = std::max(far, outside.latency);
    for (const Outer::Weights &weights : outer.weights) {
      transfer = std::max(transfer, weights.any * bytes(missing) +
                                        weights.outer * outside.bytes);
      permuteTransfer =
          std::max(permuteTransfer, weights.any * bytes(permuted) +
                                        weights.outer * outside.bytes);
    }
  }
  int least = bound.collectives > 0 ? 1 : 0;
  bound.time =
      getTime(bound.collectives,
              std::max(needs.latencies, least) * space.latency + far, transfer);
  bound.permuteTime =
      getTime(bound.permuteCollectives,
              (needs.permuted + 1) * space.latency + far, permuteTransfer);
  return bound;
}
