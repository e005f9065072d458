//===- PlacementTest.cpp - Placement of device groups on a cluster --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cluster/Placement.h"
#include "tessera/Cluster/ClusterSpec.h"
#include "tessera/Cluster/CollectiveTime.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <map>
#include <random>

using namespace tessera;

namespace {

constexpr double kNear = 1e-6, kFar = 6e-6;
constexpr double kNearRate = 400e9, kFarRate = 40e9;

/// Nodes of 8, near links of 400 GB/s, far ones of 40 GB/s.
ClusterSpec twoLevels() {
  ClusterSpec spec;
  spec.levels.resize(2);
  for (auto [level, devices, latency, rate] :
       {std::tuple(0, 8, kNear, kNearRate),
        std::tuple(1, 4096, kFar, kFarRate)}) {
    spec.levels[level].devices = devices;
    spec.levels[level].latency.value = latency;
    spec.levels[level].bandwidth.value = rate;
    spec.levels[level].efficiency.value = 1;
  }
  return spec;
}

Mesh mesh(llvm::ArrayRef<int64_t> sizes) {
  Mesh mesh;
  for (int64_t size : sizes) {
    mesh.names.push_back(std::string(1, char('a' + mesh.names.size())));
    mesh.sizes.push_back(size);
  }
  return mesh;
}

LinkSpans spansOf(llvm::ArrayRef<int64_t> sizes,
                  llvm::ArrayRef<unsigned> axes) {
  Mesh m = mesh(sizes);
  std::vector<AxisRef> group;
  for (unsigned axis : axes)
    group.push_back(m.fullAxis(axis));
  return makeMeshLinks(twoLevels(), m).spansOf(m, group);
}

TEST(Placement, a_group_of_any_size_inside_a_node_stays_inside) {
  for (int64_t size = 2; size <= 8; ++size) {
    LinkSpans inside({LinkSpan{size, kNear, kNearRate, 0}});
    std::vector<int64_t> devices;
    for (int64_t i = 8 - size; i < 8; ++i)
      devices.push_back(i);
    EXPECT_EQ(placeDevices(twoLevels(), devices), inside);
    // Several groups at once: one group in each node.
    EXPECT_EQ(spansOf({size, 8}, {1}),
              LinkSpans({LinkSpan{8, kNear, kNearRate, 0}}));
  }
}

TEST(Placement, the_worst_of_straddling_groups_counts) {
  // On nodes of 8, the groups of 6 have 6, 2 + 4, 4 + 2 and 6 devices per node:
  // a ring crosses one far link and four near ones, and two devices use the far
  // links.
  LinkSpans spans = spansOf({4, 6}, {1});
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].size, 6);
  EXPECT_EQ(spans[0].level, 1u);
  EXPECT_NEAR(spans[0].latency * 5, kFar + 4 * kNear, 1e-12);
  EXPECT_DOUBLE_EQ(spans[0].bandwidth, kFarRate);
  EXPECT_DOUBLE_EQ(spans[0].parallel, 2);
  // The groups along the outer axis: 0, 6, 12, 18 are in three nodes.
  LinkSpans outer = spansOf({4, 6}, {0});
  ASSERT_EQ(outer.size(), 1u);
  EXPECT_NEAR(outer[0].latency * 3, 2 * kFar + kNear, 1e-12);
  EXPECT_DOUBLE_EQ(outer[0].parallel, 1);
  // Both axes: 24 devices fill three nodes evenly.
  EXPECT_EQ(spansOf({4, 6}, {0, 1}),
            LinkSpans({LinkSpan{8, kNear, kNearRate, 0},
                       LinkSpan{3, kFar, kFarRate, 1}}));
}

TEST(Placement, half_empty_nodes_are_even) {
  std::vector<int64_t> devices;
  for (int64_t node : {0, 1, 2})
    for (int64_t device = 0; device < 5; ++device)
      devices.push_back(node * 8 + device);
  EXPECT_EQ(placeDevices(twoLevels(), devices),
            LinkSpans({LinkSpan{5, kNear, kNearRate, 0},
                       LinkSpan{3, kFar, kFarRate, 1}}));
}

