//===- ReshardPlannerTest.cpp - Plans run on simulated devices ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random pairs of shardings, and the known cases.
//
//===----------------------------------------------------------------------===//

#include "SimulatedDevices.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace tessera;
using namespace tessera::test;

namespace {

/// The axes of a mesh, each whole or split once at a boundary of `cuts`.
AxisList randomParts(const Mesh &mesh, std::mt19937 &rng) {
  AxisList parts;
  for (unsigned axis = 0; axis < mesh.sizes.size(); ++axis) {
    int64_t size = mesh.sizes[axis];
    llvm::SmallVector<int64_t> cuts;
    for (int64_t c = 2; c < size; ++c)
      if (size % c == 0)
        cuts.push_back(c);
    if (cuts.empty() || rng() % 2) {
      parts.push_back(mesh.fullAxis(axis));
      continue;
    }
    int64_t cut = cuts[rng() % cuts.size()];
    parts.push_back({axis, 1, cut});
    parts.push_back({axis, cut, size / cut});
  }
  std::shuffle(parts.begin(), parts.end(), rng);
  return parts;
}

/// Puts each sub-axis on a random dimension, on none, or makes it partial.
Sharding randomSharding(const Mesh &mesh, int64_t rank, bool partial,
                        std::mt19937 &rng) {
  Sharding s = Sharding::replicatedOf(rank);
  for (const AxisRef &part : randomParts(mesh, rng)) {
    int64_t place = rng() % (rank + 2);
    if (place < rank)
      s.dims[place].axes.push_back(part);
    else if (place == rank && partial)
      s.unreduced.push_back(part);
  }
  for (DimSharding &d : s.dims)
    d.axes = mergeAdjacent(d.axes);
  llvm::sort(s.unreduced);
  s.unreduced = mergeAdjacent(s.unreduced);
  return s;
}

std::string print(const Mesh &mesh, const Sharding &from, const Sharding &to,
                  const ReshardPlan &plan) {
  std::string text;
  llvm::raw_string_ostream os(text);
  from.print(os, mesh);
  os << " -> ";
  to.print(os, mesh);
  for (const ReshardStep &step : plan.steps) {
    os << "; " << stringifyReshardStep(step.kind) << ' ' << step.dim << ' '
       << step.splitDim << ' ';
    mesh.print(os, step.axes);
  }
  return text;
}

/// Kinds of a plan's steps with their axes: `slice{"y"} all_gather{"x"}`.
std::string summary(const Mesh &mesh, const Sharding &from, const Sharding &to,
                    const Shape &shape) {
  std::mt19937 rng(1);
  ReshardPlan plan;
  EXPECT_EQ(runPlan(mesh, MeshLinks::uniform(mesh), from, to, shape, rng, plan),
            "");
  EXPECT_FALSE(plan.exceedsEnds);
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const ReshardStep &step : plan.steps) {
    os << (text.empty() ? "" : " ") << stringifyReshardStep(step.kind);
    mesh.print(os, step.axes);
  }
  return text;
}

Sharding dims(llvm::ArrayRef<AxisList> axes, AxisList unreduced = {}) {
  Sharding s = Sharding::replicatedOf(axes.size());
  for (auto [d, a] : llvm::zip(s.dims, axes))
    d.axes = a;
  s.unreduced = unreduced;
  return s;
}

class Fuzz : public testing::TestWithParam<std::vector<int64_t>> {};

} // namespace

TEST_P(Fuzz, plan_is_right) {
  Mesh mesh = meshOf(GetParam());
  std::mt19937 rng(7);
  int64_t size = mesh.numDevices();
  for (int i = 0, n = mesh.numDevices() > 8 ? 150 : 1000; i < n; ++i) {
    int64_t rank = 1 + rng() % 3;
    Shape shape(rank, rank < 3 ? 2 * size : size);
    Sharding from = randomSharding(mesh, rank, /*partial=*/true, rng);
    Sharding to = randomSharding(mesh, rank, /*partial=*/rng() % 4 == 0, rng);
    ReshardPlan plan;
    std::string error =
        runPlan(mesh, MeshLinks::uniform(mesh), from, to, shape, rng, plan);
    ASSERT_EQ(error, "") << print(mesh, from, to, plan);
    EXPECT_FALSE(plan.exceedsEnds) << print(mesh, from, to, plan);
    EXPECT_TRUE(plan.exact) << print(mesh, from, to, plan);
  }
}

