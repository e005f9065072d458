//===- ReshardPlannerTest.cpp - Plans run on simulated devices ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every plan is carried out on arrays of numbers, one a device, by the
// definition of each collective; in the end each device must hold its block of
// the tensor.
//
//===----------------------------------------------------------------------===//

#include "tessera/Partition/ReshardPlanner.h"
#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace tessera;
using Kind = ReshardStep::Kind;

namespace {

using Shape = llvm::SmallVector<int64_t>;

/// A dense array.
struct Array {
  Shape shape;
  std::vector<int64_t> data;

  explicit Array(Shape s = {}) : shape(std::move(s)) {
    int64_t n = 1;
    for (int64_t d : shape)
      n *= d;
    data.resize(n);
  }
  int64_t offset(const Shape &index) const {
    int64_t o = 0;
    for (size_t d = 0; d < shape.size(); ++d)
      o = o * shape[d] + index[d];
    return o;
  }
  /// The part of dimension `dim` that is number `part` of `n`.
  Array part(size_t dim, int64_t part, int64_t n) const {
    Shape out = shape;
    out[dim] /= n;
    Array result(out);
    result.forEach([&](const Shape &index, int64_t &value) {
      Shape from = index;
      from[dim] += part * out[dim];
      value = data[offset(from)];
    });
    return result;
  }
  template <typename F> void forEach(F f) {
    Shape index(shape.size(), 0);
    for (int64_t &value : data) {
      f(index, value);
      for (size_t d = shape.size(); d-- > 0;) {
        if (++index[d] < shape[d])
          break;
        index[d] = 0;
      }
    }
  }
};

Array concat(const std::vector<Array> &parts, size_t dim) {
  Shape out = parts[0].shape;
  out[dim] *= parts.size();
  Array result(out);
  result.forEach([&](const Shape &index, int64_t &value) {
    Shape from = index;
    from[dim] %= parts[0].shape[dim];
    const Array &part = parts[index[dim] / parts[0].shape[dim]];
    value = part.data[part.offset(from)];
  });
  return result;
}

Array sum(const std::vector<Array> &parts) {
  Array result = parts[0];
  for (size_t i = 1; i < parts.size(); ++i)
    for (size_t j = 0; j < result.data.size(); ++j)
      result.data[j] += parts[i].data[j];
  return result;
}

using Devices = std::vector<Array>;

Array blockOf(const Mesh &mesh, const Array &whole, const Sharding &s,
              int64_t device) {
  Array block = whole;
  for (size_t d = 0; d < s.dims.size(); ++d)
    block = block.part(d, mesh.shardIndex(device, s.dims[d].axes),
                       numShards(s.dims[d].axes));
  return block;
}

/// Devices that hold `whole` under `s`; over partial axes random parts of it.
Devices distribute(const Mesh &mesh, const Array &whole, const Sharding &s,
                   std::mt19937 &rng) {
  int64_t n = numShards(s.unreduced);
  std::vector<Array> addends(n, whole);
  for (size_t j = 0; j < whole.data.size(); ++j) {
    int64_t left = whole.data[j];
    for (int64_t i = 1; i < n; ++i) {
      addends[i].data[j] = rng() % 100;
      left -= addends[i].data[j];
    }
    addends[0].data[j] = left;
  }
  Devices devices;
  for (int64_t d = 0; d < mesh.numDevices(); ++d)
    devices.push_back(
        blockOf(mesh, addends[mesh.shardIndex(d, s.unreduced)], s, d));
  return devices;
}

Devices apply(const Mesh &mesh, const ReshardStep &step, const Devices &in) {
  Devices out;
  int64_t n = numShards(step.axes);
  for (int64_t device = 0; device < mesh.numDevices(); ++device) {
    int64_t me = mesh.shardIndex(device, step.axes);
    std::vector<Array> group;
    for (int64_t d : mesh.group(device, step.axes))
      group.push_back(in[d]);
    switch (step.kind) {
    case Kind::Slice:
      out.push_back(in[device].part(step.dim, me, n));
      break;
    case Kind::AllReduce:
      out.push_back(sum(group));
      break;
    case Kind::ReduceScatter:
      out.push_back(sum(group).part(step.dim, me, n));
      break;
    case Kind::AllGather:
      out.push_back(concat(group, step.dim));
      break;
    case Kind::AllToAll:
      for (Array &a : group)
        a = a.part(step.splitDim, me, n);
      out.push_back(concat(group, step.dim));
      break;
    case Kind::Permute: {
      int64_t sender = llvm::find(step.targets, me) - step.targets.begin();
      out.push_back(group[sender]);
      break;
    }
    case Kind::ToPartial:
      out.push_back(me == 0 ? in[device] : Array(in[device].shape));
      break;
    }
  }
  return out;
}

/// Carries out the plan; empty if each device ends with what it should hold.
std::string runPlan(const Mesh &mesh, const Sharding &from, const Sharding &to,
                    const Shape &shape, std::mt19937 &rng, ReshardPlan &plan) {
  plan = planReshard(mesh, from, to, shape);
  if (!plan.error.empty())
    return plan.error;
  Array whole{shape};
  for (int64_t &v : whole.data)
    v = rng() % 1000;
  Devices devices = distribute(mesh, whole, from, rng);
  Sharding now = from;
  for (const ReshardStep &step : plan.steps) {
    devices = apply(mesh, step, devices);
    now = step.to;
  }
  if (!now.samePlacement(to))
    return "the last step's sharding is not the target";
  for (int64_t d = 0; d < mesh.numDevices(); ++d) {
    std::vector<Array> group;
    for (int64_t member : mesh.group(d, to.unreduced))
      group.push_back(devices[member]);
    Array held = sum(group), expected = blockOf(mesh, whole, to, d);
    if (held.shape != expected.shape || held.data != expected.data)
      return "device " + std::to_string(d) + " holds another block";
  }
  return "";
}

Mesh meshOf(llvm::ArrayRef<int64_t> sizes) {
  Mesh mesh;
  const char *names[] = {"x", "y", "z"};
  for (auto [i, size] : llvm::enumerate(sizes)) {
    mesh.names.push_back(names[i]);
    mesh.sizes.push_back(size);
  }
  return mesh;
}

/// The axes of a mesh, each whole or cut once at a border of `cuts`.
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

/// Each part on a random dimension, partial, or nowhere.
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
  EXPECT_EQ(runPlan(mesh, from, to, shape, rng, plan), "");
  EXPECT_FALSE(plan.gatheredWhole);
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
  size_t whole = 0;
  for (int i = 0; i < 1500; ++i) {
    int64_t rank = 1 + rng() % 3;
    Shape shape(rank, rank < 3 ? 2 * size : size);
    Sharding from = randomSharding(mesh, rank, /*partial=*/true, rng);
    Sharding to = randomSharding(mesh, rank, /*partial=*/rng() % 4 == 0, rng);
    ReshardPlan plan;
    std::string error = runPlan(mesh, from, to, shape, rng, plan);
    ASSERT_EQ(error, "") << print(mesh, from, to, plan);
    whole += plan.gatheredWhole;
  }
  // Only parts of one axis that do not nest are gathered whole.
  bool hasSix = llvm::is_contained(GetParam(), 6);
  EXPECT_EQ(whole > 0, hasSix);
}

INSTANTIATE_TEST_SUITE_P(
    ReshardPlanner, Fuzz,
    testing::Values(std::vector<int64_t>{2, 2}, std::vector<int64_t>{4, 2},
                    std::vector<int64_t>{2, 2, 2}, std::vector<int64_t>{2, 3},
                    std::vector<int64_t>{6}, std::vector<int64_t>{8}));

// Shapes that the shardings in between need not divide.
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
    ASSERT_EQ(runPlan(mesh, from, to, shape, rng, plan), "")
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
  // A partial value that is wanted in slices elsewhere is sliced first.
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

TEST(ReshardPlanner, shape_that_does_not_divide_is_refused) {
  Mesh mesh = meshOf({2, 2});
  Sharding from = dims({{}}), to = dims({{mesh.fullAxis(0)}});
  EXPECT_EQ(planReshard(mesh, from, to, {7}).error,
            "a dimension does not divide");
}
