//===- CudaTargetTest.cpp - Steps on a device -----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One rank on an emulated device. A step that is noted, enqueued, recorded and
// replayed computes the same each time, in every order that events allow, and
// nothing is allocated after the first steps.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/CudaTarget.h"
#include "Collectives.h"
#include "FakeDevice.h"
#include "Ranks.h"
#include "runtime/cuda/emulator/EmulatedDevice.h"
#include "runtime/src/host/StateSource.h"

#include <gtest/gtest.h>
#include <thread>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

/// Computes to[i] = (to[i] + from[i] * factor) mod 7 for i < count; integers
/// stay exact.
static void addScaled(const int64_t *args) {
  float *to = reinterpret_cast<float *>(args[0]);
  const float *from = reinterpret_cast<const float *>(args[1]);
  int64_t i = tessera_emu_block_id() * tessera_emu_block_dim() +
              tessera_emu_thread_id();
  if (i < args[2])
    to[i] = float(int64_t(to[i] + from[i] * float(args[3])) % 7);
}

extern "C" {
const tessera_rt_device_image tessera_program_images[] = {{0, 0, nullptr, 0}};
const int32_t tessera_program_num_images = 0;
const char *const tessera_program_kernels[] = {"add_scaled"};
const int32_t tessera_program_num_kernels = 1;
}
static const tessera_rt_emulated_fn emulated[] = {addScaled};
extern "C" {
const tessera_rt_emulated_fn *const tessera_program_emulated_kernels = emulated;
}

constexpr int64_t n = 16;
constexpr int64_t xOffset = 0, yOffset = 1024, zOffset = 2048, sumOffset = 3072,
                  lossOffset = 4096;
static int32_t calls = 0;

static int32_t addTo(tessera_rt_context *ctx, int64_t to, int64_t from,
                     int64_t count, int64_t factor) {
  uint8_t *arena = tessera_rt_arena(ctx);
  int64_t args[4] = {int64_t(arena + to), int64_t(arena + from), count, factor};
  return tessera_rt_launch_device(ctx, 0, args, 4, (count + 31) / 32, 32, 0);
}

/// y = 1 + 2x; z = y transposed; x += z y; sum = x, by a collective of one
/// rank; loss += sum.
static int32_t step(tessera_rt_context *ctx) {
  ++calls;
  uint8_t *arena = tessera_rt_arena(ctx);
  float one = 1;
  int32_t bits;
  memcpy(&bits, &one, 4);
  int64_t shape[2] = {4, 4}, rows[2] = {4, 1}, columns[2] = {1, 4};
  tessera_rt_matmul_desc d = {
      TESSERA_RT_F32, TESSERA_RT_F32, 1, 4, 4, 4, 4, 4, 4, 0, 0, 0, 0, 0, 1};
  int32_t status = tessera_rt_fill(ctx, 4, yOffset, n, bits);
  if (!status)
    status = addTo(ctx, yOffset, xOffset, n, 2);
  if (!status)
    status = tessera_rt_copy(ctx, 4, 2, shape, yOffset, rows, nullptr, zOffset,
                             columns, nullptr);
  if (!status)
    status = tessera_rt_state_fence(ctx);
  if (!status)
    status = tessera_rt_matmul(ctx, &d, arena + zOffset, arena + yOffset,
                               arena + xOffset, nullptr, nullptr);
  if (!status)
    status = allReduce({1, 1}, TESSERA_RT_F32, TESSERA_RT_SUM, n)
                 .start(ctx, 3, 1, xOffset, sumOffset);
  if (!status)
    status = tessera_rt_wait(ctx, 3);
  if (!status)
    status = addTo(ctx, lossOffset, sumOffset, 1, 1);
  return status;
}