INSTANTIATE_TEST_SUITE_P(
    ReshardPlanner, Fuzz,
    testing::Values(std::vector<int64_t>{2, 2}, std::vector<int64_t>{4, 2},
                    std::vector<int64_t>{2, 2, 2}, std::vector<int64_t>{2, 3},
                    std::vector<int64_t>{6}, std::vector<int64_t>{8},
                    std::vector<int64_t>{2, 2, 2, 2}));

// Shapes that intermediate shardings do not need to divide.
TEST(ReshardPlanner, tight_shapes) {
  Mesh mesh = meshOf({2, 3});
  std::mt19937 rng(3);
  for (int i = 0; i < 500; ++i) {
    Sharding from = randomSharding(mesh, 2, true, rng);
    Sharding to = randomSharding(mesh, 2, false, rng);
    Shape shape;
    for (int d = 0; d < 2; ++d)
      shape.push_back(
          std::lcm(numShards(from.dims[d].axes), numShards(to.dims[d].axes)));
    ReshardPlan plan;
    ASSERT_EQ(
        runPlan(mesh, MeshLinks::uniform(mesh), from, to, shape, rng, plan), "")
        << print(mesh, from, to, plan);
  }
}

// The rows of the table in docs: mesh x2 y2 z2, tensor 16x8x8.
TEST(ReshardPlanner, examples) {
  Mesh mesh = meshOf({2, 2, 2});
  AxisRef x = mesh.fullAxis(0), y = mesh.fullAxis(1), z = mesh.fullAxis(2);
  Shape two{16, 8}, three{16, 8, 8};
  EXPECT_EQ(summary(mesh, dims({{x, y, z}, {}}), dims({{x}, {}}), two),
            R"(all_gather{"y", "z"})");
  EXPECT_EQ(summary(mesh, dims({{}, {}}), dims({{x}, {y, z}}), two),
            R"(slice{"x"} slice{"y", "z"})");
  EXPECT_EQ(summary(mesh, dims({{x}, {y}, {}}), dims({{}, {y}, {x}}), three),
            R"(all_to_all{"x"})");
  EXPECT_EQ(summary(mesh, dims({{x}, {}}), dims({{}, {y}}), two),
            R"(slice{"y"} all_gather{"x"})");
  EXPECT_EQ(summary(mesh, dims({{x}, {y}}), dims({{y}, {x}}), two),
            R"(permute{"x", "y"})");
  EXPECT_EQ(summary(mesh, dims({{x, y}}), dims({{y, x}}), {16}),
            R"(permute{"x", "y"})");
  EXPECT_EQ(summary(mesh, dims({{x}, {}}, {y}), dims({{x}, {y}}), two),
            R"(reduce_scatter{"y"})");
  EXPECT_EQ(summary(mesh, dims({{x}, {}}, {y, z}), dims({{x}, {}}), two),
            R"(all_reduce{"y", "z"})");
  // A partial value that is needed in slices of another axis is sliced first.
  EXPECT_EQ(summary(mesh, dims({{}, {}}, {y}), dims({{x}, {}}), two),
            R"(slice{"x"} all_reduce{"y"})");
}

TEST(ReshardPlanner, uneven_axes_move_without_a_gather) {
  Mesh mesh = meshOf({2, 3});
  AxisRef x = mesh.fullAxis(0), y = mesh.fullAxis(1);
  EXPECT_EQ(summary(mesh, dims({{x}}), dims({{y}}), {12}),
            R"(slice{"y"} permute{"x", "y"} all_gather{"x"})");
}

