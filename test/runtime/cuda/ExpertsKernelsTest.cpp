//===- ExpertsKernelsTest.cpp - Kernels of experts against the host -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Routings and capacities have the host's numbers. MLPs and gradients are the
// host's within rounding, with the same bits in five orders of threads and
// blocks: experts without rows, all rows at one, one expert, all experts, ids
// of other devices.
//
//===----------------------------------------------------------------------===//

#include "DeviceKernels.h"

#include "ExpertsCases.h"

#include <cstring>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

namespace {
/// Integers before the uses of a layer's loads.
constexpr size_t kHeader = sizeof(LayerLoads) / sizeof(int64_t);

//===----------------------------------------------------------------------===//
// Routings
//===----------------------------------------------------------------------===//

template <typename Id> void checkRoute(const ExpertsCase &c, int64_t idType) {
  SCOPED_TRACE(c.name);
  std::vector<int32_t> wanted = routeOnHost(c);
  tessera_rt_route_desc d = c.route(idType, c.room());
  for (uint64_t seed : {1, 2}) {
    DeviceKernels device(seed);
    std::vector<int32_t> drawn = drawIds(c);
    DeviceBlock<Id> ids(std::vector<Id>(drawn.begin(), drawn.end()));
    DeviceBlock<int32_t> routing(wanted.size(), 4);
    DeviceBlock<int64_t> loads(
        std::vector<int64_t>(kHeader + size_t(c.all), 10));
    DeviceBlock<int64_t> fault(std::vector<int64_t>(3, 0));
    DeviceBlock<uint8_t> workspace(size_t(routeWorkspace(d)), 256);
    RoutingCounts counts{reinterpret_cast<LayerLoads *>(loads.data()),
                         reinterpret_cast<RoutingFault *>(fault.data())};
    device.finish(launchRoute(device.kernels, device.stream, d, ids.data(),
                              c.offset, routing.data(), counts,
                              workspace.data()));
    ASSERT_EQ(routing.values(), wanted);
    double even = evenRows(d);
    std::vector<int64_t> sums{10 + c.tokens, c.choices, c.offset, c.experts,
                              c.all};
    sums.push_back(std::max<int64_t>(10, wanted[size_t(c.experts)]));
    sums.push_back(d.room);
    sums.push_back(0);
    memcpy(&sums.back(), &even, sizeof(even));
    sums.resize(kHeader + size_t(c.all), 10);
    for (int64_t e = 0; e < std::min(c.experts, c.all - c.offset); ++e)
      sums[kHeader + size_t(c.offset + e)] +=
          wanted[size_t(e + 1)] - wanted[size_t(e)];
    EXPECT_EQ(loads.values(), sums);
    EXPECT_EQ(fault.values(), std::vector<int64_t>(3, 0));
  }
}
} // namespace

TEST(device_experts, routings_as_the_host) {
  for (const ExpertsCase &c : expertsCases) {
    checkRoute<int32_t>(c, TESSERA_RT_I32);
    checkRoute<int64_t>(c, TESSERA_RT_I64);
  }
  // Two bytes of keys, several tiles of the sort, experts that are padding.
  checkRoute<int32_t>({"large", 1500, 3, 300, 340, 100, 1, 1, 1, Choice::Any},
                      TESSERA_RT_I32);
}

TEST(device_experts, notes_experts_without_room) {
  const ExpertsCase &c = expertsCases[0];
  std::vector<int32_t> wanted = routeOnHost(c);
  int64_t most = 0;
  for (int64_t e = 0; e < c.experts; ++e)
    most = std::max<int64_t>(most, wanted[size_t(e + 1)] - wanted[size_t(e)]);
  for (int64_t room : {most, most - 1}) {
    tessera_rt_route_desc d = c.route(TESSERA_RT_I32, c.room());
    d.room_of_each = room;
    d.even_of_each = 7;
    DeviceKernels device(3);
    DeviceBlock<int32_t> ids(drawIds(c));
    DeviceBlock<int32_t> routing(wanted.size(), 4);
    DeviceBlock<int64_t> loads(std::vector<int64_t>(kHeader, 0));
    DeviceBlock<int64_t> fault(std::vector<int64_t>(3, 0));
    DeviceBlock<uint8_t> workspace(size_t(routeWorkspace(d)), 256);
    RoutingCounts counts{reinterpret_cast<LayerLoads *>(loads.data()),
                         reinterpret_cast<RoutingFault *>(fault.data())};
    device.finish(launchRoute(device.kernels, device.stream, d, ids.data(),
                              c.offset, routing.data(), counts,
                              workspace.data()));
    EXPECT_EQ(routing.values(), wanted);
    LayerLoads expected;
    expected.sentOverEven = room < most ? double(most) / 7 : 0;
    std::vector<int64_t> bits(kHeader);
    memcpy(bits.data(), &expected, sizeof(expected));
    EXPECT_EQ(loads.values(), bits);
  }
}

