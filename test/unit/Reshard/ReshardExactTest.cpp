//===- ReshardExactTest.cpp - Plans compared with all possible ways -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests every pair of shardings of a tensor on a small mesh. The plan takes the
// time of the fastest way found by brute force (Dijkstra over all shardings,
// with a second definition of the moves). It is also correct on simulated
// devices and never holds more than its larger end.
//
//===----------------------------------------------------------------------===//

#include "SimulatedDevices.h"
#include "tessera/Cluster/CollectiveTime.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <queue>
#include <set>

using namespace tessera;
using namespace tessera::test;

namespace {

/// The location of each atom (a sub-axis that is not split further): dimensions
/// with their order, then the partial atoms.
struct Place {
  std::vector<std::vector<int>> dims;
  std::set<int> partial;
  bool operator<(const Place &o) const {
    return std::tie(dims, partial) < std::tie(o.dims, o.partial);
  }
};

struct Case {
  std::vector<int64_t> sizes;
  std::vector<AxisRef> atoms;
  Shape shape;
};

class BruteForce {
public:
  BruteForce(const Case &c, const MeshLinks &links)
      : c(c), mesh(meshOf(c.sizes)), links(links) {
    Place place;
    place.dims.resize(c.shape.size());
    std::set<Place> seen;
    fill(place, 0, seen);
    all.assign(seen.begin(), seen.end());
    std::map<Place, size_t> numbers;
    for (auto [i, p] : llvm::enumerate(all)) {
      numbers[p] = i;
      sizes.push_back(localSize(p));
    }
    for (const Place &p : all) {
      moves.emplace_back();
      forEachMove(p, [&](const Place &next, double seconds) {
        moves.back().push_back({numbers.at(next), seconds});
      });
    }
  }

  Sharding toSharding(const Place &place) const {
    Sharding s = Sharding::replicatedOf(place.dims.size());
    for (auto [dim, atoms] : llvm::zip(s.dims, place.dims)) {
      for (int a : atoms)
        dim.axes.push_back(c.atoms[a]);
      dim.axes = mergeAdjacent(dim.axes);
    }
    for (int a : place.partial)
      s.unreduced.push_back(c.atoms[a]);
    llvm::sort(s.unreduced);
    s.unreduced = mergeAdjacent(s.unreduced);
    return s;
  }

  int64_t localSize(const Place &place) const {
    int64_t size = 1;
    for (auto [n, atoms] : llvm::zip(c.shape, place.dims))
      size *= n / shards(atoms);
    return size;
  }

  /// Seconds from place `from` to every other without a value above `cap`.
  std::vector<double> solve(size_t from, int64_t cap) const {
    std::vector<double> times(all.size(),
                              std::numeric_limits<double>::infinity());
    using Entry = std::pair<double, size_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    queue.push({times[from] = 0, from});
    while (!queue.empty()) {
      auto [time, place] = queue.top();
      queue.pop();
      if (time > times[place])
        continue;
      for (auto [next, seconds] : moves[place])
        if (sizes[next] <= cap && time + seconds < times[next])
          queue.push({times[next] = time + seconds, next});
    }
    return times;
  }

  /// All places, including partial ones.
  std::vector<Place> all;

  const Mesh &getMesh() const { return mesh; }

private:
  int64_t shards(const std::vector<int> &atoms) const {
    int64_t n = 1;
    for (int a : atoms)
      n *= c.atoms[a].size;
    return n;
  }
  bool divides(const Place &place) const {
    for (auto [n, atoms] : llvm::zip(c.shape, place.dims))
      if (n % shards(atoms) != 0)
        return false;
    return true;
  }
  double time(CollectiveKind kind, const Place &place,
              const std::vector<int> &atoms) const {
    AxisList axes;
    for (int a : atoms)
      axes.push_back(c.atoms[a]);
    llvm::sort(axes);
    return getCollectiveTime(links, mesh, kind, 4.0 * localSize(place),
                             mergeAdjacent(axes));
  }
  bool isUsed(const Place &place, int atom) const {
    return place.partial.count(atom) ||
           llvm::any_of(place.dims, [&](auto &dim) {
             return llvm::is_contained(dim, atom);
           });
  }

  void fill(Place &place, size_t atom, std::set<Place> &seen) const {
    if (atom == c.atoms.size()) {
      if (divides(place))
        seen.insert(place);
      return;
    }
    fill(place, atom + 1, seen);
    for (auto &dim : place.dims)
      for (size_t i = 0; i <= dim.size(); ++i) {
        dim.insert(dim.begin() + i, atom);
        fill(place, atom + 1, seen);
        dim.erase(dim.begin() + i);
      }
    place.partial.insert(atom);
    fill(place, atom + 1, seen);
    place.partial.erase(atom);
  }

  using Visit = llvm::function_ref<void(const Place &, double)>;