TEST(Placement, a_job_over_domains_of_72_takes_64_of_each) {
  ClusterSpec spec = twoLevels();
  spec.levels[0].devices = 72;
  spec.levels[0].segment = 64;
  auto spans = [&](llvm::ArrayRef<int64_t> sizes) {
    Mesh m = mesh(sizes);
    return makeMeshLinks(spec, m).spansOf(m, {m.fullAxis(0)});
  };
  EXPECT_EQ(spans({32, 8}), LinkSpans({LinkSpan{8, kNear, kNearRate, 0},
                                       LinkSpan{4, kFar, kFarRate, 1}}));
  // Whole domains, and jobs inside one domain.
  EXPECT_EQ(spans({18, 8}), LinkSpans({LinkSpan{9, kNear, kNearRate, 0},
                                       LinkSpan{2, kFar, kFarRate, 1}}));
  EXPECT_EQ(spans({9, 8}), LinkSpans({LinkSpan{9, kNear, kNearRate, 0}}));
}

TEST(Placement, a_lone_device_has_a_share_of_its_link) {
  ClusterSpec spec = twoLevels();
  spec.levels[1].alone.value = 0.8;
  EXPECT_EQ(placeDevices(spec, {0, 8, 16}),
            LinkSpans({LinkSpan{3, kFar, 0.8 * kFarRate, 1}}));
  EXPECT_EQ(placeDevices(spec, {0, 1, 8, 9}),
            LinkSpans({LinkSpan{2, kNear, kNearRate, 0},
                       LinkSpan{2, kFar, kFarRate, 1}}));
}

/// Seconds of a ring all-gather, from device numbers alone.
double ringSeconds(const Mesh &m, llvm::ArrayRef<AxisRef> group, double bytes) {
  double latency = 0, rate = INFINITY;
  for (int64_t device = 0; device < m.numDevices(); ++device) {
    std::map<int64_t, int64_t> perNode;
    for (int64_t member : m.group(device, group))
      ++perNode[member / 8];
    auto nodes = static_cast<double>(perNode.size());
    double ranks = 0;
    for (auto [node, count] : perNode) {
      ranks += double(count);
      if (perNode.size() > 1)
        rate = std::min(rate, kFarRate * double(count));
      if (count > 1)
        rate = std::min(rate, kNearRate);
    }
    latency = std::max(latency, (nodes - 1) * kFar + (ranks - nodes) * kNear);
  }
  double ranks = double(numShards(group));
  return latency + (ranks - 1) / ranks * bytes / rate;
}

TEST(Placement, agrees_with_device_numbers_for_every_order_of_axes) {
  std::mt19937 random(7);
  const int64_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 12};
  for (int trial = 0; trial < 60; ++trial) {
    std::vector<int64_t> axes(3);
    for (int64_t &size : axes)
      size = sizes[random() % std::size(sizes)];
    std::sort(axes.begin(), axes.end());
    do {
      Mesh m = mesh(axes);
      MeshLinks links = makeMeshLinks(twoLevels(), m);
      for (unsigned mask = 1; mask < 8; ++mask) {
        std::vector<AxisRef> group;
        for (unsigned axis = 0; axis < 3; ++axis)
          if (mask >> axis & 1)
            group.push_back(m.fullAxis(axis));
        if (numShards(group) == 1)
          continue;
        double seconds = getTensorCollectiveTime(
            CollectiveKind::AllGather, 1e6, links.spansOf(m, group),
            CollectiveConstants::simple(0));
        double expected = ringSeconds(m, group, 1e6);
        EXPECT_NEAR(seconds, expected, 1e-9 * expected)
            << axes[0] << " " << axes[1] << " " << axes[2] << " mask " << mask;
      }
    } while (std::next_permutation(axes.begin(), axes.end()));
  }
}

TEST(Placement, sub_axes_of_uneven_axes) {
  // 2 x 12 devices: the minor 6 of the inner axis straddle nodes, its minor 2
  // do not.
  Mesh m = mesh({2, 12});
  MeshLinks links = makeMeshLinks(twoLevels(), m);
  EXPECT_EQ(links.spansOf(m, {AxisRef{1, 6, 2}}),
            LinkSpans({LinkSpan{2, kNear, kNearRate, 0}}));
  LinkSpans six = links.spansOf(m, {AxisRef{1, 2, 6}});
  ASSERT_EQ(six.size(), 1u);
  EXPECT_EQ(six[0].level, 1u);
}

TEST(Placement, an_all_to_all_sends_what_leaves_the_smallest_share) {
  // 2 devices in one node and 4 in another: each of the two sends to the four
  // others over its own far link.
  LinkSpans spans = placeDevices(twoLevels(), {6, 7, 8, 9, 10, 11});
  EXPECT_NEAR(getTensorCollectiveTime(CollectiveKind::AllToAll, 6e9, spans,
                                      CollectiveConstants::simple(0)),
              4e9 / kFarRate, 1e-4);
}

} // namespace
