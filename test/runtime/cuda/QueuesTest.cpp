//===- QueuesTest.cpp - Streams and events of the emulator on threads -----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads with queues of their own, as ranks have them, that synchronize
// through events. ThreadSanitizer runs these tests, because they need no
// fibers.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/emulator/Queues.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

using namespace tessera::emu;

namespace {
/// Seeds of queues: work runs at once, or when somebody waits.
const uint64_t kSeeds[] = {0, 1, 2};

/// Runs `body(0)` and `body(1)` on a thread each.
template <typename Body> void runTwo(Body body) {
  std::thread other([&] { body(1); });
  body(0);
  other.join();
}
} // namespace

// One thread records an event repeatedly; another one queries it and waits for
// it.
TEST(queues, an_event_recorded_while_another_thread_asks) {
  for (uint64_t seed : kSeeds) {
    Queue first(seed), second(seed);
    QueueEvent event;
    std::atomic<int> done{0}, seen{0};
    runTwo([&](int thread) {
      for (int i = 0; i < 200; ++i)
        if (thread == 0) {
          EXPECT_EQ(first.enqueue([&] { return ++done, std::string(); }), "");
          EXPECT_EQ(first.record(event), "");
        } else {
          bool hasHappened = false;
          double seconds = 0;
          EXPECT_EQ(event.query(hasHappened), "");
          event.time(seconds);
          EXPECT_EQ(second.wait(event), "");
          EXPECT_EQ(second.enqueue([&] { return ++seen, std::string(); }), "");
        }
      EXPECT_EQ((thread == 0 ? first : second).synchronize(), "");
    });
    EXPECT_EQ(done, 200);
    EXPECT_EQ(seen, 200);
  }
}

// Work after a wait sees the effects of the other thread's queue before the
// event.
TEST(queues, work_is_ordered_by_an_event_of_another_thread) {
  for (uint64_t seed : kSeeds)
    for (int round = 0; round < 50; ++round) {
      Queue first(seed), second(seed);
      QueueEvent event;
      int64_t value = 0, seen = 0;
      first.enqueue([&] { return value = 7, std::string(); });
      first.record(event);
      std::thread waiting([&] {
        EXPECT_EQ(second.wait(event), "");
        second.enqueue([&] { return seen = value, std::string(); });
        EXPECT_EQ(second.synchronize(), "");
      });
      EXPECT_EQ(first.synchronize(), "");
      waiting.join();
      EXPECT_EQ(seen, 7);
    }
}

// Each thread records graphs of its own; the end of a recording reads all
// queues.
TEST(queues, graphs_are_recorded_on_two_threads) {
  for (uint64_t seed : kSeeds) {
    std::atomic<int> runs{0};
    runTwo([&](int) {
      for (int i = 0; i < 50; ++i) {
        Queue origin(seed), joined(seed);
        QueueEvent fork, join;
        QueueGraph graph;
        auto work = [&] { return ++runs, std::string(); };
        EXPECT_EQ(origin.beginCapture(), "");
        EXPECT_EQ(origin.record(fork), "");
        EXPECT_EQ(joined.wait(fork), "");
        EXPECT_EQ(joined.enqueue(work), "");
        EXPECT_EQ(joined.record(join), "");
        EXPECT_EQ(origin.enqueue(work), "");
        EXPECT_EQ(origin.wait(join), "");
        EXPECT_EQ(origin.endCapture(graph), "");
        EXPECT_EQ(graph.size(), 2);
        EXPECT_EQ(origin.launch(graph, seed), "");
        EXPECT_EQ(origin.synchronize(), "");
      }
    });
    EXPECT_EQ(runs, 2 * 50 * 2);
  }
}

// A queue is destroyed while another queue's thread runs its last work.
TEST(queues, a_queue_ends_after_its_work) {
  for (int round = 0; round < 50; ++round) {
    auto ending = std::make_unique<Queue>(1);
    Queue other(1);
    QueueEvent event;
    bool isDone = false;
    ending->enqueue([&] {
      std::this_thread::yield();
      return isDone = true, std::string();
    });
    ending->record(event);
    std::thread waiting([&] {
      EXPECT_EQ(other.wait(event), "");
      EXPECT_EQ(other.synchronize(), "");
    });
    for (bool hasHappened = false; !hasHappened;)
      EXPECT_EQ(event.query(hasHappened), "");
    ending.reset();
    waiting.join();
    EXPECT_TRUE(isDone);
  }
}
