//===- CommunicationTest.cpp - Collectives of devices ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks with emulated devices: processes with a replacement of NCCL, processes
// that use the host's shared memory, and threads on one device. Collectives of
// every kind are enqueued, recorded and replayed, and every failure gives one
// message. Ranks that are processes may be on several nodes; see runRanks.
//
//===----------------------------------------------------------------------===//

#include "Collectives.h"
#include "FakeDevice.h"
#include "Ranks.h"
#include "StuckDevice.h"
#include "runtime/cuda/CudaTarget.h"
#include "runtime/cuda/kernels/Builtin.h"
#include "runtime/src/nodes/Interfaces.h"
#include "runtime/src/nodes/Root.h"

#include <gtest/gtest.h>
#include <signal.h>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

constexpr int64_t arenaBytes = 16384;
constexpr int64_t inOffset = 0;
constexpr int64_t outs[] = {1024, 2048, 3072, 4096, 5120,
                            6144, 7168, 8192, 9216, 10240};

/// Opens a rank's target for `program`, with or without the test's libraries.
static Status openTarget(tessera_rt_context *ctx, ProgramStep program,
                         const Options &options = Options(),
                         bool withNccl = true) {
  if (withNccl)
    useFakes(nullptr);
  Manifest manifest;
  manifest.ranks = ctx->ranks;
  manifest.arenaBytes = arenaBytes;
  manifest.mesh = ctx->mesh;
  Options quiet = options;
  quiet.quiet = true;
  auto &target = *static_cast<CudaTarget *>(ctx->target.get());
  Status status = target.open(manifest, quiet, program);
  if (status == TESSERA_RT_OK && withNccl)
    streamDevice() = &target.getDevice();
  return status;
}

/// The mesh dp=2 x tp=2.
static const Integers dp = {2, 2}, tp = {1, 2}, both = {2, 2, 1, 2};

static int32_t allKinds(tessera_rt_context *ctx) {
  constexpr int32_t f32 = TESSERA_RT_F32;
  // Collectives and the results that they write.
  const std::pair<Collective, int> calls[] = {
      {allReduce(both, f32, TESSERA_RT_SUM, 8), 0},
      {allGather(tp, f32, 2, 4), 1},
      {reduceScatter(dp, f32, TESSERA_RT_MAX, 2, 2), 2},
      {allToAll(tp, f32, {4, 2}, 0, 1), 3},
      {permute(dp, f32, {0, 1, 1, 0}, 8), 4},
      {permute(dp, f32, {0, 1}, 8), 5},
      {broadcast(both, f32, 2, 8), 6},
      {allToAll(tp, f32, {2, 2, 2}, 1, 0), 8},
      {allToAll(tp, f32, {2, 2, 2}, 2, 1), 9}};
  int64_t sequence = 0;
  for (const auto &[collective, which] : calls)
    if (int32_t status =
            collective.run(ctx, 0, ++sequence, inOffset, outs[which]))
      return status;
  // Messages along dp, to another node if there are several, in both directions
  // at once.
  int64_t peer = 1 - tessera_rt_rank(ctx) / 2;
  int32_t status = transfer(TESSERA_RT_SEND, dp, f32, peer, 5, 8)
                       .start(ctx, 1, 10, inOffset, 0);
  if (!status)
    status = transfer(TESSERA_RT_RECV, dp, f32, peer, 5, 8)
                 .start(ctx, 2, 11, 0, outs[7]);
  if (!status)
    status = tessera_rt_wait(ctx, 2);
  return status ? status : tessera_rt_wait(ctx, 1);
}

/// Element i of rank r's input in run `run`.
static float input(int run, int rank, int i) {
  return float(run * 100 + rank * 10 + i);
}

