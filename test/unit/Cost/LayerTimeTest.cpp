//===- LayerTimeTest.cpp - Seconds of a layer -----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestWork.h"
#include "gtest/gtest.h"

using namespace tessera;
using namespace tessera::cost;

namespace {

/// Registered buffers slow kernels less, in proportion to the time of their
/// collectives.
TEST(LayerTime, registered_buffers) {
  DeviceModel device;
  device.overlapSlowdown = 0.5;
  PassTime pass;
  pass.kernels.compute = 3e-3;
  pass.beside = {{{}, 1e-3}, {{PlanAxis::TP}, 1e-3}};
  EXPECT_NEAR(pass.seconds(device), 4e-3, 1e-12);
  pass.registered = 1e-3;
  EXPECT_NEAR(pass.seconds(device),
              4e-3 - 0.5 * (1 - Machine::kRegisteredShare) * 1e-3, 1e-12);
  PassTime sum = pass;
  sum += pass;
  EXPECT_NEAR(sum.seconds(device), 2 * pass.seconds(device), 1e-12);
}

/// If the host waits for a result, its time is added to the device's.
TEST(LayerTime, a_host_that_waits) {
  DeviceModel device;
  PassTime pass;
  pass.kernels.compute = 3e-3;
  pass.kernels.host = 1e-3;
  EXPECT_EQ(pass.seconds(device), 3e-3);
  pass.hostWaits = true;
  EXPECT_EQ(pass.seconds(device), 3e-3 + 1e-3);
  PassTime sum;
  sum += pass;
  EXPECT_TRUE(sum.hostWaits);
}

/// A call takes longer on a host that waits than a kernel does elsewhere.
TEST(LayerTime, calls_of_a_host_that_waits) {
  ExecutedPlan plan;
  LayerWork layer;
  OpWork op;
  op.bytesRead = 1;
  layer.add(op);
  Machine machine(cluster(300e9), plan, plan);
  machine.device.hostLaunch = 10e-6;
  machine.device.hostCall = 100e-6;
  EXPECT_DOUBLE_EQ(priceLayer(layer, machine).forward.kernels.host, 10e-6);
  layer.hostWaits = true;
  EXPECT_DOUBLE_EQ(priceLayer(layer, machine).forward.kernels.host, 100e-6);
  // A plan's own time applies to both.
  plan.hostLaunchMicros = 20;
  EXPECT_DOUBLE_EQ(priceLayer(layer, Machine(cluster(300e9), plan, plan))
                       .forward.kernels.host,
                   20e-6);
}

TEST(LayerTime, the_library_part_of_a_collective_is_the_same_on_slow_hosts) {
  // A kernel takes 58 us; tp adds a collective's own 13 us to each launch.
  LayerWork layer;
  layer.add(weightMatmul(64, 64, 64));
  CommWork sum;
  sum.bytes = 1024;
  sum.axes = {PlanAxis::TP};
  layer.add(sum);
  ExecutedPlan l;
  l.tp = 2;
  for (double micros : {8.0, 58.0}) {
    l.hostLaunchMicros = micros;
    LayerTime time = priceLayer(layer, Machine(cluster(300e9), l, l));
    EXPECT_NEAR(time.forward.kernels.host, (2 * micros + 13) * 1e-6, 1e-12);
  }
}

/// A block of two matmuls with a collective of tp between them, priced.
static LayerTime priceBetween(CollectiveKind kind, bool overlap, int64_t first,
                              int64_t second) {
  ExecutedPlan l;
  l.precision = Precision::BF16;
  l.tp = 2;
  l.overlapTp = overlap;
  ModelWork work;
  work.kinds.resize(1);
  LayerWork &layer = work.kinds[0];
  layer.name = "block";
  layer.add(weightMatmul(4096, first, 4096));
  CommWork comm;
  comm.kind = kind;
  comm.axes = {PlanAxis::TP};
  comm.bytes = 50e6;
  layer.add(comm);
  layer.add(weightMatmul(4096, second, 4096));
  buildTrainingWork(work, l, l);
  return priceLayer(layer, Machine(cluster(300e9), l, l));
}

/// Gathers and scatters overlap with matmuls; all-reduces do not.
TEST(LayerTime, overlap_hides_collectives_of_tp) {
  auto seconds = [](CollectiveKind kind, bool overlap) {
    return priceBetween(kind, overlap, 4096, 4096)
        .forward.seconds(DeviceModel());
  };
  for (CollectiveKind kind :
       {CollectiveKind::AllGather, CollectiveKind::ReduceScatter})
    EXPECT_LT(seconds(kind, true), 0.99 * seconds(kind, false));
  EXPECT_EQ(seconds(CollectiveKind::AllReduce, true),
            seconds(CollectiveKind::AllReduce, false));
}

/// A gather overlaps with the matmul that reads it, a scatter with the one that
/// makes it, or, for a gradient, with the parameter's gradient matmul. A
/// collective longer than that matmul is exposed for the rest, however long the
/// others are.
TEST(LayerTime, collectives_of_tp_hide_beside_one_matmul) {
  // The collective takes as long as some 700 columns.
  constexpr int64_t kFew = 64, kMany = 4096;
  auto check = [](CollectiveKind kind, bool beforeIsFew, bool there,
                  bool back) {
    LayerTime time = priceBetween(kind, true, beforeIsFew ? kFew : kMany,
                                  beforeIsFew ? kMany : kFew);
    EXPECT_EQ(time.forward.unhidden > 0, there);
    EXPECT_EQ(time.backwardInput.unhidden > 0, back);
    EXPECT_GT(time.forward.besideSeconds(), time.forward.unhidden);
  };
  check(CollectiveKind::AllGather, true, false, false);
  check(CollectiveKind::AllGather, false, true, true);
  check(CollectiveKind::ReduceScatter, true, true, true);
  check(CollectiveKind::ReduceScatter, false, false, false);
}

/// Groups with several but not all of a node's devices leave it through the
/// processors if there is no PXN.
TEST(LayerTime, some_devices_of_a_node_share_a_quarter_of_its_cards) {
  auto ratio = [](int64_t dp, int64_t tp, CollectiveKind kind) {
    ExecutedPlan l;
    l.dp = dp;
    l.tp = tp;
    double seconds[2];
    static constexpr PlanAxis data[] = {PlanAxis::DP};
    for (bool pxn : {false, true}) {
      l.pxn = pxn;
      seconds[pxn] = Machine(cluster(300e9), l, l).seconds(kind, 1e10, data);
    }
    return seconds[0] / seconds[1];
  };
  using Kind = CollectiveKind;
  EXPECT_NEAR(ratio(32, 2, Kind::AllReduce), 4, 0.01);
  EXPECT_NEAR(ratio(16, 4, Kind::ReduceScatter), 4, 0.01);
  EXPECT_EQ(ratio(64, 1, Kind::AllReduce), 1);
  EXPECT_EQ(ratio(8, 8, Kind::AllReduce), 1);
  EXPECT_EQ(ratio(4, 2, Kind::AllReduce), 1);
  EXPECT_EQ(ratio(32, 2, Kind::AllToAll), 1);
}

/// Transfers to another node use two channels; over NVLink they use as many as
/// a collective.
TEST(LayerTime, transfers_to_another_node_slow_kernels_less) {
  auto slowdown = [](int64_t tp) {
    ExecutedPlan l;
    l.pp = 2;
    l.tp = tp;
    return Machine(cluster(300e9), l, l).transferSlowdown() /
           DeviceModel().overlapSlowdown;
  };
  EXPECT_EQ(slowdown(4), 1);
  EXPECT_EQ(slowdown(8), Machine::kNetworkTransferShare);
}

/// Over links of one kind, collectives of registered buffers use few
/// multiprocessors; over two kinds, as many as others.
TEST(LayerTime, registered_buffers_over_one_kind_of_link) {
  auto slowdown = [](int64_t dp, int64_t tp) {
    ExecutedPlan l;
    l.dp = dp;
    l.tp = tp;
    static constexpr PlanAxis data[] = {PlanAxis::DP, PlanAxis::CP};
    double usual = Machine(cluster(300e9), l, l).dataSlowdown(data);
    EXPECT_EQ(usual, DeviceModel().overlapSlowdown);
    l.registeredBuffers = true;
    return Machine(cluster(300e9), l, l).dataSlowdown(data) / usual;
  };
  EXPECT_EQ(slowdown(8, 1), Machine::kRegisteredShare);
  EXPECT_EQ(slowdown(4, 8), Machine::kRegisteredShare);
  EXPECT_EQ(slowdown(16, 1), 1);
  // Twelve devices on nodes with eight or four of them.
  EXPECT_EQ(slowdown(12, 1), 1);
}

} // namespace
