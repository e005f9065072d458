//===- ThreadPool.cpp - The threads of one rank ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See ThreadPool.h. Workers and caller spin briefly, then sleep on futexes.
//
//===----------------------------------------------------------------------===//

#include "ThreadPool.h"

#include <sched.h>

using namespace tessera::rt;

/// Spins until `done()` or until the time is over; returns the last `done()`.
template <typename Condition>
static bool spinUntil(double microseconds, Condition &&done) {
  if (done())
    return true;
  if (microseconds <= 0)
    return false;
  double end = monotonicSeconds() + microseconds * 1e-6;
  do {
    for (int i = 0; i < 32; ++i) {
      if (done())
        return true;
      spinPause();
    }
  } while (monotonicSeconds() < end);
  return done();
}

/// Moves the calling thread to the `index`-th core on which it may run, then
/// lets it run anywhere again. Otherwise new threads may share one core for the
/// first tenths of a second, the whole duration of a short run.
static void pinToCore(int index) {
  cpu_set_t allowed, one;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
    return;
  int cores = CPU_COUNT(&allowed);
  for (int core = 0, seen = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || seen++ != index % cores)
      continue;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof(one), &one);
    sched_setaffinity(0, sizeof(allowed), &allowed);
  }
}

ThreadPool::ThreadPool(int threads, double spinMicroseconds, int firstCore)
    : spinMicroseconds(spinMicroseconds), firstCore(firstCore) {
  if (threads > 1 || firstCore > 0)
    pinToCore(firstCore);
  for (int i = 1; i < threads; ++i)
    workers.emplace_back([this, i] { work(i); });
}

ThreadPool::~ThreadPool() {
  stopping.store(true);
  generation.fetch_add(1);
  futexWakeAll(generation);
  for (std::thread &worker : workers)
    worker.join();
}

void ThreadPool::drain(int thread) {
  for (int64_t task = nextTask.fetch_add(1); task < taskCount;
       task = nextTask.fetch_add(1))
    taskFn(taskData, task, thread);
}

static constexpr uint32_t gateOpen = 1u << 31;

void ThreadPool::help(int thread) {
  uint32_t seen = gate.load();
  do {
    if (!(seen & gateOpen))
      return;
  } while (!gate.compare_exchange_weak(seen, seen + 1));
  drain(thread);
  if (gate.fetch_sub(1) == 1 && callerSleeps.load())
    futexWakeAll(gate);
}

void ThreadPool::work(int thread) {
  pinToCore(firstCore + thread);
  uint32_t seen = 0;
  for (;;) {
    auto changed = [&] { return generation.load() != seen; };
    if (!spinUntil(spinMicroseconds, changed)) {
      sleepers.fetch_add(1);
      while (!changed())
        futexWait(generation, seen, 3600);
      sleepers.fetch_sub(1);
    }
    seen = generation.load();
    if (stopping.load())
      return;
    help(thread);
  }
}

void ThreadPool::run(TaskFn fn, void *data, int64_t count) {
  if (workers.empty() || count <= 1) {
    for (int64_t task = 0; task < count; ++task)
      fn(data, task, 0);
    return;
  }
  taskFn = fn;
  taskData = data;
  taskCount = count;
  nextTask.store(0);
  gate.store(gateOpen);
  generation.fetch_add(1);
  if (sleepers.load())
    futexWakeAll(generation);
  drain(0);
  gate.fetch_and(~gateOpen);
  auto done = [&] { return gate.load() == 0; };
  if (spinUntil(spinMicroseconds, done))
    return;
  callerSleeps.store(1);
  for (uint32_t left = gate.load(); left != 0; left = gate.load())
    futexWait(gate, left, 3600);
  callerSleeps.store(0);
}
