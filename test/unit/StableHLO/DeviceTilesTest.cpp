//===- DeviceTilesTest.cpp ------------------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/StableHLO/DeviceTiles.h"
#include "gtest/gtest.h"

using namespace tessera;
using namespace tessera::stablehlo;

namespace {

using Strides = llvm::SmallVector<AxisStride>;

TEST(DeviceTiles, replicated_has_no_dimensions) {
  auto tiles = parseTiles("{replicated}");
  ASSERT_TRUE(tiles);
  EXPECT_TRUE(tiles->dims.empty());
  EXPECT_EQ(tiles->devices, 0);
}

TEST(DeviceTiles, strides_of_dimensions_in_order_and_transposed) {
  auto tiles = parseTiles("{devices=[2,4]<=[8]}");
  ASSERT_TRUE(tiles);
  ASSERT_EQ(tiles->dims.size(), 2u);
  EXPECT_EQ(tiles->dims[0], (Strides{{4, 2}}));
  EXPECT_EQ(tiles->dims[1], (Strides{{1, 4}}));
  tiles = parseTiles("{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}");
  ASSERT_TRUE(tiles);
  ASSERT_EQ(tiles->dims.size(), 2u);
  EXPECT_EQ(tiles->dims[0], (Strides{{1, 4}}));
  EXPECT_TRUE(tiles->dims[1].empty());
  EXPECT_EQ(tiles->devices, 8);
}

TEST(DeviceTiles, a_dimension_over_two_axes) {
  auto tiles = parseTiles("{devices=[4,1,2]<=[2,2,2]T(2,0,1) "
                          "last_tile_dims={replicated}}");
  ASSERT_TRUE(tiles);
  EXPECT_EQ(tiles->dims[0], (Strides{{1, 2}, {4, 2}}));
  auto mesh = refineTiles({*tiles}, 8);
  ASSERT_TRUE(mesh);
  EXPECT_EQ(mesh->sizes, (llvm::SmallVector<int64_t, 4>{2, 2, 2}));
  EXPECT_EQ(findAxes(tiles->dims[0], *mesh),
            (AxisList{mesh->fullAxis(2), mesh->fullAxis(0)}));
}

TEST(DeviceTiles, a_list_of_devices) {
  auto tiles = parseTiles("{devices=[2,2]0,2,1,3}");
  ASSERT_TRUE(tiles);
  EXPECT_EQ(tiles->dims[0], (Strides{{1, 2}}));
  EXPECT_EQ(tiles->dims[1], (Strides{{2, 2}}));
}

TEST(DeviceTiles, the_mesh_has_all_boundaries) {
  auto four = parseTiles("{devices=[4,2]<=[8]}");
  auto two = parseTiles("{devices=[2,4]<=[8]}");
  ASSERT_TRUE(four && two);
  auto mesh = refineTiles({*four, *two}, 8);
  ASSERT_TRUE(mesh);
  EXPECT_EQ(mesh->sizes, (llvm::SmallVector<int64_t, 4>{2, 2, 2}));
  EXPECT_EQ(findAxes(four->dims[0], *mesh),
            (AxisList{mesh->fullAxis(0), mesh->fullAxis(1)}));
  EXPECT_EQ(findAxes(two->dims[0], *mesh), (AxisList{mesh->fullAxis(0)}));
}

TEST(DeviceTiles, tiles_that_do_not_nest) {
  auto first = parseTiles("{devices=[2,3]<=[6]}");
  auto second = parseTiles("{devices=[3,2]<=[6]}");
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(refineTiles({*first}, 6));
  EXPECT_FALSE(refineTiles({*first, *second}, 6));
}

TEST(DeviceTiles, other_texts_are_none) {
  for (const char *text : {"",
                           "{",
                           "{}",
                           "{manual}",
                           "{maximal device=0}",
                           "{{replicated}, {replicated}}",
                           "{devices=[2,2]<=[4]",
                           "{devices=[2,2]<=[5]}",
                           "{devices=[0]<=[0]}",
                           "{devices=[]<=[]}",
                           "{devices=[2,2]0,1,2}",
                           "{devices=[2,2]1,0,3,2}",
                           "{devices=[2,2]0,1,3,2}",
                           "{devices=[4]0,0,0,0}",
                           "{devices=[2,2]<=[2,2]T(0,0)}",
                           "{devices=[2,2]<=[2,2]T(0)}",
                           "{devices=[2,2]<=[2,2]T(1,2)}",
                           "{devices=[4]0,1,3,2}",
                           "{devices=[4294967296,4294967296]<=[4]}",
                           "{devices=[-1]<=[1]}",
                           "{devices=[99999999999999999999]<=[1]}",
                           "{devices=[2,2]<=[4] last_tile_dims={manual}}"})
    EXPECT_FALSE(parseTiles(text)) << text;
}

} // namespace
