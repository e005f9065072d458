//===- BoxesTest.cpp - Tests of the boxes of checkpoints ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The boxes of a rank's block are what ShardRuns lists, in values with drawn
// shapes: padded, with dimensions that merge or split logical ones, with tiles
// and with an order. ShardRuns is what fills and gathers blocks.
//
//===----------------------------------------------------------------------===//

#include "runtime/src/checkpoint/Boxes.h"
#include "runtime/src/data/ShardRuns.h"

#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace tessera::rt;

namespace {

/// Draws values on a mesh of 2 x 3 x 2 ranks.
class Values {
public:
  static constexpr int ranks = 12;

  explicit Values(unsigned seed) : random(seed) {}

  int64_t draw(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }

  Value next() {
    Value value;
    value.dtype = TESSERA_RT_F32;
    switch (draw(0, 3)) {
    case 0:
      drawShape(value);
      break;
    case 1:
      drawOrder(value);
      break;
    case 2:
      drawTiles(value);
      break;
    default:
      drawRegrouped(value);
    }
    shard(value);
    return value;
  }

private:
  void drawShape(Value &value) {
    for (int64_t d = draw(0, 3); d > 0; --d)
      value.shape.push_back(draw(1, 7));
    value.logicalShape = value.shape;
  }

  void drawOrder(Value &value) {
    value.order.resize(size_t(draw(1, 3)));
    for (std::vector<int64_t> &order : value.order) {
      int64_t chunks = draw(0, 1) * draw(2, 4);
      for (int64_t i = 0; i < chunks; ++i)
        order.push_back(i);
      std::shuffle(order.begin(), order.end(), random);
      value.shape.push_back(draw(1, 3) * std::max<int64_t>(chunks, 1));
    }
    value.logicalShape = value.shape;
  }

  void drawTiles(Value &value) {
    int64_t elements = 1;
    for (int64_t d = draw(1, 3); d > 0; --d) {
      int64_t tiles = draw(0, 1) * draw(1, 2) + 1, extent = draw(1, 4);
      value.tiles.push_back(tiles);
      value.logicalShape.push_back(tiles * extent);
      elements *= extent;
      if (tiles > 1)
        value.shape.push_back(tiles);
    }
    value.shape.push_back(elements);
  }

  /// The same number of elements in other dimensions.
  void drawRegrouped(Value &value) {
    std::vector<int64_t> primes;
    for (int64_t i = draw(1, 5); i > 0; --i)
      primes.push_back(draw(0, 1) ? 2 : 3);
    for (std::vector<int64_t> *shape : {&value.shape, &value.logicalShape}) {
      shape->push_back(1);
      for (int64_t prime : primes) {
        if (draw(0, 1))
          shape->push_back(1);
        shape->back() *= prime;
      }
    }
  }

  /// Shards some dimensions over axes that no other dimension has.
  void shard(Value &value) {
    std::vector<StridedAxis> axes = {{6, 2}, {2, 3}, {1, 2}};
    std::shuffle(axes.begin(), axes.end(), random);
    value.paddedShape = value.shape;
    value.localShape = value.shape;
    value.sharding.resize(value.shape.size());
    for (size_t d = 0; d < value.shape.size(); ++d) {
      int64_t shards = 1;
      while (!axes.empty() && draw(0, 2) == 0) {
        shards *= axes.back().size;
        value.sharding[d].push_back(axes.back());
        axes.pop_back();
      }
      int64_t local = (value.shape[d] + shards - 1) / shards + draw(0, 4) / 4;
      value.localShape[d] = shards == 1 ? value.shape[d] : local;
      value.paddedShape[d] = value.localShape[d] * shards;
    }
    value.bytes = value.localElements() * 4;
  }