TEST(ReshardPlanner, sub_axes_split_and_merge) {
  Mesh mesh = meshOf({4});
  AxisRef major{0, 1, 2}, minor{0, 2, 2};
  EXPECT_EQ(summary(mesh, dims({{mesh.fullAxis(0)}, {}}),
                    dims({{major}, {minor}}), {8, 8}),
            R"(all_to_all{"x":(2)2})");
  EXPECT_EQ(summary(mesh, dims({{major}, {minor}}),
                    dims({{mesh.fullAxis(0)}, {}}), {8, 8}),
            R"(all_to_all{"x":(2)2})");
}

// There are more dimensions than the search's states have; only sharded ones
// count. Among equally fast ways the plan chooses the one whose chunks need no
// reordering: a dimension with one remaining row no longer precedes the next
// one.
TEST(ReshardPlanner, steps_in_the_order_of_rows) {
  Mesh mesh = meshOf({16});
  AxisRef major{0, 1, 4}, minor{0, 4, 4};
  Sharding whole = dims({{}, {}, {}});
  Sharding partial = dims({{}, {}, {}}, {mesh.fullAxis(0)});
  Sharding sharded = dims({{major}, {minor}, {}});
  auto getDims = [&](const Sharding &from, const Sharding &to) {
    std::vector<int64_t> dims;
    ReshardPlan plan = planReshard(mesh, MeshLinks::uniform(mesh), from, to,
                                   {4, 4, 1024}, /*elementBytes=*/4);
    for (const ReshardStep &step : plan.steps)
      dims.push_back(step.dim);
    return dims;
  };
  // A large group may scatter in two steps.
  std::vector<int64_t> scattered = getDims(partial, sharded);
  EXPECT_EQ(scattered.front(), 0);
  EXPECT_EQ(scattered.back(), 1);
  EXPECT_TRUE(llvm::is_sorted(scattered));
  EXPECT_EQ(getDims(sharded, whole), (std::vector<int64_t>{1, 0}));
}

TEST(ReshardPlanner, many_dimensions) {
  Mesh mesh = meshOf({2, 2});
  AxisRef x = mesh.fullAxis(0), y = mesh.fullAxis(1);
  Shape shape(11, 1);
  shape[0] = shape[5] = shape[10] = 4;
  std::mt19937 rng(5);
  for (AxisList unreduced : {AxisList(), AxisList{y}}) {
    Sharding from = Sharding::replicatedOf(11), to = from;
    from.dims[10].axes = {x};
    from.unreduced = unreduced;
    to.dims[0].axes = {x};
    ReshardPlan plan;
    EXPECT_EQ(
        runPlan(mesh, MeshLinks::uniform(mesh), from, to, shape, rng, plan), "")
        << print(mesh, from, to, plan);
    EXPECT_TRUE(llvm::any_of(plan.steps, [](const ReshardStep &step) {
      return step.kind == ReshardStep::Kind::AllToAll && step.dim == 10 &&
             step.splitDim == 0;
    })) << print(mesh, from, to, plan);
  }
  // Axes of one device shard nothing.
  Mesh one = meshOf({2, 1});
  Sharding all = Sharding::replicatedOf(11);
  for (DimSharding &dim : all.dims)
    dim.axes = {one.fullAxis(1)};
  EXPECT_EQ(planReshard(one, MeshLinks::uniform(one), all,
                        Sharding::replicatedOf(11), shape, 4)
                .error,
            "");
  // Nine sharded dimensions are too many.
  Mesh nine;
  Sharding each = Sharding::replicatedOf(9);
  for (unsigned d = 0; d < 9; ++d) {
    nine.names.push_back(std::string(1, static_cast<char>('a' + d)));
    nine.sizes.push_back(2);
    each.dims[d].axes = {nine.fullAxis(d)};
  }
  EXPECT_EQ(planReshard(nine, MeshLinks::uniform(nine), each,
                        Sharding::replicatedOf(9), Shape(9, 2), 4)
                .error,
            "too many parts of axes");
}

TEST(ReshardPlanner, shape_that_does_not_divide_is_refused) {
  Mesh mesh = meshOf({2, 2});
  Sharding from = dims({{}}), to = dims({{mesh.fullAxis(0)}});
  EXPECT_EQ(planReshard(mesh, MeshLinks::uniform(mesh), from, to, {7}, 4).error,
            "expects 2 shards to divide dimension 0, but got 7 elements");
}