//===----------------------------------------------------------------------===//
// Capacities
//===----------------------------------------------------------------------===//

namespace {
template <typename Id, typename Score>
void checkCapacity(tessera_rt_capacity_desc d) {
  std::mt19937 random(11);
  std::vector<Id> ids;
  std::vector<Score> scores;
  int64_t count = d.sequences * d.tokens * d.choices;
  for (int64_t i = 0; i < count; ++i) {
    ids.push_back(Id(int64_t(random() % unsigned(d.experts + 2)) - 1));
    // Many are equal, some are NaN.
    scores.push_back(random() % 17 ? Score(random() % 5) : Score(NAN));
  }
  std::vector<Id> wanted(size_t(count), 77);
  SingleRank rank(1, 4096);
  ASSERT_EQ(tessera_rt_expert_capacity(rank, &d, ids.data(), scores.data(),
                                       wanted.data()),
            0);
  for (uint64_t seed : {1, 2}) {
    DeviceKernels device(seed);
    DeviceBlock<Id> given(ids), result(ids.size());
    DeviceBlock<Score> keys(scores);
    DeviceBlock<uint8_t> workspace(size_t(capacityWorkspace(d)), 256);
    device.finish(launchExpertCapacity(device.kernels, device.stream, d,
                                       given.data(), keys.data(), result.data(),
                                       workspace.data()));
    EXPECT_EQ(result.values(), wanted);
  }
}
} // namespace

TEST(device_experts, capacities_as_the_host) {
  checkCapacity<int32_t, float>(
      {TESSERA_RT_I32, TESSERA_RT_F32, 3, 40, 2, 5, 7, 0, 0});
  // Zig-zag order of two shards, whose last tokens are padding.
  checkCapacity<int64_t, double>(
      {TESSERA_RT_I64, TESSERA_RT_F64, 2, 36, 3, 4, 9, 2, 32});
  checkCapacity<int32_t, double>(
      {TESSERA_RT_I32, TESSERA_RT_F64, 4, 300, 2, 90, 1, 0, 0});
  checkCapacity<int64_t, float>(
      {TESSERA_RT_I64, TESSERA_RT_F32, 1, 9, 1, 1, 20, 0, 0});
  checkCapacity<int32_t, float>(
      {TESSERA_RT_I32, TESSERA_RT_F32, 0, 9, 1, 1, 20, 0, 0});
}

//===----------------------------------------------------------------------===//
// MLPs
//===----------------------------------------------------------------------===//

namespace {
/// A case on a device with the order of a seed.
class OnDevice {
public:
  OnDevice(ExpertsOperands &operands, uint64_t seed)
      : o(operands), device(seed), routing(operands.routing, 4) {
    for (int i = 0; i < NumExpertsTensors; ++i)
      blocks.push_back(std::make_unique<DeviceBlock<uint8_t>>(
          std::vector<uint8_t>(bytesOf(i), bytesOf(i) + o.bytesOf(i))));
  }

  /// Runs all calls and returns the tensors.
  std::vector<FloatTensor> run() {
    for (ExpertsCall call : {ExpertsCall::Forward, ExpertsCall::Backward,
                             ExpertsCall::WeightGradient}) {
      DeviceBlock<uint8_t> workspace(size_t(expertsWorkspace(call, o.d)), 256);
      device.finish(launchExperts(
          device.kernels, device.stream, call, o.d,
          o.pointers(call, routing.data(),
                     [&](int i) { return blocks[size_t(i)]->data(); }),
          workspace.data()));
    }
    std::vector<FloatTensor> results = o.tensors;
    for (int i = 0; i < NumExpertsTensors; ++i)
      memcpy(results[size_t(i)].data(), blocks[size_t(i)]->data(),
             size_t(o.bytesOf(i)));
    return results;
  }

private:
  const uint8_t *bytesOf(int tensor) {
    return static_cast<const uint8_t *>(o.tensors[size_t(tensor)].data());
  }