/// The expected result `which` on `rank`.
static std::vector<float> expected(int which, int run, int rank) {
  std::vector<float> v;
  int dpPeer = rank ^ 2, tpIndex = rank & 1, dpIndex = rank >> 1;
  auto all = [&](int from) {
    for (int i = 0; i < 8; ++i)
      v.push_back(input(run, from, i));
  };
  switch (which) {
  case 0:
    for (int i = 0; i < 8; ++i)
      v.push_back(float(4 * run * 100 + 60 + 4 * i));
    break;
  case 1: // [2][members][4]
    for (int o = 0; o < 2; ++o)
      for (int j = 0; j < 2; ++j)
        for (int i = 0; i < 4; ++i)
          v.push_back(input(run, (rank & 2) + j, o * 4 + i));
    break;
  case 2: // [2][members][2], the maximum of block dpIndex
    for (int o = 0; o < 2; ++o)
      for (int i = 0; i < 2; ++i)
        v.push_back(
            input(run, std::max(rank, dpPeer), o * 4 + dpIndex * 2 + i));
    break;
  case 3: // [4, 2] to [2, 4]
    for (int r = 0; r < 2; ++r)
      for (int j = 0; j < 2; ++j)
        for (int c = 0; c < 2; ++c)
          v.push_back(input(run, (rank & 2) + j, (tpIndex * 2 + r) * 2 + c));
    break;
  case 8: // [2, 2, 2] to [4, 1, 2]
    for (int j = 0; j < 2; ++j)
      for (int r = 0; r < 2; ++r)
        for (int c = 0; c < 2; ++c)
          v.push_back(input(run, (rank & 2) + j, (r * 2 + tpIndex) * 2 + c));
    break;
  case 9: // [2, 2, 2] to [2, 4, 1]
    for (int o = 0; o < 2; ++o)
      for (int j = 0; j < 2; ++j)
        for (int r = 0; r < 2; ++r)
          v.push_back(input(run, (rank & 2) + j, (o * 2 + r) * 2 + tpIndex));
    break;
  case 5:
    if (dpIndex == 1)
      all(dpPeer);
    else
      v.assign(8, 0);
    break;
  case 6:
    all(2);
    break;
  default:
    all(dpPeer);
  }
  return v;
}

/// Runs the step of all kinds. `name` is the name of the collectives in the
/// report.
static std::string runAllKinds(tessera_rt_context *ctx, const Options &options,
                               const char *name) {
  ctx->mesh = {{"dp", 2}, {"tp", 2}};
  bool withNccl = strstr(name, "nccl");
  if (openTarget(ctx, allKinds, options, withNccl))
    return "not opened";
  for (int run = 0; run < 4; ++run) {
    for (int i = 0; i < 8; ++i)
      reinterpret_cast<float *>(ctx->arena() + inOffset)[i] =
          input(run, ctx->rank, i);
    if (ctx->target->send({inOffset, 32}) || ctx->target->step() ||
        ctx->target->fetch({{0, arenaBytes}}))
      return "a step failed";
    for (int which = 0; which < 10; ++which) {
      std::vector<float> want = expected(which, run, ctx->rank);
      if (memcmp(ctx->arena() + outs[which], want.data(), want.size() * 4) != 0)
        return format("run %d: collective %d is wrong", run, which);
    }
    if (barrier(ctx, BarrierStep))
      return "lost";
  }
  std::string report = ctx->target->describeJson();
  bool isRecorded = report.find("\"graph_nodes\": 0") == std::string::npos;
  return report.find(format("\"collectives\": \"%s\"", name)) !=
                     std::string::npos &&
                 isRecorded == (options.simulateRanks == 0)
             ? ""
             : report;
}

TEST(communication, by_nccl) {
  EXPECT_EQ(runRanks({4, arenaBytes},
                     [](tessera_rt_context *ctx) {
                       return runAllKinds(ctx, Options(), "nccl 2.28.9");
                     }),
            0);
}