/// Computes the effect of one step on x and loss, on the host.
static void reference(std::vector<float> &x, float &loss) {
  std::vector<float> y(n), z(n);
  for (size_t i = 0; i < size_t(n); ++i)
    y[i] = float(int64_t(1 + x[i] * 2) % 7);
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = 0; j < 4; ++j)
      z[j * 4 + i] = y[i * 4 + j];
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = 0; j < 4; ++j)
      for (size_t k = 0; k < 4; ++k)
        x[i * 4 + j] += z[i * 4 + k] * y[k * 4 + j];
  loss = float(int64_t(loss + x[0]) % 7);
}

//===----------------------------------------------------------------------===//
// The rank
//===----------------------------------------------------------------------===//

namespace {
class CudaTargetTest : public testing::Test {
protected:
  void SetUp() override {
    unsetenv("TESSERA_EMULATE_LIBRARIES");
    streamDevice() = nullptr;
    manifest.ranks = 1;
    manifest.arenaBytes = 8192;
    manifest.mesh = {{"x", 1}};
    options.quiet = true;
    options.tune = Options::TuneOff;
    calls = 0;
  }

  /// Opens a rank whose device has this seed.
  void open(uint64_t seed, ProgramStep program = step) {
    rank = std::make_unique<SingleRank>(1, manifest.arenaBytes);
    EmulatedDeviceOptions device;
    device.seed = seed;
    target().useDevice(createEmulatedDevice(device));
    ASSERT_EQ(target().open(manifest, options, program), 0) << failure();
  }
  CudaTarget &target() {
    return *static_cast<CudaTarget *>(ctx()->target.get());
  }
  tessera_rt_context *ctx() { return *rank; }
  const char *failure() { return ctx()->memory.control->failure; }

  void put(int64_t offset, const std::vector<float> &values) {
    memcpy(rank->arena() + offset, values.data(), values.size() * 4);
    ASSERT_EQ(target().send({offset, int64_t(values.size()) * 4}), 0);
  }
  std::vector<float> get(int64_t offset, size_t count) {
    EXPECT_EQ(target().fetch({{offset, int64_t(count) * 4}}), 0) << failure();
    std::vector<float> values(count);
    memcpy(values.data(), rank->arena() + offset, count * 4);
    return values;
  }

  Manifest manifest;
  Options options;
  std::unique_ptr<SingleRank> rank;
};
} // namespace

TEST_F(CudaTargetTest, replayed_steps_compute_what_the_first_does) {
  for (bool graph : {true, false})
    for (uint64_t seed : {0, 1, 2, 3, 4, 5}) {
      options.noGraph = !graph;
      open(seed);
      EXPECT_EQ(calls, 1);
      EXPECT_EQ(target().notes().matmuls.size(), 1u);
      EXPECT_EQ(target().notes().collectives.size(), 1u);
      std::vector<float> x(n);
      for (size_t i = 0; i < x.size(); ++i)
        x[i] = float(i % 3);
      float loss = 0;
      put(xOffset, x);
      put(lossOffset, {0});
      for (int i = 0; i < 5; ++i) {
        ASSERT_EQ(target().step(), 0) << failure();
        reference(x, loss);
        EXPECT_EQ(get(xOffset, n), x) << "step " << i << " seed " << seed;
        EXPECT_EQ(get(lossOffset, 1)[0], loss);
      }
      // The step is noted, enqueued, recorded, and then never called again.
      EXPECT_EQ(calls, graph ? 3 : 6);
      EXPECT_NE(
          target().describeJson().find("\"allocations_after_two_steps\": 0"),
          std::string::npos)
          << target().describeJson();
      EXPECT_EQ(target().describeJson().find("\"graph_nodes\": 0") ==
                    std::string::npos,
                graph);
      calls = 0;
    }
}

namespace {
/// Takes the state at the last moment.
struct LateReader : StateReader {
  SingleRank *rank = nullptr;
  CudaTarget *target = nullptr;
  int waits = 0;
  bool hangs = false;
  std::vector<float> seen = std::vector<float>(n);

  bool waitFor(double seconds) override {
    if (seconds == 0 || hangs)
      return false;
    ++waits;
    EXPECT_EQ(target->fetch({{xOffset, n * 4}}), 0);
    memcpy(seen.data(), rank->arena() + xOffset, n * 4);
    return true;
  }
  double patience() const override { return 0.01; }
};
} // namespace

