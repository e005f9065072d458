//===- ReshardPricesTest.cpp - Prices of equal moves ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/ShardingSearch/ReshardPrices.h"
#include "tessera/Search/CostNetwork.h"
#include "gtest/gtest.h"
#include <random>

using namespace tessera;

namespace {

/// Axes of 2 and 4 devices with different links.
struct Devices {
  Mesh mesh{{"a", "b"}, {2, 4}};
  MeshLinks links;

  Devices() {
    links.axes.push_back({{2, 1e-5, 1e10, 1}});
    links.axes.push_back({{4, 1e-6, 1e11, 0}});
  }
};

} // namespace

/// A sharding of two dimensions with each axis on one of them, on none, or
/// partial.
static Sharding draw(std::mt19937 &rng, const Mesh &mesh, bool mayBePartial) {
  Sharding sharding = Sharding::replicatedOf(2);
  for (unsigned axis = 0; axis < 2; ++axis) {
    unsigned where = rng() % (mayBePartial ? 4 : 3);
    if (where < 2)
      sharding.dims[where].axes.push_back(mesh.fullAxis(axis));
    else if (where == 3)
      sharding.unreduced.push_back(mesh.fullAxis(axis));
  }
  return sharding;
}

static int64_t plan(ReshardPrices &prices, const Sharding &from,
                    const Sharding &to, llvm::ArrayRef<int64_t> shape) {
  unsigned a = prices.number(from), b = prices.number(to);
  unsigned size = prices.numberShape(shape, 4);
  prices.plan(a, b, size);
  return prices.getPrice(a, b, size);
}

TEST(ReshardPrices, MovesThatLookAlikeTakeAsLong) {
  Devices devices;
  // No chunks are reordered for a collective, which would depend on the
  // dimension.
  WorkRates rates = kGpuRates;
  rates.transferShare = 1;
  ReshardPrices shared(devices.mesh, devices.links, rates);
  std::mt19937 rng(1);
  size_t moves = 0;
  for (int i = 0; i < 400; ++i) {
    Sharding from = draw(rng, devices.mesh, /*mayBePartial=*/true);
    Sharding to = draw(rng, devices.mesh, /*mayBePartial=*/false);
    // 3 and 6 are padded to a size that the shards divide.
    int64_t sizes[] = {3, 6, 8, 16, 64, 96};
    int64_t shape[] = {sizes[rng() % 6], sizes[rng() % 6]};
    ReshardPrices alone(devices.mesh, devices.links, rates);
    int64_t price = plan(alone, from, to, shape);
    EXPECT_EQ(plan(shared, from, to, shape), price) << i;
    EXPECT_LT(price, search::kInfinite) << i;
    std::swap(from.dims[0], from.dims[1]);
    std::swap(to.dims[0], to.dims[1]);
    std::swap(shape[0], shape[1]);
    EXPECT_EQ(plan(shared, from, to, shape), price) << i;
    moves += price > 0;
  }
  EXPECT_GT(moves, 200u);
}

TEST(ReshardPrices, AnAxisWithFarLinksTakesLonger) {
  Devices devices;
  ReshardPrices prices(devices.mesh, devices.links, kGpuRates);
  EXPECT_TRUE(prices.hasFarLinks());
  Sharding near = Sharding::replicatedOf(2), far = near, whole = near;
  far.dims[0].axes.push_back(devices.mesh.fullAxis(0));
  near.dims[0].axes.push_back(devices.mesh.fullAxis(1));
  EXPECT_GT(plan(prices, far, whole, {1024, 1024}),
            plan(prices, near, whole, {1024, 1024}));
}

TEST(ReshardPrices, ChunksOfAnInnerDimensionArePutInOrder) {
  Devices devices;
  ReshardPrices prices(devices.mesh, devices.links, kGpuRates);
  Sharding outer = Sharding::replicatedOf(2), inner = outer, whole = outer,
           partial = outer;
  AxisRef axis = devices.mesh.fullAxis(1);
  outer.dims[0].axes.push_back(axis);
  inner.dims[1].axes.push_back(axis);
  partial.unreduced.push_back(axis);
  int64_t shape[] = {64, 96}, row[] = {1, 96};
  int64_t order = toPicoseconds(kGpuRates.kernelFloor +
                                2 * 64 * 96 * 4 / kGpuRates.bytesPerSecond);
  // Chunks are reordered after a gather and before a scatter, but not for an
  // all-reduce.
  EXPECT_NEAR(plan(prices, inner, whole, shape),
              plan(prices, outer, whole, shape) + order, 2);
  EXPECT_NEAR(plan(prices, partial, inner, shape),
              plan(prices, partial, outer, shape) + order, 2);
  EXPECT_LT(plan(prices, partial, whole, shape),
            plan(prices, partial, outer, shape) +
                plan(prices, outer, whole, shape) + order);
  // An all_to_all has one end in order; the chunks of one row are contiguous.
  EXPECT_NEAR(plan(prices, outer, inner, shape),
              plan(prices, inner, outer, shape), 2);
  EXPECT_NEAR(plan(prices, inner, whole, row),
              plan(prices, outer, whole, {96, 1}), 2);
}