TEST(communication, by_shared_memory) {
  unsetenv("TESSERA_EMULATE_LIBRARIES");
  EXPECT_EQ(runRanks({4, arenaBytes},
                     [](tessera_rt_context *ctx) {
                       return runAllKinds(ctx, Options(), "shared memory");
                     }),
            0);
}

TEST(communication, on_one_device) {
  unsetenv("TESSERA_EMULATE_LIBRARIES");
  Manifest manifest;
  manifest.ranks = 4;
  manifest.arenaBytes = arenaBytes;
  Options options;
  options.simulateRanks = 4;
  options.threads = 1;
  options.timeouts.setAll(20);
  EXPECT_EQ(simulateRanks(manifest, options,
                          [](tessera_rt_context *ctx, const Manifest &,
                             const Options &options) {
                            std::string error =
                                runAllKinds(ctx, options, "one device");
                            if (!error.empty())
                              return int(fail(ctx, 1, error));
                            return int(barrier(ctx, BarrierEnd));
                          }),
            0);
}

/// Overlaps a reduction with other work: x += sum over ranks of y, y = x +
/// rank.
static int32_t overlapped(tessera_rt_context *ctx) {
  static const int64_t shape[1] = {8}, stride[1] = {1};
  int32_t status = tessera_rt_copy(ctx, 4, 1, shape, inOffset, stride, nullptr,
                                   outs[1], stride, nullptr);
  if (!status)
    status = allReduce({1, 2}, TESSERA_RT_F32, TESSERA_RT_SUM, 8)
                 .start(ctx, 5, 1, outs[1], outs[0]);
  // This fill does not touch memory in flight.
  if (!status)
    status = tessera_rt_fill(ctx, 4, outs[2], 8, 0);
  if (!status)
    status = tessera_rt_wait(ctx, 5);
  // The result is the next step's input, and the source is overwritten.
  if (!status)
    status = tessera_rt_fill(ctx, 4, outs[1], 8, 0x7fc00000);
  return status ? status
                : tessera_rt_copy(ctx, 4, 1, shape, outs[0], stride, nullptr,
                                  inOffset, stride, nullptr);
}

TEST(communication, what_streams_leave_open_changes_nothing) {
  for (int seed = 1; seed <= 8; ++seed) {
    setenv("TESSERA_EMULATOR_SEED", std::to_string(seed).c_str(), 1);
    RankFunction body = [](tessera_rt_context *ctx) -> std::string {
      if (openTarget(ctx, overlapped))
        return "not opened";
      for (int i = 0; i < 8; ++i)
        reinterpret_cast<float *>(ctx->arena())[i] = float(i + ctx->rank);
      if (ctx->target->send({inOffset, 32}))
        return "not sent";
      float factor = 1;
      for (int run = 0; run < 5; ++run, factor *= 2) {
        if (ctx->target->step() || ctx->target->fetch({{inOffset, 32}}))
          return "a step failed";
        for (int i = 0; i < 8; ++i)
          if (reinterpret_cast<float *>(ctx->arena())[i] !=
              factor * float(2 * i + 1))
            return format("run %d: element %d is wrong", run, i);
      }
      return "";
    };
    EXPECT_EQ(runRanks({2, arenaBytes}, body), 0) << "seed " << seed;
  }
  unsetenv("TESSERA_EMULATOR_SEED");
}

/// A step in which rank 0 alone multiplies.
static int32_t matmulOfOneRank(tessera_rt_context *ctx) {
  // [8, 1] = [8, 1] [1, 1]
  static const tessera_rt_matmul_desc matmul = {
      TESSERA_RT_F32, TESSERA_RT_F32, 1, 8, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0};
  uint8_t *arena = tessera_rt_arena(ctx);
  int32_t status =
      ctx->rank == 0
          ? tessera_rt_matmul(ctx, &matmul, arena + inOffset, arena + outs[1],
                              arena + outs[2], nullptr, nullptr)
          : 0;
  return status ? status
                : allReduce({1, 2}, TESSERA_RT_F32, TESSERA_RT_SUM, 8)
                      .run(ctx, 0, 1, inOffset, outs[0]);
}

