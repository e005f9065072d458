//===- EmulatedDeviceTest.cpp - Streams, events and graphs ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An emulated device with a seed runs work in any order that streams and events
// allow. Programs with all their events give one result; a program that
// lacks an event gives several.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/emulator/EmulatedDevice.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

using namespace tessera::rt::cuda;

namespace {
/// A device with two streams, an event for each direction, and a block of
/// memory.
struct TwoStreams {
  std::unique_ptr<Device> device;
  Stream a, b;
  Event toB, toA;
  void *memory = nullptr;
  /// True if all work is expected to succeed.
  bool valid = true;

  explicit TwoStreams(uint64_t seed) {
    EmulatedDeviceOptions options;
    options.seed = seed;
    device = createEmulatedDevice(options);
    EXPECT_EQ(device->createStream(false, a), "");
    EXPECT_EQ(device->createStream(true, b), "");
    EXPECT_EQ(device->createEvent(false, toB), "");
    EXPECT_EQ(device->createEvent(false, toA), "");
    EXPECT_EQ(device->allocate(64, memory), "");
  }
  ~TwoStreams() {
    EXPECT_EQ(device->destroy(a).empty(), valid);
    EXPECT_EQ(device->destroy(b).empty(), valid);
    device->destroy(toA);
    device->destroy(toB);
    EXPECT_EQ(device->release(memory), "");
  }

  /// Writes 1 on one stream and 2 on the other, and reads the result.
  void enqueue(bool withEvents, uint8_t *result) {
    EXPECT_EQ(device->fillBytes(a, memory, 1, 64), "");
    EXPECT_EQ(device->record(toB, a), "");
    if (withEvents) {
      EXPECT_EQ(device->wait(b, toB), "");
    }
    EXPECT_EQ(device->fillBytes(b, memory, 2, 64), "");
    EXPECT_EQ(device->record(toA, b), "");
    if (withEvents) {
      EXPECT_EQ(device->wait(a, toA), "");
    }
    EXPECT_EQ(device->copyOut(a, result, memory, 1), "");
  }
};
} // namespace

TEST(emulated_device, events_order_streams) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    TwoStreams setup(seed);
    uint8_t result = 0;
    setup.enqueue(true, &result);
    EXPECT_EQ(setup.device->synchronize(setup.a), "");
    EXPECT_EQ(result, 2);
  }
}

TEST(emulated_device, a_missing_event_shows) {
  std::set<int> results;
  for (uint64_t seed = 1; seed < 20; ++seed) {
    TwoStreams setup(seed);
    uint8_t result = 0;
    setup.enqueue(false, &result);
    EXPECT_EQ(setup.device->synchronize(setup.a), "");
    EXPECT_EQ(setup.device->synchronize(setup.b), "");
    results.insert(result);
  }
  EXPECT_EQ(results.size(), 2u);
}

TEST(emulated_device, graphs_repeat_what_was_recorded) {
  for (bool withEvents : {true, false}) {
    std::set<int> results;
    for (uint64_t seed = 1; seed < 20; ++seed) {
      TwoStreams setup(seed);
      uint8_t result = 9;
      EXPECT_EQ(setup.device->beginCapture(setup.a), "");
      void *more;
      EXPECT_NE(setup.device->allocate(16, more), "");
      EXPECT_NE(setup.device->synchronize(setup.a), "");
      Graph graph;
      if (withEvents) {
        setup.enqueue(true, &result);
      } else {
        // The streams are joined at the end, but not in between.
        EXPECT_EQ(setup.device->record(setup.toB, setup.a), "");
        EXPECT_EQ(setup.device->wait(setup.b, setup.toB), "");
        EXPECT_EQ(setup.device->fillBytes(setup.a, setup.memory, 1, 64), "");
        EXPECT_EQ(setup.device->fillBytes(setup.b, setup.memory, 2, 64), "");
        EXPECT_EQ(setup.device->record(setup.toA, setup.b), "");
        EXPECT_EQ(setup.device->copyOut(setup.a, &result, setup.memory, 1), "");
        EXPECT_EQ(setup.device->wait(setup.a, setup.toA), "");
      }
      EXPECT_EQ(setup.device->endCapture(setup.a, graph), "");
      EXPECT_EQ(result, 9) << "nothing is done while it is recorded";
      int64_t nodes = 0;
      EXPECT_EQ(setup.device->graphSize(graph, nodes), "");
      EXPECT_EQ(nodes, 3);
      for (int repeat = 0; repeat < 3; ++repeat) {
        result = 9;
        EXPECT_EQ(setup.device->launchGraph(setup.a, graph), "");
        EXPECT_EQ(setup.device->synchronize(setup.a), "");
        results.insert(result);
      }
      EXPECT_EQ(setup.device->destroy(graph), "");
    }
    EXPECT_EQ(results.size(), withEvents ? 1u : 2u);
  }
}

