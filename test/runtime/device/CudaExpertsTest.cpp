//===- CudaExpertsTest.cpp - Counts of routings on a device ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Uses of experts are counted in a recorded step, by the hand-written kernels
// and by the host's code, and reach the job's shared memory after it.
//
//===----------------------------------------------------------------------===//

#include "FakeDevice.h"
#include "Ranks.h"
#include "runtime/cuda/CudaTarget.h"
#include "runtime/cuda/emulator/EmulatedDevice.h"

#include <gtest/gtest.h>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

namespace {
/// Three tokens with two choices of four experts, of which two are held.
constexpr int32_t ids[] = {1, 2, 3, 1, 2, 0};
constexpr int64_t idsOffset = 0, routingOffset = 1024;

int32_t routeWith(tessera_rt_context *ctx, int64_t room, int64_t layer,
                  int64_t experts = 2) {
  uint8_t *arena = tessera_rt_arena(ctx);
  tessera_rt_route_desc d{TESSERA_RT_I32, 3, 2, experts, 4, room, layer, 0, 0};
  return tessera_rt_route(ctx, &d, arena + idsOffset, /*offset=*/1,
                          reinterpret_cast<int32_t *>(arena + routingOffset));
}

/// Counts layer 1 twice, as for two micro-batches, and a routing of no layer.
int32_t countTwice(tessera_rt_context *ctx) {
  int32_t status = routeWith(ctx, 6, 1);
  if (!status)
    status = routeWith(ctx, 6, -1);
  return status ? status : routeWith(ctx, 6, 1);
}

/// Tokens with equal ids: four rows of one expert, where three tokens have
/// three at most.
constexpr int32_t equalIds[] = {1, 1, 1, 1, 2, 0};
int32_t overflow(tessera_rt_context *ctx) { return routeWith(ctx, 3, 0, 1); }

class CudaExpertsTest : public testing::TestWithParam<bool> {
protected:
  void SetUp() override {
    unsetenv("TESSERA_EMULATE_LIBRARIES");
    streamDevice() = nullptr;
    if (GetParam())
      setenv("TESSERA_EMULATE_KERNELS", "1", 1);
  }
  void TearDown() override { unsetenv("TESSERA_EMULATE_KERNELS"); }

  void open(ProgramStep program) {
    TableSizes tables;
    tables.layers = 2;
    tables.experts = 5;
    rank = std::make_unique<SingleRank>(1, 8192, tables);
    Manifest manifest;
    manifest.ranks = 1;
    manifest.arenaBytes = 8192;
    manifest.mesh = {{"x", 1}};
    Options options;
    options.quiet = true;
    EmulatedDeviceOptions device;
    device.seed = 3;
    target().useDevice(createEmulatedDevice(device));
    ASSERT_EQ(target().open(manifest, options, program), 0) << failure();
    memcpy(rank->arena() + idsOffset, ids, sizeof(ids));
    ASSERT_EQ(target().send({idsOffset, sizeof(ids)}), 0);
  }
  CudaTarget &target() {
    return *static_cast<CudaTarget *>(ctx()->target.get());
  }
  tessera_rt_context *ctx() { return *rank; }
  const char *failure() { return ctx()->memory.control->failure; }

  std::unique_ptr<SingleRank> rank;
};
} // namespace

TEST_P(CudaExpertsTest, loads_of_a_step_reach_the_host) {
  open(countTwice);
  for (int step = 0; step < 4; ++step) {
    SCOPED_TRACE(step);
    ASSERT_EQ(target().step(), 0) << failure();
    ASSERT_EQ(target().fetch({}), 0) << failure();
    LayerLoads &loads = *ctx()->memory.loads(0, 1);
    EXPECT_EQ(loads.tokens, 6);
    EXPECT_EQ(loads.choices, 2);
    EXPECT_EQ(loads.offset, 1);
    EXPECT_EQ(loads.held, 2);
    EXPECT_EQ(loads.experts, 4);
    EXPECT_EQ(std::vector<int64_t>(loads.uses(), loads.uses() + 5),
              (std::vector<int64_t>{0, 4, 4, 0, 0}));
    EXPECT_EQ(ctx()->memory.loads(0, 0)->held, 0);
  }
  // The recorded step is one graph.
  EXPECT_EQ(target().describeJson().find("\"graph_nodes\": 0"),
            std::string::npos);
}

TEST_P(CudaExpertsTest, more_rows_than_room_end_the_job) {
  open(overflow);
  memcpy(rank->arena() + idsOffset, equalIds, sizeof(equalIds));
  ASSERT_EQ(target().send({idsOffset, sizeof(equalIds)}), 0);
  ASSERT_EQ(target().step(), 0) << failure();
  EXPECT_NE(target().fetch({}), 0);
  EXPECT_STREQ(failure(),
               "rank 0: a routing expects at most 3 rows for the experts from "
               "1 on, as different ids of a token need, but got 4");
}

INSTANTIATE_TEST_SUITE_P(kernels, CudaExpertsTest, testing::Bool());