  void forEachMove(const Place &place, Visit visit) const {
    for (int a = 0; a < static_cast<int>(c.atoms.size()); ++a)
      for (size_t d = 0; !isUsed(place, a) && d < place.dims.size(); ++d) {
        Place next = place;
        next.dims[d].push_back(a);
        if (divides(next))
          visit(next, 0);
      }
    for (size_t d = 0; d < place.dims.size(); ++d)
      for (size_t n = 1; n <= place.dims[d].size(); ++n) {
        std::vector<int> moved(place.dims[d].end() - n, place.dims[d].end());
        Place next = place;
        next.dims[d].resize(place.dims[d].size() - n);
        visit(next, time(CollectiveKind::AllGather, place, moved));
        for (size_t to = 0; to < place.dims.size(); ++to) {
          if (to == d)
            continue;
          Place there = next;
          there.dims[to].insert(there.dims[to].end(), moved.begin(),
                                moved.end());
          if (divides(there))
            visit(there, time(CollectiveKind::AllToAll, place, moved));
        }
      }
    std::vector<int> partial(place.partial.begin(), place.partial.end());
    reductions(place, partial, visit);
    permutes(place, visit);
  }

  void reductions(const Place &place, const std::vector<int> &partial,
                  Visit visit) const {
    for (unsigned bits = 1; bits < 1u << partial.size(); ++bits) {
      std::vector<int> chosen;
      Place reduced = place;
      for (size_t i = 0; i < partial.size(); ++i)
        if (bits >> i & 1) {
          chosen.push_back(partial[i]);
          reduced.partial.erase(partial[i]);
        }
      visit(reduced, time(CollectiveKind::AllReduce, place, chosen));
      do {
        for (size_t d = 0; d < place.dims.size(); ++d) {
          Place next = reduced;
          next.dims[d].insert(next.dims[d].end(), chosen.begin(), chosen.end());
          if (divides(next))
            visit(next, time(CollectiveKind::ReduceScatter, place, chosen));
        }
      } while (std::next_permutation(chosen.begin(), chosen.end()));
    }
  }

  /// Visits every sharding with the same counts.
  void permutes(const Place &place, Visit visit) const {
    for (const Place &other : all) {
      if (!other.partial.empty())
        continue;
      Place next = other;
      next.partial = place.partial;
      bool fits = true;
      std::set<int> changed;
      for (size_t d = 0; d < place.dims.size(); ++d) {
        const auto &a = place.dims[d], &b = other.dims[d];
        fits &= shards(a) == shards(b);
        for (int atom : b)
          fits &= !place.partial.count(atom);
        size_t begin = 0, endA = a.size(), endB = b.size();
        while (begin < endA && begin < endB && a[begin] == b[begin])
          ++begin;
        while (begin < endA && begin < endB && a[endA - 1] == b[endB - 1])
          --endA, --endB;
        changed.insert(a.begin() + begin, a.begin() + endA);
        changed.insert(b.begin() + begin, b.begin() + endB);
      }
      if (fits && !changed.empty())
        visit(next, time(CollectiveKind::Permute, place,
                         {changed.begin(), changed.end()}));
    }
  }

  const Case &c;
  Mesh mesh;
  const MeshLinks &links;
  std::vector<int64_t> sizes;
  std::vector<std::vector<std::pair<size_t, double>>> moves;
};

/// Plans all pairs from one in `fromEvery` shardings and compares the times;
/// executes one in `simulateEvery` plans.
void checkAll(const Case &c, const MeshLinks &links, size_t simulateEvery,
              size_t fromEvery) {
  BruteForce brute(c, links);
  const Mesh &mesh = brute.getMesh();
  std::mt19937 rng(5);
  size_t pairs = 0;
  for (auto [i, from] : llvm::enumerate(brute.all)) {
    if (i % fromEvery != 0)
      continue;
    std::map<int64_t, std::vector<double>> byCap;
    Sharding start = brute.toSharding(from);
    for (auto [j, to] : llvm::enumerate(brute.all)) {
      if (!to.partial.empty())
        continue;
      int64_t cap = std::max(brute.localSize(from), brute.localSize(to));
      auto [it, isNew] = byCap.try_emplace(cap);
      if (isNew)
        it->second = brute.solve(i, cap);
      Sharding goal = brute.toSharding(to);
      std::string text;
      llvm::raw_string_ostream os(text);
      start.print(os, mesh);
      os << " -> ";
      goal.print(os, mesh);
      ReshardPlan plan;
      if (pairs++ % simulateEvery == 0)
        ASSERT_EQ(runPlan(mesh, links, start, goal, c.shape, rng, plan), "")
            << text;
      else
        plan = planReshard(mesh, links, start, goal, c.shape, 4);
      ASSERT_EQ(plan.error, "") << text;
      ASSERT_TRUE(plan.exact) << text;
      double best = it->second[j];
      ASSERT_FALSE(std::isinf(best)) << text;
      ASSERT_FALSE(plan.exceedsEnds) << text;
      ASSERT_LE(plan.peakElements, cap) << text;
      ASSERT_NEAR(plan.time, best, 1e-9 * best + 1e-15) << text;
      double least = getLeastReshardTime(mesh, links, start, goal, c.shape, 4);
      ASSERT_LE(least, best * (1 + 1e-12)) << text;
      double bytes = 0;
      for (const ReshardStep &step : plan.steps)
        bytes += 4.0 * step.elements;
      // Time equals bytes without latency and with equal links.
      bool onlyBytes = links == MeshLinks::uniform(mesh, 0, 1);
      if (onlyBytes)
        ASSERT_NEAR(bytes, best, 1e-6 + 1e-9 * bytes) << text;
    }
  }
  testing::Test::RecordProperty("pairs", static_cast<int>(pairs));
  EXPECT_GT(pairs, 0u);
}

const Case kCases[] = {
    {{2, 2}, {{0, 1, 2}, {1, 1, 2}}, {4, 4}},
    {{2, 2}, {{0, 1, 2}, {1, 1, 2}}, {4, 4, 4}},
    {{4, 2}, {{0, 1, 2}, {0, 2, 2}, {1, 1, 2}}, {8, 8}},
    {{4, 2}, {{0, 1, 2}, {0, 2, 2}, {1, 1, 2}}, {8, 8, 8}},
    {{2, 2, 2}, {{0, 1, 2}, {1, 1, 2}, {2, 1, 2}}, {8, 8}},
    {{2, 2, 2}, {{0, 1, 2}, {1, 1, 2}, {2, 1, 2}}, {8, 8, 8}},
    {{2, 3}, {{0, 1, 2}, {1, 1, 3}}, {6, 6}},
    {{2, 3}, {{0, 1, 2}, {1, 1, 3}}, {6, 6, 6}},
};

class Exact : public testing::TestWithParam<int> {};

} // namespace

