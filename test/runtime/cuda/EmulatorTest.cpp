//===- EmulatorTest.cpp - Kernels on the processor ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The emulator runs correct kernels, and finds wrong ones: missing threads at a
// barrier, accesses out of bounds, races, missing waits for copies.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/emulator/Emulator.h"
#include "runtime/cuda/emulator/GuardedMemory.h"
#include "runtime/cuda/emulator/WarpOperations.h"

#include "tessera_rt_cuda.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <set>
#include <vector>

using namespace tessera::emu;

namespace {
std::string runKernel(KernelFn function, std::vector<int64_t> args,
                      int64_t grid, int32_t block, int32_t shared = 0,
                      uint64_t seed = 0) {
  Launch launch;
  launch.function = function;
  launch.args = args.data();
  launch.grid = grid;
  launch.block = block;
  launch.sharedBytes = shared;
  launch.seed = seed;
  return run(launch);
}
template <typename T> int64_t address(std::vector<T> &data) {
  return int64_t(reinterpret_cast<uintptr_t>(data.data()));
}
template <typename T> T *at(int64_t address) {
  return reinterpret_cast<T *>(address);
}

bool contains(const std::string &text, const char *part) {
  return text.find(part) != std::string::npos;
}
} // namespace

TEST(emulator, every_thread_of_every_block_runs_once) {
  for (uint64_t seed : {0, 1, 2}) {
    std::vector<int32_t> count(5 * 70);
    EXPECT_EQ(runKernel(
                  [](const int64_t *w) {
                    at<int32_t>(
                        w[0])[blockIndex() * blockSize() + threadIndex()] +=
                        int32_t(gridSize());
                  },
                  {address(count)}, 5, 70, 0, seed),
              "");
    EXPECT_EQ(count, std::vector<int32_t>(5 * 70, 5));
  }
}

TEST(emulator, barrier_and_shared_memory_reverse_a_block) {
  for (uint64_t seed : {0, 1, 7}) {
    std::vector<int32_t> data(200);
    std::iota(data.begin(), data.end(), 0);
    std::vector<int32_t> wanted(data.rbegin(), data.rend());
    EXPECT_EQ(runKernel(
                  [](const int64_t *w) {
                    auto *shared = static_cast<int32_t *>(tessera_emu_shared());
                    int32_t i = tessera_emu_thread_id();
                    shared[i] = at<int32_t>(w[0])[i];
                    tessera_emu_barrier();
                    at<int32_t>(w[0])[i] =
                        shared[tessera_emu_block_dim() - 1 - i];
                  },
                  {address(data)}, 1, 200, 800, seed),
              "");
    EXPECT_EQ(data, wanted);
  }
}

TEST(emulator, shuffles) {
  // The second warp of 40 threads has 8.
  std::vector<int32_t> data(40 * 3);
  EXPECT_EQ(runKernel(
                [](const int64_t *w) {
                  int32_t i = tessera_emu_thread_id();
                  int32_t *to = at<int32_t>(w[0]) + i * 3;
                  to[0] = tessera_emu_shuffle_xor(i, 1, 32);
                  to[1] = tessera_emu_shuffle_idx(i, 2, 4);
                  to[2] = tessera_emu_shuffle_down(i, 3, 8);
                },
                {address(data)}, 1, 40, 0, 3),
            "");
  for (int32_t i = 0; i < 40; ++i) {
    EXPECT_EQ(data[size_t(i * 3)], i ^ 1);
    EXPECT_EQ(data[size_t(i * 3 + 1)], i / 4 * 4 + 2);
    EXPECT_EQ(data[size_t(i * 3 + 2)], i % 8 < 5 ? i + 3 : i);
  }
}

TEST(emulator, votes_and_matches_are_of_the_named_lanes) {
  std::vector<uint32_t> data(64);
  EXPECT_EQ(runKernel(
                [](const int64_t *w) {
                  int i = threadIndex();
                  uint32_t mask = i < 16 ? 0xFFFFu : 0xFFFF0000u;
                  at<uint32_t>(w[0])[i] = ballot(mask, i % 3 == 0);
                  at<uint32_t>(w[0])[32 + i] = matchAny(mask, uint32_t(i % 4));
                },
                {address(data)}, 1, 32, 0, 5),
            "");
  for (int i = 0; i < 32; ++i) {
    uint32_t votes = 0, equal = 0;
    for (int j = i / 16 * 16; j < i / 16 * 16 + 16; ++j) {
      votes |= uint32_t(j % 3 == 0) << j;
      equal |= uint32_t(j % 4 == i % 4) << j;
    }
    EXPECT_EQ(data[size_t(i)], votes);
    EXPECT_EQ(data[size_t(32 + i)], equal);
  }
}

