//===- FlatStateTest.cpp - State of sizes that do not divide --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Training/FlatState.h"
#include "dialects/NN/NN.h"
#include "lib/Training/StateSharding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;

namespace {

struct FlatStateTest : ::testing::Test {
  FlatStateTest() {
    mesh.names = {"dp", "tp"};
    mesh.sizes = {3, 2};
  }

  /// "stored -> padded, sharding of the flat state, tiles" of a shape with tp
  /// on dimension `dim` (-1: on none); "even" without a layout.
  std::string rest(ArrayRef<int64_t> shape, int64_t dim = -1) {
    Sharding inUse = Sharding::replicatedOf(shape.size());
    if (dim >= 0)
      inUse.dims[dim].axes.push_back(mesh.fullAxis(1));
    std::optional<FlatState> layout =
        FlatState::get(shape, inUse, AxisList{mesh.fullAxis(0)});
    if (!layout)
      return "even";
    EXPECT_EQ(layout->getLogicalShape(), shape);
    EXPECT_EQ(layout->getInUse().dimAxes(), inUse.dimAxes());
    return print(*layout);
  }

  std::string print(const FlatState &layout) {
    std::string text;
    llvm::raw_string_ostream os(text);
    auto print = [&](ArrayRef<int64_t> sizes) {
      llvm::interleave(sizes, os, "x");
    };
    print(layout.getStoredShape());
    os << " -> ";
    print(layout.getType(Float32Type::get(&context)).getShape());
    os << ' ';
    layout.getSharding().print(os, mesh);
    Builder builder(&context);
    for (NamedAttribute attr : layout.getAttributes(builder))
      if (attr.getName() == nn::NNDialect::kTilesAttr) {
        os << " tiles ";
        print(cast<DenseI64ArrayAttr>(attr.getValue()).asArrayRef());
      }
    return text;
  }