TEST(communication, a_rank_without_matmuls_gets_the_choices_too) {
  Options options;
  options.tuneFile = testing::TempDir() + "tessera-communication-" +
                     std::to_string(getpid()) + ".tune";
  auto body = [&](tessera_rt_context *ctx) -> std::string {
    if (openTarget(ctx, matmulOfOneRank, options) || ctx->target->step() ||
        ctx->target->fetch({}))
      return "not stepped";
    return "";
  };
  EXPECT_EQ(runRanks({2, arenaBytes}, body), 0);
  EXPECT_EQ(unlink(options.tuneFile.c_str()), 0);
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

static int32_t oneReduce(tessera_rt_context *ctx) {
  return allReduce({1, 2}, TESSERA_RT_F32, TESSERA_RT_SUM, 8)
      .run(ctx, 0, 1, inOffset, outs[0]);
}

/// Runs ranks that must fail with that exit status; returns the launcher's
/// message.
static std::string failureOf(const RankSetup &setup, const RankFunction &body,
                             int status = exitMayRestart) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(runRanks(setup, body), status);
  return testing::internal::GetCapturedStderr();
}

static bool hasNodes() { return getenv("TESSERA_TEST_NODES") != nullptr; }

/// The name of a rank of two in messages.
static std::string nameOf(int rank) {
  Placement place = hasNodes() ? Placement{0, 2, 1} : onOneNode(2);
  return nameRank(place, {hostName(), hostName()}, rank);
}

static std::string stepTwice(tessera_rt_context *ctx) {
  for (int i = 0; i < 2; ++i)
    if (ctx->target->step() || ctx->target->fetch({}))
      return std::string();
  return std::string();
}

TEST(communication, steps_that_do_not_fit_are_found_before_the_first) {
  std::string text = failureOf(
      {2, arenaBytes},
      [](tessera_rt_context *ctx) {
        auto twice = [](tessera_rt_context *ctx) -> int32_t {
          int32_t status = oneReduce(ctx);
          return status ? status : oneReduce(ctx);
        };
        openTarget(ctx, ctx->rank == 0 ? oneReduce : ProgramStep(twice));
        return std::string();
      },
      1);
  EXPECT_NE(text.find("do not fit: "), std::string::npos) << text;
  EXPECT_NE(text.find("collectives or messages over x on the one"),
            std::string::npos)
      << text;
}

TEST(communication, an_error_of_its_own_is_reported) {
  std::string text = failureOf({2, arenaBytes, 1, 30}, [](auto *ctx) {
    if (ctx->rank == 0)
      setenv("FAKE_NCCL_ERROR", "1", 1);
    if (openTarget(ctx, oneReduce))
      return std::string("not opened");
    return stepTwice(ctx);
  });
  EXPECT_NE(text.find("NCCL 2.28.9, a collective over x: remote process exited "
                      "or there was a network error"),
            std::string::npos)
      << text;
}

TEST(communication, communicators_that_never_come_together_time_out) {
  std::string text = failureOf({2, arenaBytes, 1, 1}, [](auto *ctx) {
    setenv("FAKE_NCCL_STUCK", "1", 1);
    openTarget(ctx, oneReduce);
    return std::string();
  });
  EXPECT_NE(text.find("the connection of NCCL over all ranks is not over after "
                      "1 s: all ranks have begun it; "),
            std::string::npos)
      << text;
}

TEST(communication, a_rank_that_dies_is_named) {
  std::string text = failureOf({2, arenaBytes, 1, 30}, [](auto *ctx) {
    if (openTarget(ctx, oneReduce))
      return std::string("not opened");
    if (ctx->rank == 1)
      kill(getpid(), SIGKILL);
    return stepTwice(ctx);
  });
  EXPECT_NE(text.find(nameOf(1) + " was killed by signal 9"), std::string::npos)
      << text;
}