TEST_F(CudaTargetTest, a_step_waits_for_the_reader_of_state) {
  for (bool graph : {true, false})
    for (uint64_t seed : {0, 1, 2, 3, 4}) {
      options.noGraph = !graph;
      calls = 0;
      open(seed);
      std::vector<float> x(n, 1);
      float loss = 0;
      put(xOffset, x);
      put(lossOffset, {0});
      LateReader reader;
      reader.rank = rank.get();
      reader.target = &target();
      // The first step, the one that would be recorded, and a later one.
      for (int i = 0; i < 7; ++i) {
        bool isRead = i % 3 != 2;
        ctx()->stateReader = isRead ? &reader : nullptr;
        int before = calls, waits = reader.waits;
        ASSERT_EQ(target().step(), 0) << failure();
        EXPECT_EQ(reader.waits - waits, isRead);
        if (isRead)
          EXPECT_EQ(reader.seen, x) << "step " << i << " seed " << seed;
        // Without a reader the step is recorded once, then replayed.
        EXPECT_EQ(calls - before, isRead || !graph || i == 2);
        reference(x, loss);
        EXPECT_EQ(get(xOffset, n), x) << "step " << i << " seed " << seed;
        EXPECT_EQ(get(lossOffset, 1)[0], loss);
      }
    }
}

TEST_F(CudaTargetTest, a_reader_that_hangs_ends_the_step) {
  open(0);
  LateReader reader;
  reader.hangs = true;
  ctx()->stateReader = &reader;
  EXPECT_EQ(target().step(), TESSERA_RT_SYSTEM);
  EXPECT_NE(strstr(failure(), "does not answer"), nullptr) << failure();
}

TEST_F(CudaTargetTest, another_thread_copies_state) {
  for (uint64_t seed : {0, 1, 2, 3, 4}) {
    open(seed);
    std::vector<float> x(n);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = float(i);
    put(xOffset, x);
    std::unique_ptr<StateSource> source;
    ASSERT_EQ(target().createStateSource(source), 0) << failure();
    uint8_t *memory = nullptr;
    ASSERT_EQ(source->allocate(n * 4, memory), "");
    // Each checkpoint has a thread of its own.
    for (int i = 0; i < 2; ++i) {
      memset(memory, 0, n * 4);
      std::thread copier([&] {
        EXPECT_EQ(source->enter(), "");
        EXPECT_GT(source->pieceBytes(), 0);
        EXPECT_EQ(source->copy(memory, xOffset + 16, n * 4 - 16), "");
        EXPECT_EQ(source->copy(memory + n * 4 - 16, xOffset, 16), "");
        EXPECT_EQ(source->wait(), "");
      });
      // The rank's own work goes on meanwhile.
      std::vector<float> y(n, float(i));
      put(yOffset, y);
      EXPECT_EQ(get(yOffset, n), y);
      copier.join();
      std::vector<float> turned(x.begin() + 4, x.end());
      turned.insert(turned.end(), x.begin(), x.begin() + 4);
      EXPECT_EQ(memcmp(memory, turned.data(), n * 4), 0) << "seed " << seed;
    }
  }
}

TEST_F(CudaTargetTest, blocks_are_moved) {
  open(7);
  std::vector<float> y(n, 6);
  put(yOffset, y);
  ASSERT_EQ(target().move(zOffset, yOffset, n * 4), 0);
  EXPECT_EQ(get(zOffset, n), y);
}