TEST_P(Exact, bytes) {
  const Case &c = kCases[GetParam()];
  checkAll(c, MeshLinks::uniform(meshOf(c.sizes), 0, 1), 11, 1);
}

TEST_P(Exact, default_links) {
  const Case &c = kCases[GetParam()];
  checkAll(c, MeshLinks::uniform(meshOf(c.sizes)), 101, 1);
}

// The major axis has links 30 times slower than the others.
TEST_P(Exact, far_axis) {
  const Case &c = kCases[GetParam()];
  Mesh mesh = meshOf(c.sizes);
  MeshLinks links = MeshLinks::uniform(mesh, 1e-7, 3e9);
  links.axes[0][0] = {c.sizes[0], 5e-7, 1e8, 1};
  checkAll(c, links, 101, c.shape.size() * 2 - 3);
}

// Nodes of a cluster with links so slow that bytes matter in addition to the
// bases of both protocols: near axes on one level, the major one over nodes.
TEST_P(Exact, cluster) {
  const Case &c = kCases[GetParam()];
  Mesh mesh = meshOf(c.sizes);
  MeshLinks links = MeshLinks::uniform(mesh, 0, 3e7);
  links.library = CollectiveConstants();
  for (auto [axis, size] : llvm::enumerate(c.sizes))
    links.axes[axis][0] = axis == 0 ? LinkSpan{size, 4.5e-6, 4e6, 1}
                                    : LinkSpan{size, 1e-6, 3e7, 0};
  checkAll(c, links, 101, c.shape.size() * 2 - 3);
}

// The major axis has two devices on each of two nodes.
TEST(ReshardPlanner, exact_with_an_axis_over_two_levels) {
  for (int number : {2, 3}) {
    const Case &c = kCases[number];
    MeshLinks links = MeshLinks::uniform(meshOf(c.sizes), 0, 3e7);
    links.library = CollectiveConstants();
    links.axes[0] = {{2, 1e-6, 3e7, 0}, {2, 4.5e-6, 4e6, 1}};
    links.axes[1][0].latency = 1e-6;
    checkAll(c, links, 101, c.shape.size() * 2 - 3);
  }
}

// Both axes of a dimension move to two others, or axes exchange dimensions:
// each of two collectives moves nearly a whole block.
TEST(ReshardPlanner, least_time_of_moves_between_several_dimensions) {
  Mesh mesh = meshOf({16, 8});
  MeshLinks links = MeshLinks::uniform(mesh);
  AxisList a{mesh.fullAxis(0)}, b{mesh.fullAxis(1)};
  AxisList both = a;
  both.append(b);
  AxisList dims[][2][3] = {{{{}, {}, both}, {a, b, {}}},
                           {{a, b, {}}, {{}, {}, both}},
                           {{a, {}, b}, {b, a, {}}},
                           {{b, a, {}}, {a, {}, b}}};
  for (const auto &[has, needs] : dims) {
    Sharding from = Sharding::replicatedOf(3), to = from;
    for (unsigned d = 0; d < 3; ++d) {
      from.dims[d].axes = has[d];
      to.dims[d].axes = needs[d];
    }
    Shape shape{256, 2048, 16384};
    double planned = planReshard(mesh, links, from, to, shape, 2).time;
    double least = getLeastReshardTime(mesh, links, from, to, shape, 2);
    EXPECT_LE(least, planned);
    EXPECT_GT(least, 0.85 * planned);
  }
}

INSTANTIATE_TEST_SUITE_P(ReshardPlanner, Exact,
                         testing::Range(0, int(std::size(kCases))));