  ExpertsOperands &o;
  DeviceKernels device;
  DeviceBlock<int32_t> routing;
  std::vector<std::unique_ptr<DeviceBlock<uint8_t>>> blocks;
};

void check(const ExpertsCase &c, int32_t dtype, int32_t resultType,
           int64_t activation = TESSERA_RT_SILU, bool inRows = false) {
  SCOPED_TRACE(std::string(c.name) + " " + dtypeName(dtype) + " " +
               std::to_string(activation));
  ExpertsOperands wanted(c, dtype, resultType, activation, inRows);
  ExpertsOperands given = wanted;
  wanted.runOnHost();
  std::vector<FloatTensor> first;
  for (uint64_t seed : {1, 2, 3, 4, 5}) {
    std::vector<FloatTensor> got = OnDevice(given, seed).run();
    if (seed == 1)
      first = got;
    for (int i = Y; i < NumExpertsTensors; ++i) {
      size_t at = size_t(i);
      if (seed == 1)
        EXPECT_LE(differenceOf(got[at], wanted.tensors[at]), boundOf(dtype))
            << expertsTensorNames[i];
      EXPECT_EQ(
          memcmp(got[at].data(), first[at].data(), size_t(given.bytesOf(i))), 0)
          << expertsTensorNames[i] << " with seed " << seed;
    }
  }
}

void checkAll(const ExpertsCase &c, int64_t activation, bool inRows) {
  for (int32_t dtype :
       {TESSERA_RT_F32, TESSERA_RT_F64, TESSERA_RT_BF16, TESSERA_RT_F16})
    check(c, dtype, dtype, activation, inRows);
  for (int32_t dtype : {TESSERA_RT_BF16, TESSERA_RT_F16})
    check(c, dtype, TESSERA_RT_F32, activation, inRows);
}
} // namespace

TEST(device_experts, all_types_and_activations) {
  checkAll(expertsCases[0], TESSERA_RT_SILU, true);
  checkAll(expertsCases[0], TESSERA_RT_GELU, false);
  checkAll(expertsCases[1], TESSERA_RT_GELU_TANH, true);
}

TEST(device_experts, all_ways_to_choose) {
  for (const ExpertsCase &c : expertsCases)
    for (int32_t dtype : {TESSERA_RT_F32, TESSERA_RT_BF16})
      check(c, dtype, TESSERA_RT_F32);
}

TEST(device_experts, more_rows_than_room) {
  // The second case runs on matrix units.
  for (int number : {0, 1})
    for (int32_t dtype : {TESSERA_RT_F64, TESSERA_RT_BF16, TESSERA_RT_F16}) {
      const ExpertsCase &c = expertsCases[number];
      ExpertsOperands operands(c, dtype, dtype, TESSERA_RT_SILU, false);
      int64_t rows = operands.routing[size_t(c.experts)], room = 30;
      ASSERT_GT(rows, room);
      tessera_rt_route_desc d = c.route(TESSERA_RT_I32, room);
      DeviceKernels device(3);
      DeviceBlock<int32_t> ids(drawIds(c));
      DeviceBlock<int32_t> routing(size_t(c.experts + 1 + room + c.count()), 4);
      DeviceBlock<int64_t> fault(std::vector<int64_t>(3, 0));
      DeviceBlock<uint8_t> workspace(size_t(routeWorkspace(d)), 256);
      RoutingCounts counts{nullptr,
                           reinterpret_cast<RoutingFault *>(fault.data())};
      device.finish(launchRoute(device.kernels, device.stream, d, ids.data(),
                                c.offset, routing.data(), counts,
                                workspace.data()));
      EXPECT_EQ(fault.values(), std::vector<int64_t>(3, 0));
      std::vector<int32_t> wanted(operands.routing.begin(),
                                  operands.routing.begin() + c.experts + 1);
      wanted.resize(size_t(c.experts + 1 + room + c.count()), -1);
      EXPECT_EQ(routing.values(), wanted);
      operands.routing = wanted;
      operands.d.room = room;
      std::vector<FloatTensor> got = OnDevice(operands, 3).run();
      for (int i : {Y, Dx, Dgates, DwGate, DwUp, DwDown})
        for (int64_t at = 0; at < got[size_t(i)].size(); ++at)
          ASSERT_TRUE(std::isnan(got[size_t(i)].get(at)))
              << expertsTensorNames[i] << " " << at;
    }
}