  std::mt19937 random;
};

/// Logical elements with their places in a block.
using Places = std::map<int64_t, int64_t>;

static Places placesOfRuns(const Value &value, int rank) {
  Places places;
  ShardRuns runs(value, rank);
  for (int64_t i = 0; i < runs.size(); ++i)
    for (int64_t j = 0; j < runs[i].length; ++j)
      places[runs[i].global + j] = runs[i].local + j;
  return places;
}

/// Adds the elements of a box; a repeated one is an error.
static void addPlaces(const Value &value, const Box &box, Places &places) {
  for (int64_t i = 0, e = box.elements(); i < e; ++i) {
    int64_t rest = i, local = box.local, global = 0, stride = 1;
    for (size_t d = box.extent.size(); d-- > 0; rest /= box.extent[d]) {
      int64_t at = rest % box.extent[d];
      local += at * box.strides[d];
      global += (box.offset[d] + at) * stride;
      stride *= value.logicalShape[d];
    }
    EXPECT_TRUE(places.insert({global, local}).second);
  }
}

TEST(boxes, areWhatRunsList) {
  Values values(1);
  int64_t several = 0;
  for (int i = 0; i < 10000; ++i) {
    Value value = values.next();
    int rank = int(values.draw(0, Values::ranks - 1));
    std::vector<Box> boxes = boxesOf(value, rank);
    several += boxes.size() > 1;
    Places places;
    for (const Box &box : boxes)
      addPlaces(value, box, places);
    ASSERT_EQ(places, placesOfRuns(value, rank)) << "value " << i;
  }
  EXPECT_GT(several, 1000);
}

TEST(boxes, areWrittenOnce) {
  Values values(2);
  for (int i = 0; i < 1000; ++i) {
    Value value = values.next();
    std::vector<std::vector<Box>> dealt = dealBoxes(value, Values::ranks);
    Places all;
    for (int rank = 0; rank < Values::ranks; ++rank) {
      Places own, block = placesOfRuns(value, rank);
      int64_t row = 1, holders = 0;
      for (const Box &box : dealt[size_t(rank)]) {
        addPlaces(value, box, own);
        addPlaces(value, box, all);
      }
      for (const Box &box : boxesOf(value, rank))
        if (box.extent.size() > 1)
          row = std::max(row, box.extent.back());
      for (int other = 0; other < Values::ranks; ++other)
        holders += blockIndices(value, other) == blockIndices(value, rank);
      // Its share of the block, and at most a row.
      EXPECT_LE(int64_t(own.size()),
                (int64_t(block.size()) + holders - 1) / holders + row);
      for (auto [global, local] : own)
        EXPECT_EQ(block.at(global), local);
    }
    EXPECT_EQ(int64_t(all.size()), value.elements()) << "value " << i;
  }
}

TEST(boxes, ofRangesAreFew) {
  Box box;
  box.offset = {0, 0, 0};
  box.extent = {3, 4, 5};
  box.strides = {20, 5, 1};
  for (int64_t begin = 0; begin < 60; ++begin)
    for (int64_t end = begin; end <= 60; ++end) {
      std::vector<Box> boxes = cutBox(box, begin, end);
      EXPECT_LE(boxes.size(), 5u);
      int64_t at = begin;
      for (const Box &part : boxes) {
        EXPECT_EQ(part.local, at);
        at += part.elements();
      }
      EXPECT_EQ(at, end);
    }
}

TEST(boxes, areCopiedInOrder) {
  Values values(3);
  for (int i = 0; i < 300; ++i) {
    Value value = values.next();
    std::vector<int32_t> block(size_t(value.localElements()));
    for (size_t j = 0; j < block.size(); ++j)
      block[j] = int32_t(j);
    for (const Box &box : boxesOf(value, 0)) {
      Places places;
      addPlaces(value, box, places);
      std::vector<int32_t> out(size_t(box.elements()));
      copyBox(box, 4, reinterpret_cast<const uint8_t *>(block.data()),
              reinterpret_cast<uint8_t *>(out.data()));
      std::vector<int64_t> listed;
      int64_t half = box.elements() / 2;
      for (auto [begin, count] : {std::pair<int64_t, int64_t>(0, half),
                                  {half, box.elements() - half}})
        forEachRun(box, begin, count, [&](int64_t from, int64_t length) {
          EXPECT_GT(length, 0);
          while (length-- > 0)
            listed.push_back(from++);
        });
      ASSERT_EQ(listed.size(), out.size());
      size_t at = 0;
      for (auto [global, local] : places) {
        EXPECT_EQ(listed[at], local);
        EXPECT_EQ(out[at++], local);
      }
    }
  }
}

} // namespace