  MLIRContext context;
  Mesh mesh;
};

TEST_F(FlatStateTest, what_divides_stays) {
  EXPECT_EQ(rest({6, 5}), "even");
  EXPECT_EQ(rest({5, 9}), "even");
  EXPECT_EQ(rest({12, 5}, 0), "even");
  EXPECT_EQ(rest({}), "even");
}

TEST_F(FlatStateTest, without_tp_all_is_merged) {
  EXPECT_EQ(rest({64, 2, 2, 16}), "4096 -> 4098 [{\"dp\"}p2]");
  EXPECT_EQ(rest({64}), "64 -> 66 [{\"dp\"}p2]");
  EXPECT_EQ(rest({2}), "2 -> 3 [{\"dp\"}p2]");
}

TEST_F(FlatStateTest, tiles_of_what_tp_cuts) {
  EXPECT_EQ(rest({64, 2, 2, 16}, 1),
            "2x2048 -> 2x2049 [{\"tp\"}, {\"dp\"}p2] tiles 1x2x1x1");
  EXPECT_EQ(rest({64, 160}, 1),
            "2x5120 -> 2x5121 [{\"tp\"}, {\"dp\"}p2] tiles 1x2");
  EXPECT_EQ(rest({2}, 0), "2x1 -> 2x3 [{\"tp\"}, {\"dp\"}p2]");
  // A leading dimension is split into tiles without a transpose.
  EXPECT_EQ(rest({160, 64}, 0), "2x5120 -> 2x5121 [{\"tp\"}, {\"dp\"}p2]");
  EXPECT_EQ(rest({160}, 0), "2x80 -> 2x81 [{\"tp\"}, {\"dp\"}p2]");
}

TEST_F(FlatStateTest, tiles_of_two_dimensions) {
  mesh.sizes = {3, 4};
  Sharding inUse = Sharding::replicatedOf(3);
  inUse.dims[1].axes.push_back({1, 1, 2});
  inUse.dims[2].axes.push_back({1, 2, 2});
  std::optional<FlatState> layout =
      FlatState::get({32, 4, 10}, inUse, AxisList{mesh.fullAxis(0)});
  ASSERT_TRUE(layout);
  EXPECT_EQ(print(*layout),
            "2x2x320 -> 2x2x321 [{\"tp\":(1)2}, {\"tp\":(2)2}, {\"dp\"}p2] "
            "tiles 1x2x2");
}

TEST_F(FlatStateTest, a_dimension_that_tp_does_not_divide_stays) {
  EXPECT_EQ(rest({259, 64}, 0), "259x64 -> 259x66 [{\"tp\"}, {\"dp\"}p2]");
  // Neighboring dimensions merge; 64 -> 66 wastes less than 16 -> 18.
  EXPECT_EQ(rest({64, 259, 2, 8}, 1),
            "64x259x16 -> 66x259x16 [{\"dp\"}p2, {\"tp\"}, {}]");
  EXPECT_EQ(rest({259}, 0), "even"); // no other dimension to merge
}

TEST_F(FlatStateTest, places_of_elements) {
  context.loadDialect<func::FuncDialect>();
  mesh.sizes = {5, 2};
  Sharding inUse = Sharding::replicatedOf(2);
  inUse.dims[1].axes.push_back(mesh.fullAxis(1));
  std::optional<FlatState> layout =
      FlatState::get({3, 4}, inUse, AxisList{mesh.fullAxis(0)});
  ASSERT_TRUE(layout);
  OpBuilder builder(&context);
  Type rest = layout->getType(builder.getF32Type());
  OwningOpRef<func::FuncOp> func = func::FuncOp::create(
      builder.getUnknownLoc(), "f", builder.getFunctionType({rest, rest}, {}));
  func->setArgAttrs(0, layout->getAttributes(builder));
  // Two tiles of 3 x 2, each padded from 6 to 10 elements.
  EXPECT_EQ(getFlatIndices(*func, 0),
            (std::vector<int64_t>{0, 1, 10, 11, 2, 3, 12, 13, 4, 5, 14, 15}));
  EXPECT_FALSE(getFlatIndices(*func, 1));
}

// Both axes are on one dimension that they divide together, else on several,
// else on a merged one.
TEST_F(FlatStateTest, state_over_two_axes) {
  Mesh both;
  both.names = {"cp", "dp", "tp"};
  both.sizes = {2, 3, 1};
  Sharding inUse = Sharding::replicatedOf(2);
  AxisList axes = getStateAxes(Strategy(), both);
  EXPECT_EQ(axes, (AxisList{both.fullAxis(1), both.fullAxis(0)}));
  EXPECT_EQ(dropUsed(axes, both.fullAxis(1)), AxisList{both.fullAxis(0)});
  // An axis for tp does not shard state, whatever its name.
  EXPECT_EQ(getStateAxes(cantFail(parseStrategy("tp@dp,cp,zero=3")), both),
            AxisList{both.fullAxis(0)});
  auto shard = [&](ArrayRef<int64_t> shape) {
    std::string text;
    llvm::raw_string_ostream os(text);
    Sharding rest = inUse;
    if (shardEvenly(axes, rest, shape))
      rest.print(os, both);
    else
      FlatState::get(shape, inUse, axes)->getSharding().print(os, both);
    return text;
  };
  EXPECT_EQ(shard({4, 12}), R"([{}, {"dp", "cp"}])");
  EXPECT_EQ(shard({4, 9}), R"([{"cp"}, {"dp"}])");
  EXPECT_EQ(shard({5, 7}), R"([{"dp", "cp"}p2])");
}

TEST_F(FlatStateTest, no_more_is_padded_than_shards) {
  // A device has its share of all elements, rounded up.
  for (int64_t a = 1; a < 12; ++a)
    for (int64_t b = 2; b < 12; b += 2) {
      Sharding inUse = Sharding::replicatedOf(2);
      inUse.dims[1].axes.push_back(mesh.fullAxis(1));
      if (auto layout =
              FlatState::get({a, b}, inUse, AxisList{mesh.fullAxis(0)})) {
        RankedTensorType type = layout->getType(Float32Type::get(&context));
        EXPECT_EQ(type.getNumElements() / 6, (a * b + 5) / 6);
      }
    }
  for (int64_t a = 1; a < 12; ++a)
    for (int64_t b = 1; b < 12; ++b) {
      Sharding inUse = Sharding::replicatedOf(2);
      std::optional<FlatState> layout =
          FlatState::get({a, b}, inUse, AxisList{mesh.fullAxis(0)});
      ASSERT_EQ(!layout, a * b % 3 == 0) << a << "x" << b;
      if (!layout)
        continue;
      RankedTensorType type = layout->getType(Float32Type::get(&context));
      EXPECT_EQ(type.getNumElements() / 3, (a * b + 2) / 3);
    }
}

} // namespace