/// Computes d[16][8] = a[16][16] * b[16][8] with small integers, which is
/// exact.
static void checkFragments(bool isF16) {
  struct Shared {
    uint16_t a[16][16], b[16][8];
  };
  std::vector<float> d(16 * 8);
  auto bits = [&](int value) {
    _Float16 half = _Float16(value);
    uint16_t bits16;
    memcpy(&bits16, &half, 2);
    float f = float(value);
    uint32_t word;
    memcpy(&word, &f, 4);
    return isF16 ? bits16 : uint16_t(word >> 16);
  };
  static Shared *source;
  Shared operands;
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) {
      operands.a[i][j] = bits(i - 2 * j);
      operands.b[i][j % 8] = bits(3 * i - (j % 8));
    }
  source = &operands;
  EXPECT_EQ(
      runKernel(
          [](const int64_t *w) {
            auto *shared = reinterpret_cast<Shared *>(sharedMemory());
            int lane = threadIndex();
            if (lane == 0)
              *shared = *source;
            blockBarrier();
            uint32_t a[4], b[4];
            loadMatrices(a, &shared->a[lane & 15][lane >> 4 << 3], false);
            loadMatrices(b, shared->b[lane & 15], true);
            float sums[4] = {};
            multiplyMatrices(sums, a, b, w[1]);
            for (int e = 0; e < 4; ++e)
              at<float>(
                  w[0])[(lane / 4 + e / 2 * 8) * 8 + 2 * (lane % 4) + e % 2] =
                  sums[e];
          },
          {address(d), isF16}, 1, 32, sizeof(Shared)),
      "");
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) {
      int sum = 0;
      for (int k = 0; k < 16; ++k)
        sum += (i - 2 * k) * (3 * k - j);
      EXPECT_EQ(d[size_t(i * 8 + j)], float(sum));
    }
}

TEST(emulator, matmul_of_loaded_fragments) {
  checkFragments(/*isF16=*/false);
  checkFragments(/*isF16=*/true);
}

//===----------------------------------------------------------------------===//
// Wrong kernels
//===----------------------------------------------------------------------===//

TEST(emulator, a_barrier_that_a_thread_does_not_reach) {
  std::string error = runKernel(
      [](const int64_t *) {
        if (threadIndex() != 3)
          blockBarrier();
      },
      {}, 2, 64);
  EXPECT_EQ(error,
            "kernel, block 0, thread 0: a barrier expects all threads of "
            "the block, but thread 3 has ended");
}

TEST(emulator, a_shuffle_that_a_lane_does_not_reach) {
  std::string error = runKernel(
      [](const int64_t *) {
        if (threadIndex() % 32 < 31)
          shuffle(~0u, 1, 0);
      },
      {}, 1, 64);
  EXPECT_EQ(error, "kernel, block 0, thread 0: a shuffle expects all lanes of "
                   "its mask, but thread 31 has ended");
  error = runKernel(
      [](const int64_t *) {
        if (threadIndex() % 2)
          blockBarrier();
        else
          shuffle(~0u, 1, 0);
      },
      {}, 1, 32);
  EXPECT_TRUE(contains(error, "thread 1 is at a barrier")) << error;
}

TEST(emulator, lanes_that_meet_at_different_operations) {
  std::string error = runKernel(
      [](const int64_t *) {
        if (threadIndex() < 16)
          ballot(~0u, true);
        else
          shuffle(~0u, 1, 0);
      },
      {}, 1, 32);
  EXPECT_TRUE(contains(error, "a shuffle: lane 0 of its mask is at a ballot"))
      << error;
  error = runKernel([](const int64_t *) { ballot(2, true); }, {}, 1, 1);
  EXPECT_TRUE(contains(error, "by a lane that its mask lacks")) << error;
}

