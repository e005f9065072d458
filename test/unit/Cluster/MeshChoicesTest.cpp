//===- MeshChoicesTest.cpp - Meshes of a number of devices ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cluster/MeshChoices.h"
#include "gtest/gtest.h"

using namespace tessera;

namespace {

/// 64 devices in nodes of `node`.
ClusterSpec makeCluster(int64_t node) {
  ClusterSpec spec;
  spec.levels.resize(2);
  spec.levels[0].devices = node;
  spec.levels[1].devices = 64;
  return spec;
}

std::vector<std::vector<int64_t>> getSizes(int64_t node, int64_t devices) {
  std::vector<std::vector<int64_t>> all;
  for (const Mesh &mesh : listMeshes(makeCluster(node), devices)) {
    EXPECT_EQ(mesh.names.size(), mesh.sizes.size());
    EXPECT_EQ(mesh.numDevices(), devices);
    all.emplace_back(mesh.sizes.begin(), mesh.sizes.end());
  }
  return all;
}

} // namespace

TEST(MeshChoices, all_pairs_in_a_node) {
  EXPECT_EQ(getSizes(8, 6),
            (std::vector<std::vector<int64_t>>{{6}, {3, 2}, {2, 3}}));
  EXPECT_EQ(getSizes(8, 8),
            (std::vector<std::vector<int64_t>>{{8}, {4, 2}, {2, 4}}));
}

TEST(MeshChoices, axes_do_not_straddle_nodes) {
  EXPECT_EQ(getSizes(8, 48),
            (std::vector<std::vector<int64_t>>{
                {48}, {24, 2}, {12, 4}, {6, 8}, {3, 16}, {2, 24}}));
  EXPECT_EQ(getSizes(4, 12),
            (std::vector<std::vector<int64_t>>{{12}, {6, 2}, {3, 4}}));
}

TEST(MeshChoices, one_device_and_primes_have_one_axis) {
  EXPECT_EQ(getSizes(8, 1), (std::vector<std::vector<int64_t>>{{1}}));
  EXPECT_EQ(getSizes(8, 7), (std::vector<std::vector<int64_t>>{{7}}));
}
