//===- RestLayoutTest.cpp - State of sizes that do not divide -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Training/RestLayout.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;

namespace {

struct RestLayoutTest : ::testing::Test {
  RestLayoutTest() {
    mesh.names = {"dp", "tp"};
    mesh.sizes = {3, 2};
  }

  /// "stored -> padded, sharding at rest" of a shape with tp on dimension `cut`
  /// (-1: on none); "even" without a layout.
  std::string rest(ArrayRef<int64_t> shape, int64_t cut = -1) {
    Sharding inUse = Sharding::replicatedOf(shape.size());
    if (cut >= 0)
      inUse.dims[cut].axes.push_back(mesh.fullAxis(1));
    std::optional<RestLayout> layout =
        RestLayout::get(shape, inUse, mesh.fullAxis(0));
    if (!layout)
      return "even";
    std::string text;
    llvm::raw_string_ostream os(text);
    auto print = [&](ArrayRef<int64_t> sizes) {
      llvm::interleave(sizes, os, "x");
    };
    print(layout->getStoredShape());
    os << " -> ";
    print(layout->getType(Float32Type::get(&context)).getShape());
    os << ' ';
    layout->getAtRest().print(os, mesh);
    EXPECT_EQ(layout->getLogicalShape(), shape);
    EXPECT_EQ(layout->getInUse().dimAxes(), inUse.dimAxes());
    return text;
  }

  MLIRContext context;
  Mesh mesh;
};

TEST_F(RestLayoutTest, what_divides_stays) {
  EXPECT_EQ(rest({6, 5}), "even");
  EXPECT_EQ(rest({5, 9}), "even");
  EXPECT_EQ(rest({12, 5}, 0), "even");
  EXPECT_EQ(rest({}), "even");
}

TEST_F(RestLayoutTest, without_tp_all_is_merged) {
  EXPECT_EQ(rest({64, 2, 2, 16}), "4096 -> 4098 [{\"dp\"}p2]");
  EXPECT_EQ(rest({64}), "64 -> 66 [{\"dp\"}p2]");
  EXPECT_EQ(rest({2}), "2 -> 3 [{\"dp\"}p2]");
}

TEST_F(RestLayoutTest, a_dimension_that_tp_cuts_stays_in_parts) {
  // 32 -> 33 and 64 -> 66 waste the same: the first.
  EXPECT_EQ(rest({64, 2, 2, 16}, 1),
            "64x2x32 -> 66x2x32 [{\"dp\"}p2, {\"tp\"}, {}]");
  EXPECT_EQ(rest({64, 160}, 1),
            "64x2x80 -> 64x2x81 [{}, {\"tp\"}, {\"dp\"}p2]");
  EXPECT_EQ(rest({160, 64}, 0), "2x5120 -> 2x5121 [{\"tp\"}, {\"dp\"}p2]");
  EXPECT_EQ(rest({160}, 0), "2x80 -> 2x81 [{\"tp\"}, {\"dp\"}p2]");
}

TEST_F(RestLayoutTest, a_dimension_that_tp_does_not_divide_stays) {
  EXPECT_EQ(rest({259, 64}, 0), "259x64 -> 259x66 [{\"tp\"}, {\"dp\"}p2]");
  EXPECT_EQ(rest({259}, 0), "even"); // nothing is left to merge
}

TEST_F(RestLayoutTest, no_more_is_padded_than_shards) {
  // A device has no more than the merged dimension's share, rounded up.
  for (int64_t a = 1; a < 12; ++a)
    for (int64_t b = 1; b < 12; ++b) {
      Sharding inUse = Sharding::replicatedOf(2);
      std::optional<RestLayout> layout =
          RestLayout::get({a, b}, inUse, mesh.fullAxis(0));
      ASSERT_EQ(!layout, a * b % 3 == 0) << a << "x" << b;
      if (!layout)
        continue;
      RankedTensorType type = layout->getType(Float32Type::get(&context));
      EXPECT_EQ(type.getNumElements() / 3, (a * b + 2) / 3);
    }
}

} // namespace
