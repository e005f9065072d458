//===- AxesTest.cpp - Mesh axes and tensor shardings ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Interfaces/Axes.h"
#include "gtest/gtest.h"

using namespace tessera;

namespace {

Mesh mesh() {
  Mesh m;
  m.names = {"x", "y", "z"};
  m.sizes = {4, 2, 8};
  return m;
}

TEST(Mesh, numbers_devices_row_major) {
  Mesh m = mesh();
  EXPECT_EQ(m.numDevices(), 64);
  EXPECT_EQ(m.axisStride(m.fullAxis(2)), (AxisStride{1, 8}));
  EXPECT_EQ(m.axisStride(m.fullAxis(0)), (AxisStride{16, 4}));
  // The major half of x changes every 32 devices, the minor half every 16.
  EXPECT_EQ(m.axisStride({0, 1, 2}), (AxisStride{32, 2}));
  EXPECT_EQ(m.axisStride({0, 2, 2}), (AxisStride{16, 2}));
}

TEST(Mesh, shard_index_is_mixed_radix) {
  Mesh m = mesh();
  AxisRef x = m.fullAxis(0), y = m.fullAxis(1);
  for (int64_t d = 0; d < m.numDevices(); ++d) {
    EXPECT_EQ(m.shardIndex(d, {x, y}), d / 8);
    EXPECT_EQ(m.shardIndex(d, {y, x}), (d / 8 % 2) * 4 + d / 16);
    // Splitting an axis and joining the sub-axes changes nothing.
    EXPECT_EQ(m.shardIndex(d, {{0, 1, 2}, {0, 2, 2}}), m.shardIndex(d, {x}));
  }
}

TEST(Mesh, group_is_ordered_by_shard_index) {
  Mesh m = mesh();
  AxisList axes{m.fullAxis(1), AxisRef{0, 1, 2}};
  for (int64_t d = 0; d < m.numDevices(); ++d) {
    auto group = m.group(d, axes);
    ASSERT_EQ(group.size(), 4u);
    for (int64_t i = 0; i < 4; ++i)
      EXPECT_EQ(m.shardIndex(group[i], axes), i);
    EXPECT_EQ(group[m.shardIndex(d, axes)], d);
  }
}

TEST(Axes, merge_adjacent_parts) {
  EXPECT_EQ(mergeAdjacent({{0, 1, 2}, {0, 2, 2}}), (AxisList{{0, 1, 4}}));
  EXPECT_EQ(mergeAdjacent({{0, 2, 2}, {0, 1, 2}}),
            (AxisList{{0, 2, 2}, {0, 1, 2}}));
}

TEST(Axes, common_prefix_splits_an_axis) {
  EXPECT_EQ(commonPrefix({{0, 1, 4}, {1, 1, 2}}, {{0, 1, 2}, {2, 1, 8}}),
            (AxisList{{0, 1, 2}}));
  EXPECT_EQ(commonPrefix({{1, 1, 2}}, {{0, 1, 4}}), AxisList());
  EXPECT_TRUE(isPrefix({{0, 1, 2}}, {{0, 1, 4}, {1, 1, 2}}));
  EXPECT_FALSE(isPrefix({{0, 2, 2}}, {{0, 1, 4}}));
  EXPECT_EQ(dropPrefix({{0, 1, 2}}, {{0, 1, 4}, {1, 1, 2}}),
            (AxisList{{0, 2, 2}, {1, 1, 2}}));
}

TEST(Axes, prefix_without_used_parts) {
  // The major half of x is free, its minor half is not.
  EXPECT_EQ(prefixWithout({{1, 1, 2}, {0, 1, 4}, {2, 1, 8}}, {{0, 2, 2}}),
            (AxisList{{1, 1, 2}, {0, 1, 2}}));
  EXPECT_EQ(prefixWithout({{0, 1, 4}}, {{0, 1, 2}}), AxisList());
  // An axis of 12 has 6 free devices if its minor 2 are used. Its major
  // sub-axis of 4 has 2 free, those that do not overlap with the minor part.
  EXPECT_EQ(prefixWithout({{0, 1, 12}}, {{0, 6, 2}}), (AxisList{{0, 1, 6}}));
  EXPECT_EQ(prefixWithout({{0, 1, 4}}, {{0, 6, 2}}), (AxisList{{0, 1, 2}}));
}

TEST(Axes, parts_of_different_splits_overlap) {
  // An axis of 6 as 2 x 3 and as 3 x 2.
  EXPECT_FALSE((AxisRef{0, 1, 2}.overlaps({0, 2, 3})));
  EXPECT_FALSE((AxisRef{0, 3, 2}.overlaps({0, 1, 3})));
  EXPECT_TRUE((AxisRef{0, 1, 2}.overlaps({0, 3, 2})));
  EXPECT_TRUE((AxisRef{0, 3, 2}.overlaps({0, 1, 2})));
  EXPECT_TRUE((AxisRef{0, 1, 4}.overlaps({0, 2, 4})));
  EXPECT_FALSE((AxisRef{0, 1, 2}.overlaps({1, 1, 2})));
}

TEST(Axes, subtract_keeps_the_remainder) {
  EXPECT_EQ(subtractAxes({{2, 1, 8}}, {{2, 2, 2}}),
            (AxisList{{2, 1, 2}, {2, 4, 2}}));
  EXPECT_EQ(subtractAxes({{0, 1, 4}, {1, 1, 2}}, {{0, 1, 4}}),
            (AxisList{{1, 1, 2}}));
  EXPECT_FALSE(subtractAxes({{0, 1, 2}}, {{0, 1, 4}}));
}

TEST(Axes, drop_suffix_and_split) {
  EXPECT_EQ(dropSuffix({{1, 1, 2}, {0, 1, 4}}, {{0, 2, 2}}),
            (AxisList{{1, 1, 2}, {0, 1, 2}}));
  EXPECT_FALSE(dropSuffix({{1, 1, 2}, {0, 1, 4}}, {{1, 1, 2}}));
  auto parts = splitAt({{0, 1, 4}, {1, 1, 2}}, 2);
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->first, (AxisList{{0, 1, 2}}));
  EXPECT_EQ(parts->second, (AxisList{{0, 2, 2}, {1, 1, 2}}));
  EXPECT_FALSE(splitAt({{0, 1, 4}}, 3));
}

TEST(Sharding, same_placement_ignores_the_order_of_partial_axes) {
  Sharding a = Sharding::replicatedOf(1), b = a;
  a.unreduced = {{0, 1, 4}, {1, 1, 2}};
  b.unreduced = {{1, 1, 2}, {0, 1, 4}};
  EXPECT_TRUE(a.samePlacement(b));
  b.reduction = ReductionKind::Max;
  EXPECT_FALSE(a.samePlacement(b));
}

TEST(Sharding, prints_as_the_attribute_does) {
  Mesh m = mesh();
  Sharding s = Sharding::replicatedOf(2);
  s.dims[0].axes = {{0, 1, 2}};
  s.dims[1].open = true;
  s.unreduced = {m.fullAxis(1)};
  s.reduction = ReductionKind::Max;
  std::string text;
  llvm::raw_string_ostream os(text);
  s.print(os, m);
  EXPECT_EQ(text, "[{\"x\":(1)2}, {?}], unreduced={\"y\"} max");
}

} // namespace
