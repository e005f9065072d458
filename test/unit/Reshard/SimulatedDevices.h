//===- SimulatedDevices.h - Executes plans on arrays ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every plan runs on arrays of numbers, one per device, by the definition of
// each collective. At the end each device must hold its block of the tensor.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_UNIT_PARTITION_SIMULATEDDEVICES_H
#define TESSERA_TEST_UNIT_PARTITION_SIMULATEDDEVICES_H

#include "tessera/Reshard/ReshardPlanner.h"
#include "llvm/ADT/STLExtras.h"
#include <random>

namespace tessera::test {

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
  /// Shard `part` of `n` along dimension `dim`.
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

inline Array concat(const std::vector<Array> &parts, size_t dim) {
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

inline Array sum(const std::vector<Array> &parts) {
  Array result = parts[0];
  for (size_t i = 1; i < parts.size(); ++i)
    for (size_t j = 0; j < result.data.size(); ++j)
      result.data[j] += parts[i].data[j];
  return result;
}

using Devices = std::vector<Array>;

inline Array blockOf(const Mesh &mesh, const Array &whole, const Sharding &s,
                     int64_t device) {
  Array block = whole;
  for (size_t d = 0; d < s.dims.size(); ++d)
    block = block.part(d, mesh.shardIndex(device, s.dims[d].axes),
                       numShards(s.dims[d].axes));
  return block;
}

/// Devices that hold `whole` under `s`, with random summands over partial axes.
inline Devices distribute(const Mesh &mesh, const Array &whole,
                          const Sharding &s, std::mt19937 &rng) {
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

inline Devices apply(const Mesh &mesh, const ReshardStep &step,
                     const Devices &in) {
  Devices out;
  int64_t n = numShards(step.axes);
  for (int64_t device = 0; device < mesh.numDevices(); ++device) {
    int64_t me = mesh.shardIndex(device, step.axes);
    std::vector<Array> group;
    for (int64_t d : mesh.group(device, step.axes))
      group.push_back(in[d]);
    switch (step.kind) {
    case ReshardStep::Kind::Slice:
      out.push_back(in[device].part(step.dim, me, n));
      break;
    case ReshardStep::Kind::AllReduce:
      out.push_back(sum(group));
      break;
    case ReshardStep::Kind::ReduceScatter:
      out.push_back(sum(group).part(step.dim, me, n));
      break;
    case ReshardStep::Kind::AllGather:
      out.push_back(concat(group, step.dim));
      break;
    case ReshardStep::Kind::AllToAll:
      for (Array &a : group)
        a = a.part(step.splitDim, me, n);
      out.push_back(concat(group, step.dim));
      break;
    case ReshardStep::Kind::Permute: {
      int64_t sender = llvm::find(step.targets, me) - step.targets.begin();
      out.push_back(group[sender]);
      break;
    }
    case ReshardStep::Kind::ToPartial:
      out.push_back(me == 0 ? in[device] : Array(in[device].shape));
      break;
    }
  }
  return out;
}

/// Executes the plan; returns nothing if each device ends with its block.
inline std::string runPlan(const Mesh &mesh, const MeshLinks &links,
                           const Sharding &from, const Sharding &to,
                           const Shape &shape, std::mt19937 &rng,
                           ReshardPlan &plan) {
  plan = planReshard(mesh, links, from, to, shape, /*elementBytes=*/4);
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

inline Mesh meshOf(llvm::ArrayRef<int64_t> sizes) {
  Mesh mesh;
  const char *names[] = {"x", "y", "z", "w"};
  for (auto [i, size] : llvm::enumerate(sizes)) {
    mesh.names.push_back(names[i]);
    mesh.sizes.push_back(size);
  }
  return mesh;
}

} // namespace tessera::test

#endif // TESSERA_TEST_UNIT_PARTITION_SIMULATEDDEVICES_H
