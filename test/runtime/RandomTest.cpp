//===- RandomTest.cpp - Random numbers and blocks of values ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares the generator with a published test vector, and checks the
// distributions, independence of instruction set and sharding, and the map from
// blocks to global elements.
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include "runtime/src/data/ShardRuns.h"
#include "runtime/src/kernels/CpuKernels.h"
#include "runtime/src/support/Random.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace tessera::rt;

/// The zero counter and key of Random123's known answers for Philox4x32-10.
TEST(random, philox_known_answer) {
  const uint32_t words[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  float values[4];
  cpuKernels().uniform(0, 0, 4, 0.0f, 1.0f, values);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(values[i], float(words[i] >> 8) * 0x1p-24f);
}

TEST(random, normal_distribution) {
  const int64_t count = 1 << 18;
  std::vector<float> values(count);
  cpuKernels().normal(randomKey(1, "w"), 0, count, 0.0f, 1.0f, values.data());
  double sums[5] = {};
  int64_t beyond2 = 0;
  for (float x : values) {
    double power = 1;
    for (double &sum : sums) {
      sum += power / double(count);
      power *= double(x);
    }
    beyond2 += std::fabs(x) > 2;
  }
  // Bounds are six standard errors of each moment.
  EXPECT_NEAR(sums[1], 0, 6 / std::sqrt(double(count)));
  EXPECT_NEAR(sums[2], 1, 6 * std::sqrt(2.0 / double(count)));
  EXPECT_NEAR(sums[3], 0, 6 * std::sqrt(15.0 / double(count)));
  EXPECT_NEAR(sums[4], 3, 6 * std::sqrt(96.0 / double(count)));
  EXPECT_NEAR(double(beyond2) / double(count), 0.0455, 0.0025);
}

TEST(random, any_part_of_a_stream_is_the_same) {
  std::vector<float> whole(1000), part(1000);
  cpuKernels().normal(7, 12345, 1000, 0.5f, 2.0f, whole.data());
  for (int64_t first : {0, 1, 3, 255, 256, 257, 998}) {
    cpuKernels().normal(7, 12345 + first, 1000 - first, 0.5f, 2.0f,
                        part.data());
    EXPECT_EQ(
        memcmp(&whole[size_t(first)], part.data(), size_t(1000 - first) * 4),
        0);
  }
}

namespace tessera::rt::baseline {
extern const CpuKernels table;
} // namespace tessera::rt::baseline

TEST(random, same_bits_on_all_instruction_sets) {
  std::vector<float> here(100000), there(100000);
  cpuKernels().normal(9, 3, 100000, 0.0f, 0.02f, here.data());
  baseline::table.normal(9, 3, 100000, 0.0f, 0.02f, there.data());
  EXPECT_EQ(memcmp(here.data(), there.data(), here.size() * 4), 0);
}

TEST(random, keys_differ) {
  EXPECT_NE(randomKey(0, "a"), randomKey(0, "b"));
  EXPECT_NE(randomKey(0, "a"), randomKey(1, "a"));
}

namespace {
/// A value sharded over dp=2 (stride 4) and tp=4 (stride 1) in various ways.
Value makeValue(std::vector<int64_t> shape, std::vector<int64_t> padded,
                std::vector<std::vector<StridedAxis>> sharding) {
  Value value;
  value.name = "v";
  value.shape = std::move(shape);
  value.paddedShape = std::move(padded);
  value.sharding = std::move(sharding);
  value.localShape = value.paddedShape;
  for (size_t d = 0; d < value.localShape.size(); ++d)
    value.localShape[d] /=
        getAxesSize(value.sharding[d].data(), value.sharding[d].size());
  return value;
}

/// The position in the stored shape of an element of the logical one.
int64_t toStored(const Value &value, int64_t logical) {
  int64_t tile = 0, within = 0, tiles = 1, extents = 1;
  for (size_t d = value.tiles.size(); d-- > 0;) {
    int64_t extent = value.logicalShape[d] / value.tiles[d];
    int64_t at = logical % value.logicalShape[d];
    logical /= value.logicalShape[d];
    tile += at / extent * tiles;
    within += at % extent * extents;
    tiles *= value.tiles[d];
    extents *= extent;
  }
  if (!value.tiles.empty())
    return tile * extents + within;
  int64_t stored = logical, stride = 1;
  for (size_t d = value.order.size(); d-- > 0; stride *= value.shape[d]) {
    const std::vector<int64_t> &order = value.order[d];
    if (order.empty())
      continue;
    int64_t size = value.shape[d] / int64_t(order.size());
    int64_t chunk = logical / stride % value.shape[d] / size;
    int64_t at = std::find(order.begin(), order.end(), chunk) - order.begin();
    stored += (at - chunk) * size * stride;
  }
  return stored;
}

void checkCover(const Value &value) {
  std::vector<int> seen(size_t(value.elements()), 0);
  for (int owner : blockOwners(value, 8)) {
    ShardRuns runs(value, owner);
    for (int64_t i = 0; i < runs.size(); ++i) {
      ShardRuns::Run run = runs[i];
      if (value.tiles.empty() && value.order.empty()) {
        ASSERT_GT(run.length, 0);
      }
      ASSERT_LE(run.local + run.length, value.localElements());
      for (int64_t x = 0; x < run.length; ++x) {
        ASSERT_LT(run.global + x, value.elements());
        ++seen[size_t(run.global + x)];
        // The element's position in the block follows from its global index.
        int64_t global = toStored(value, run.global + x), local = 0, stride = 1;
        for (size_t d = value.shape.size(); d-- > 0;) {
          int64_t at = global % value.shape[d];
          global /= value.shape[d];
          at -= value.localShape[d] * getBlockIndex(value.sharding[d].data(),
                                                    value.sharding[d].size(),
                                                    owner);
          local += at * stride;
          stride *= value.localShape[d];
        }
        ASSERT_EQ(local, run.local + x);
      }
    }
  }
  for (int times : seen)
    ASSERT_EQ(times, 1);
}
} // namespace

TEST(blocks, owners_cover_each_element_once) {
  StridedAxis dp{4, 2}, tp{1, 4}, tpMajor{2, 2}, tpMinor{1, 2};
  checkCover(makeValue({5, 7}, {5, 7}, {{}, {}}));
  checkCover(makeValue({5, 7}, {6, 8}, {{dp}, {tp}}));
  checkCover(makeValue({5, 7}, {8, 8}, {{tp, dp}, {}}));
  checkCover(makeValue({5, 7, 3}, {6, 8, 3}, {{tpMajor}, {tpMinor, dp}, {}}));
  checkCover(makeValue({5, 7, 3}, {5, 7, 4}, {{}, {}, {tpMinor}}));
  checkCover(makeValue({}, {}, {}));
  checkCover(makeValue({1, 200000}, {1, 200000}, {{}, {dp}}));
  // Chunks in another order: of a sharded dimension, of two dimensions, and of
  // one in long runs.
  Value ordered = makeValue({3, 16, 2}, {3, 16, 2}, {{}, {tp}, {}});
  ordered.order = {{}, {0, 7, 1, 6, 2, 5, 3, 4}, {}};
  checkCover(ordered);
  ordered = makeValue({4, 8}, {4, 8}, {{dp}, {tp}});
  ordered.order = {{1, 0}, {0, 3, 1, 2}};
  checkCover(ordered);
  ordered = makeValue({2, 200000, 3}, {2, 200000, 3}, {{}, {dp}, {}});
  ordered.order = {{}, {0, 3, 1, 2}, {}};
  checkCover(ordered);
  // There is so much padding that the last blocks are empty.
  checkCover(makeValue({3}, {8}, {{dp, tp}}));
}

TEST(blocks, owners_cover_each_element_of_tiles_once) {
  StridedAxis dp{4, 2}, tp{1, 4}, tpMajor{2, 2}, tpMinor{1, 2};
  auto check = [](std::vector<int64_t> logical, std::vector<int64_t> tiles,
                  Value value) {
    value.logicalShape = std::move(logical);
    value.tiles = std::move(tiles);
    checkCover(value);
  };
  check({5, 8, 3}, {1, 4, 1}, makeValue({4, 30}, {4, 30}, {{tp}, {dp}}));
  check({5, 4, 3}, {1, 4, 1}, makeValue({4, 15}, {4, 16}, {{tp}, {dp}}));
  check({3, 4, 3, 2}, {1, 2, 1, 2},
        makeValue({2, 2, 18}, {2, 2, 20}, {{tpMajor}, {tpMinor}, {dp}}));
  // Rows that are longer than runs, and blocks that are only padding.
  check({3, 280002}, {1, 2},
        makeValue({2, 420003}, {2, 420004}, {{tpMajor}, {dp}}));
  check({3, 8}, {1, 4}, makeValue({4, 6}, {4, 14}, {{tp}, {dp}}));
}