TEST(emulated_device, a_stream_that_is_not_joined_again_is_refused) {
  TwoStreams setup(0);
  EXPECT_EQ(setup.device->beginCapture(setup.a), "");
  EXPECT_EQ(setup.device->record(setup.toB, setup.a), "");
  EXPECT_EQ(setup.device->wait(setup.b, setup.toB), "");
  EXPECT_EQ(setup.device->fillBytes(setup.b, setup.memory, 1, 8), "");
  Graph graph;
  EXPECT_EQ(setup.device->endCapture(setup.a, graph),
            "work number 0 of a recording is on a stream that was not joined "
            "again");
}

TEST(emulated_device, work_is_put_off_until_somebody_waits) {
  TwoStreams setup(5);
  uint8_t value = 0;
  EXPECT_EQ(setup.device->fillBytes(setup.a, setup.memory, 3, 64), "");
  EXPECT_EQ(setup.device->copyOut(setup.a, &value, setup.memory, 1), "");
  EXPECT_EQ(setup.device->record(setup.toB, setup.a), "");
  EXPECT_EQ(value, 0);
  bool happened = false;
  int questions = 0;
  while (!happened && questions < 100) {
    EXPECT_EQ(setup.device->query(setup.toB, happened), "");
    ++questions;
  }
  EXPECT_EQ(value, 3);
  EXPECT_GT(questions, 1);
  EXPECT_EQ(setup.device->query(setup.toA, happened), "");
  EXPECT_TRUE(happened) << "an event that was never recorded";
}

TEST(emulated_device, faults_of_kernels_come_with_the_next_wait) {
  TwoStreams setup(3);
  static const char *const name = "beyond";
  static const tessera_rt_emulated_fn function = [](const int64_t *args) {
    reinterpret_cast<char *>(args[0])[64] = 1;
  };
  KernelImages images;
  images.names = &name;
  images.numKernels = 1;
  images.emulated = &function;
  Module module;
  Kernel kernel;
  ASSERT_EQ(setup.device->loadImages(images, module), "");
  EXPECT_EQ(setup.device->getKernel(module, "other", kernel),
            "no kernel is named other");
  ASSERT_EQ(setup.device->getKernel(module, "beyond", kernel), "");
  int64_t word = int64_t(reinterpret_cast<uintptr_t>(setup.memory)) + 192;
  EXPECT_EQ(setup.device->launch(setup.a, kernel, {1, 1, 0}, &word, 1,
                                 Parameters::Separate),
            "");
  EXPECT_EQ(setup.device->synchronize(setup.a),
            "beyond, block 0, thread 0: access at byte 256 of 64 bytes "
            "allocated");
  EXPECT_NE(setup.device->fillBytes(setup.b, setup.memory, 0, 1), "");
  setup.valid = false;
}

TEST(emulated_device, memory_has_a_limit_and_allocations_are_counted) {
  EmulatedDeviceOptions options;
  options.memoryBytes = 1000;
  std::unique_ptr<Device> device = createEmulatedDevice(options);
  void *first = nullptr, *second = nullptr;
  EXPECT_EQ(device->allocate(600, first), "");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 256, 0u);
  EXPECT_EQ(device->allocate(600, second),
            "the emulated device has 1000 bytes, of which 600 are in use, and "
            "was asked for 600");
  EXPECT_EQ(device->release(first), "");
  EXPECT_EQ(device->allocate(600, second), "");
  EXPECT_EQ(device->numAllocations(), 2);
  EXPECT_EQ(device->allocatedBytes(), 1200);
  EXPECT_EQ(device->release(second), "");
  EXPECT_NE(device->release(second), "");
}

TEST(emulated_device, threads_with_queues_of_their_own) {
  for (uint64_t seed : {0, 4}) {
    EmulatedDeviceOptions options;
    options.seed = seed;
    auto play = [&](uint8_t value, uint8_t *result) {
      std::unique_ptr<Device> device = createEmulatedDevice(options);
      Stream stream;
      void *memory;
      device->createStream(false, stream);
      device->allocate(4096, memory);
      for (int i = 0; i < 200; ++i)
        device->fillBytes(stream, memory, value, 4096);
      device->copyOut(stream, result, memory, 1);
      device->synchronize(stream);
      device->destroy(stream);
    };
    uint8_t results[3] = {};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
      threads.emplace_back(play, uint8_t(i + 1), &results[i]);
    for (std::thread &thread : threads)
      thread.join();
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(results[i], i + 1);
  }
}