TEST(emulator, accesses_out_of_bounds_name_thread_and_allocation) {
  void *memory = allocateGuarded(100 * 4, 4);
  std::vector<int64_t> args{int64_t(reinterpret_cast<uintptr_t>(memory))};
  auto write = [](const int64_t *w) {
    at<float>(w[0])[blockIndex() * 64 + threadIndex()] = 1;
  };
  EXPECT_EQ(runKernel(write, args, 2, 64),
            "kernel, block 1, thread 36: access at byte 400 of 400 bytes "
            "allocated");
  EXPECT_EQ(runKernel([](const int64_t *w) { at<float>(w[0])[-1000] = 1; },
                      args, 1, 1),
            "kernel, block 0, thread 0: access at byte -4000 of 400 bytes "
            "allocated");
  EXPECT_EQ(freeGuarded(memory), "");
  // The access is to shared memory.
  std::string error =
      runKernel([](const int64_t *) { sharedMemory()[16 * threadIndex()] = 1; },
                {}, 1, 9, 128);
  EXPECT_TRUE(contains(error, "thread 8: access at byte 128 of 128")) << error;
  // Bytes between an allocation's end and its guard page are checked when it is
  // freed.
  memory = allocateGuarded(20, 16);
  static_cast<char *>(memory)[21] = 1;
  EXPECT_EQ(freeGuarded(memory), "a write at byte 21 of 20 bytes allocated");
}

TEST(emulator, a_stack_that_overflows) {
  struct Deep {
    // AddressSanitizer puts variables into other memory.
    __attribute__((no_sanitize("address"))) static int go(int depth) {
      volatile char room[1024];
      room[depth % 1024] = char(depth);
      return depth == 0 ? 0 : go(depth - 1) + room[depth % 1024];
    }
  };
  std::string error =
      runKernel([](const int64_t *) { Deep::go(200); }, {}, 1, 1);
  EXPECT_TRUE(contains(error, "its stack overflows")) << error;
}

TEST(emulator, a_race_gives_other_results_in_other_orders) {
  // Every thread reads its neighbor's element without a barrier before.
  auto racy = [](const int64_t *w) {
    auto *shared = reinterpret_cast<int32_t *>(sharedMemory());
    int i = threadIndex();
    shared[i] = i;
    at<int32_t>(w[0])[i] = shared[(i + 1) % blockSize()];
  };
  std::set<std::vector<int32_t>> results;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    std::vector<int32_t> data(64);
    EXPECT_EQ(runKernel(racy, {address(data)}, 1, 64, 256, seed), "");
    results.insert(data);
  }
  EXPECT_GT(results.size(), 1u);
}

TEST(emulator, blocks_in_another_order) {
  auto last = [](const int64_t *w) { at<int64_t>(w[0])[0] = blockIndex(); };
  std::set<int64_t> results;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    std::vector<int64_t> data(1);
    EXPECT_EQ(runKernel(last, {address(data)}, 10, 1, 0, seed), "");
    results.insert(data[0]);
  }
  EXPECT_GT(results.size(), 1u);
}

TEST(emulator, asynchronous_copies_are_there_once_waited_for) {
  std::vector<int32_t> data(8, 7), seen(12);
  auto copy = [](const int64_t *w) {
    auto *shared = reinterpret_cast<int32_t *>(sharedMemory());
    shared[0] = shared[4] = 1;
    copyAsync16(shared, at<void>(w[0]));
    commitAsync();
    copyAsync16(shared + 4, nullptr);
    commitAsync();
    int32_t *to = at<int32_t>(w[1]);
    to[0] = shared[0];
    waitAsync(1);
    to[1] = shared[0];
    to[2] = shared[4];
    waitAsync(0);
    to[3] = shared[4];
  };
  EXPECT_EQ(runKernel(copy, {address(data), address(seen)}, 1, 1, 32), "");
  EXPECT_EQ(std::vector<int32_t>(seen.begin(), seen.begin() + 4),
            (std::vector<int32_t>{1, 7, 1, 0}));
  std::string error = runKernel(
      [](const int64_t *w) { copyAsync16(sharedMemory(), at<void>(w[0])); },
      {address(data)}, 1, 1, 16);
  EXPECT_TRUE(contains(error, "copies it did not wait for")) << error;
}

TEST(emulator, impossible_launches_are_refused) {
  EXPECT_NE(runKernel([](const int64_t *) {}, {}, 1, 1025), "");
  EXPECT_NE(runKernel([](const int64_t *) {}, {}, -1, 32), "");
  EXPECT_EQ(runKernel([](const int64_t *) {}, {}, 0, 32), "");
}