TEST_F(CudaTargetTest, large_blocks_come_by_parts_and_back) {
  manifest.arenaBytes = 1 << 20;
  std::vector<float> values(200000);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = float(i);
  int64_t bytes = int64_t(values.size()) * 4;
  for (uint64_t seed : {0, 1, 2, 3}) {
    open(seed);
    std::unique_ptr<PartSender> sender;
    ASSERT_EQ(target().createPartSender(sender), 0) << failure();
    ASSERT_LT(sender->partBytes(), bytes);
    for (int64_t begin = 0; begin < bytes; begin += sender->partBytes()) {
      int64_t some = std::min(sender->partBytes(), bytes - begin);
      uint8_t *part = nullptr;
      ASSERT_EQ(sender->next(part), 0) << failure();
      memcpy(part, reinterpret_cast<uint8_t *>(values.data()) + begin,
             size_t(some));
      ASSERT_EQ(sender->send({begin, some}), 0) << failure();
    }
    sender.reset();
    // No page of the host's arena was needed.
    EXPECT_EQ(reinterpret_cast<float *>(rank->arena())[100000], 0);
    EXPECT_EQ(get(0, values.size()), values) << "seed " << seed;
  }
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

static void hostKernel(const int64_t *, int64_t, int64_t) {}

TEST_F(CudaTargetTest, calls_of_the_host_are_refused) {
  rank = std::make_unique<SingleRank>(1, manifest.arenaBytes);
  EXPECT_EQ(target().open(manifest, options,
                          [](tessera_rt_context *ctx) -> int32_t {
                            return tessera_rt_launch(ctx, hostKernel, nullptr,
                                                     0, 8, 1);
                          }),
            TESSERA_RT_INVALID);
  EXPECT_STREQ(failure(),
               "rank 0: a program for devices launches a kernel of the host");
}

TEST_F(CudaTargetTest, impossible_launches_are_refused) {
  rank = std::make_unique<SingleRank>(1, manifest.arenaBytes);
  EXPECT_EQ(target().open(manifest, options,
                          [](tessera_rt_context *ctx) -> int32_t {
                            return tessera_rt_launch_device(ctx, 1, nullptr, 0,
                                                            8, 32, 0);
                          }),
            TESSERA_RT_INVALID);
  EXPECT_STREQ(failure(),
               "rank 0: launch expects one of 1 kernels, a grid below 2^31 and "
               "blocks of 1 to 1024 threads, but got kernel 1, 8 blocks of 32");
}

TEST_F(CudaTargetTest, writes_after_watched_blocks_are_found) {
  open(0, [](tessera_rt_context *ctx) -> int32_t {
    int32_t status = tessera_rt_block_begin(ctx, xOffset, n * 4, 0);
    if (!status)
      status = tessera_rt_fill(ctx, 4, xOffset, n + 1, 0);
    return status ? status : tessera_rt_block_end(ctx, xOffset, n * 4, 0);
  });
  ASSERT_EQ(target().step(), 0);
  EXPECT_EQ(target().fetch({}), TESSERA_RT_SYSTEM);
  EXPECT_STREQ(failure(), "rank 0: memory after the block of 64 bytes at "
                          "offset 0 was written, at byte 64 of it");
}

TEST_F(CudaTargetTest, a_device_that_does_not_answer_is_not_waited_for) {
  open(0, [](tessera_rt_context *ctx) -> int32_t {
    return tessera_rt_fill(ctx, 4, xOffset, 1, 0);
  });
  // The event never happens; meanwhile another rank has asked to stop.
  recordFailure(ctx()->memory, 1, TESSERA_RT_INVALID, "rank 1: something");
  ASSERT_EQ(target().step(), 0);
  EXPECT_EQ(target().fetch({}), TESSERA_RT_ABORTED);
}

TEST_F(CudaTargetTest, memory_is_limited) {
  rank = std::make_unique<SingleRank>(1, manifest.arenaBytes);
  EXPECT_EQ(target().limitMemory(manifest, 4096),
            "needs 8192 bytes for the arena of its plan, but --memory-limit "
            "gives 4096");
  EXPECT_EQ(target().limitMemory(manifest, 10000), "");
  EXPECT_EQ(target().open(manifest, options, step), TESSERA_RT_INVALID);
  EXPECT_NE(strstr(failure(), "bytes on its device, but --memory-limit gives "
                              "10000"),
            nullptr)
      << failure();
}