/// Runs two ranks whose steps end, except that `spoil` changes a rank's device
/// before the second step. Returns the launcher's message. Ranks that abort
/// NCCL end with a line of their own.
static std::string spoiled(void (*spoil)(tessera_rt_context *, StuckDevice &),
                           double timeout) {
  return failureOf({2, arenaBytes, 1, timeout}, [=](auto *ctx) {
    std::string error;
    auto device = std::make_unique<StuckDevice>(createEmulatedDevice(0, error));
    StuckDevice &stuck = *device;
    static_cast<CudaTarget *>(ctx->target.get())->useDevice(std::move(device));
    if (openTarget(ctx, oneReduce))
      return std::string("not opened");
    if (ctx->target->step() || ctx->target->fetch({}))
      return std::string("no first step");
    spoil(ctx, stuck);
    if (ctx->target->step() == 0)
      ctx->target->fetch({});
    auto *aborted = fakeFunction<int()>("libnccl.so.2", "tessera_fake_aborted");
    if (aborted() != 2)
      fprintf(stderr, "rank %d has aborted %d communicators\n", ctx->rank,
              aborted());
    return std::string();
  });
}

TEST(communication, a_device_that_does_not_end_times_out) {
  std::string text = spoiled(
      [](tessera_rt_context *, StuckDevice &device) { device.isStuck = true; },
      1);
  EXPECT_NE(text.find("run 2 of the step is not over after 1 s: all ranks have "
                      "begun it; their devices wait for each other or do not "
                      "answer"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("aborted"), std::string::npos) << text;
}

/// Opens the target of one of two ranks, whose device does not end its steps if
/// this is rank 0.
static Status openStuck(tessera_rt_context *ctx) {
  std::string error;
  auto device = std::make_unique<StuckDevice>(createEmulatedDevice(0, error));
  device->isStuck = ctx->rank == 0;
  static_cast<CudaTarget *>(ctx->target.get())->useDevice(std::move(device));
  return openTarget(ctx, oneReduce);
}

TEST(communication, a_rank_that_begins_no_step_is_named) {
  std::string text = failureOf({2, arenaBytes, 1, 1}, [](auto *ctx) {
    if (openStuck(ctx))
      return std::string("not opened");
    // A step of rank 0 is on its device. Rank 1 makes none.
    if (ctx->rank == 0) {
      ctx->block().stepsBegun.fetch_add(1);
      ctx->target->fetch({});
    }
    for (int i = 0; i < 2000 && !ctx->memory.control->aborted.load(); ++i)
      usleep(10000);
    return std::string();
  });
  std::string expected =
      nameOf(1) + (hasNodes() ? " is running, but does not arrive; "
                              : " is running, but has not begun "
                                "it; ");
  EXPECT_NE(text.find(expected), std::string::npos) << text;
}

TEST(communication, a_rank_that_dies_is_named_though_nccl_sees_it_first) {
  std::string text = failureOf({2, arenaBytes, 1, 30}, [](auto *ctx) {
    if (ctx->rank == 0)
      setenv("FAKE_NCCL_ERROR", "1", 1);
    if (openStuck(ctx) || ctx->target->step())
      return std::string("no step");
    if (ctx->rank == 0)
      ctx->target->fetch({});
    usleep(500000);
    if (ctx->rank == 1)
      kill(getpid(), SIGKILL);
    return std::string();
  });
  // Its launcher or rank 0 sees it first.
  EXPECT_TRUE(text.find(nameOf(1) + " was killed by signal 9") !=
                  std::string::npos ||
              text.find(nameOf(1) + " is dead; ") != std::string::npos)
      << text;
}

TEST(communication, an_error_of_a_device_ends_all_ranks) {
  std::string text = spoiled(
      [](tessera_rt_context *ctx, StuckDevice &device) {
        device.isStuck = true;
        if (ctx->rank == 1)
          device.fault = "an illegal memory access was encountered";
      },
      20);
  EXPECT_NE(text.find(nameOf(1) + ": an illegal memory access was encountered"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("rank 0 has aborted"), std::string::npos) << text;
}

TEST(communication, a_missing_library_is_named) {
  std::string text = failureOf(
      {2, arenaBytes},
      [](auto *ctx) {
        setenv("TESSERA_EMULATE_LIBRARIES", "1", 1);
        setenv("TESSERA_CUDA_LIBRARY_PATH", FAKES "/old", 1);
        Manifest manifest;
        manifest.ranks = ctx->ranks;
        manifest.arenaBytes = arenaBytes;
        Options options;
        options.quiet = true;
        ctx->target->open(manifest, options, oneReduce);
        return std::string();
      },
      1);
  EXPECT_NE(text.find("expects NCCL 2.28.9 or later, but got 2.19.3"),
            std::string::npos)
      << text;
}

TEST(communication, the_recipe_for_one_device_is_in_the_environment) {
  EXPECT_EQ(runRanks({2, arenaBytes},
                     [](tessera_rt_context *ctx) -> std::string {
                       Options options;
                       options.shareDevice = true;
                       if (openTarget(ctx, oneReduce, options))
                         return "not opened";
                       std::string host = getenv("NCCL_HOSTID");
                       if (host != format("tessera-rank-%d", ctx->rank))
                         return host;
                       return strcmp(getenv("NCCL_ALGO"), "Ring") == 0 &&
                                      strcmp(getenv("NCCL_MAX_CTAS"), "1") == 0
                                  ? ""
                                  : "not the recipe";
                     }),
            0);
}

TEST(communication, nccl_gets_the_interface_of_the_node) {
  unsetenv("NCCL_SOCKET_IFNAME");
  auto body = [](tessera_rt_context *ctx) -> std::string {
    bool isChosen = ctx->rank == 1;
    if (isChosen)
      setenv("NCCL_SOCKET_IFNAME", "ib", 1);
    if (openTarget(ctx, oneReduce))
      return "not opened";
    std::string interface = getenv("NCCL_SOCKET_IFNAME");
    return interface == (isChosen ? "ib" : "=lo") ? "" : interface;
  };
  EXPECT_EQ(runRanks({2, arenaBytes}, body), 0);
}

/// Opens the targets of two ranks whose devices claim to be real ones.
static void openOnDevices(tessera_rt_context *ctx, const std::string &identity,
                          bool isShared) {
  std::string error;
  auto device = std::make_unique<StuckDevice>(createEmulatedDevice(0, error));
  device->claim(identity);
  static_cast<CudaTarget *>(ctx->target.get())->useDevice(std::move(device));
  Options options;
  options.shareDevice = isShared;
  openTarget(ctx, oneReduce, options);
}

TEST(communication, ranks_with_one_device_are_refused_unless_they_share_it) {
  if (builtinImages().numImages == 0)
    GTEST_SKIP() << "the runtime was built without kernels for devices";
  auto run = [](bool isSame, bool isShared) {
    return [=](tessera_rt_context *ctx) -> std::string {
      openOnDevices(ctx, isSame || ctx->rank == 0 ? "GPU-a" : "GPU-b",
                    isShared);
      return "";
    };
  };
  EXPECT_EQ(runRanks({2, arenaBytes}, run(false, false)), 0);
  EXPECT_EQ(runRanks({2, arenaBytes}, run(true, true)), 0);
  std::string text = failureOf({2, arenaBytes}, run(true, false), 1);
  std::string expected = nameOf(1) + ": expects a device for each rank, " +
                         (hasNodes() ? "1" : "2") +
                         " on each node, but ranks 0 and 1 would use the same "
                         "(";
  EXPECT_NE(text.find(expected), std::string::npos) << text;
}
