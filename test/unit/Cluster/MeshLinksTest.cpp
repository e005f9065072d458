//===- MeshLinksTest.cpp - The links under the axes of a mesh -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cluster/MeshLinks.h"
#include "tessera/Cluster/ClusterSpec.h"
#include "gtest/gtest.h"

using namespace tessera;

namespace {

/// 4 nodes of 8: near links of 400 GB/s, far ones of 50 GB/s at 80 %.
ClusterSpec twoLevels() {
  ClusterSpec spec;
  spec.levels.resize(2);
  spec.levels[0].devices = 8;
  spec.levels[0].latency.value = 1e-6;
  spec.levels[0].bandwidth.value = 400e9;
  spec.levels[0].efficiency.value = 1;
  spec.levels[1].devices = 32;
  spec.levels[1].latency.value = 6e-6;
  spec.levels[1].bandwidth.value = 50e9;
  spec.levels[1].efficiency.value = 0.8;
  return spec;
}

Mesh mesh(std::initializer_list<int64_t> sizes) {
  Mesh mesh;
  for (int64_t size : sizes) {
    mesh.names.push_back(std::string(1, char('a' + mesh.names.size())));
    mesh.sizes.push_back(size);
  }
  return mesh;
}

const LinkSpan kNear2{2, 1e-6, 400e9, 0};
const LinkSpan kNear4{4, 1e-6, 400e9, 0};
const LinkSpan kFar4{4, 6e-6, 40e9, 1};

TEST(MeshLinks, inner_axes_lie_on_near_links) {
  MeshLinks links = makeMeshLinks(twoLevels(), mesh({8, 4}));
  EXPECT_EQ(links.axes[1], LinkSpans({kNear4}));
  EXPECT_EQ(links.axes[0], LinkSpans({kNear2, kFar4}));
}

TEST(MeshLinks, an_axis_over_nodes_lies_on_far_links) {
  MeshLinks links = makeMeshLinks(twoLevels(), mesh({4, 1, 8}));
  EXPECT_EQ(links.axes[0], LinkSpans({kFar4}));
  EXPECT_TRUE(links.axes[1].empty());
}

TEST(MeshLinks, a_mesh_inside_a_node_lies_on_near_links) {
  for (int64_t size : {2, 3, 4, 5, 6, 7, 8})
    EXPECT_EQ(makeMeshLinks(twoLevels(), mesh({size})).axes[0],
              LinkSpans({LinkSpan{size, 1e-6, 400e9, 0}}))
        << size;
  // 2 x 3 devices: both axes.
  MeshLinks links = makeMeshLinks(twoLevels(), mesh({2, 3}));
  EXPECT_EQ(links.axes[0], LinkSpans({kNear2}));
  EXPECT_EQ(links.axes[1], LinkSpans({LinkSpan{3, 1e-6, 400e9, 0}}));
}

TEST(MeshLinks, parts_of_axes) {
  Mesh m = mesh({8, 4});
  MeshLinks links = makeMeshLinks(twoLevels(), m);
  // The major part of 4 of the outer axis spans nodes, the minor part of 2 is
  // inside one.
  EXPECT_EQ(links.spansOf(m, {AxisRef{0, 1, 4}}), LinkSpans({kFar4}));
  EXPECT_EQ(links.spansOf(m, {AxisRef{0, 4, 2}}), LinkSpans({kNear2}));
  LinkSpan two = kFar4;
  two.size = 2;
  EXPECT_EQ(links.spansOf(m, {AxisRef{0, 1, 2}}), LinkSpans({two}));
  EXPECT_EQ(links.spansOf(m, {AxisRef{0, 2, 2}}), LinkSpans({two}));
  EXPECT_EQ(links.spansOf(m, {AxisRef{0, 2, 4}}), LinkSpans({kNear2, two}));
  LinkSpan all = kNear4;
  all.size = 8;
  EXPECT_EQ(links.spansOf(m, {m.fullAxis(0), m.fullAxis(1)}),
            LinkSpans({all, kFar4}));
}

TEST(MeshLinks, without_a_switch_a_part_has_part_of_the_links) {
  ClusterSpec spec = twoLevels();
  spec.levels[0].algorithms = {"direct"};
  MeshLinks links = makeMeshLinks(spec, mesh({4, 4, 2}));
  EXPECT_NEAR(links.axes[2][0].bandwidth, 400e9 / 7, 1);
  EXPECT_NEAR(links.axes[1][0].bandwidth, 400e9 * 3 / 7, 1);
}

TEST(MeshLinks, uniform) {
  Mesh m = mesh({2, 4});
  MeshLinks links = MeshLinks::uniform(m, 1e-6, 10e9);
  EXPECT_EQ(links.spansOf(m, {m.fullAxis(0), m.fullAxis(1)}),
            LinkSpans({LinkSpan{8, 0, 10e9, 0}}));
  EXPECT_EQ(links.library, CollectiveConstants::simple(1e-6));
}

} // namespace
