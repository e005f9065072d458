//===- ThreadPool.h - The threads of one rank -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A fixed set of threads that run one parallel loop at a time. The caller takes
// part. There is no work stealing and no nesting: a loop's body must not start
// another loop.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_THREADPOOL_H
#define TESSERA_RT_SRC_THREADPOOL_H

#include "Support.h"

#include <thread>
#include <vector>

namespace tessera::rt {

class ThreadPool {
public:
  /// Body of a loop over tasks: (data, task, thread), with the thread's number
  /// in [0, size()).
  using TaskFn = void (*)(void *data, int64_t task, int thread);

  /// Starts threads - 1 workers. An idle worker spins for `spinMicroseconds`
  /// before it sleeps; use 0 if cores are shared. Threads begin on the cores
  /// from `firstCore` on, round robin, but are not bound to them.
  ThreadPool(int threads, double spinMicroseconds, int firstCore = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int size() const { return int(workers.size()) + 1; }

  /// Runs tasks 0..count-1, each once, and returns when all are done. Free
  /// threads take tasks in ascending order.
  void run(TaskFn fn, void *data, int64_t count);

  /// The same for a callable (task, thread).
  template <typename Body> void forEach(int64_t count, Body &&body) {
    run(
        [](void *data, int64_t task, int thread) {
          (*static_cast<std::remove_reference_t<Body> *>(data))(task, thread);
        },
        const_cast<void *>(static_cast<const void *>(&body)), count);
  }

private:
  void work(int thread);
  void drain(int thread);
  void help(int thread);

  std::vector<std::thread> workers;
  double spinMicroseconds;
  int firstCore;
  TaskFn taskFn = nullptr;
  void *taskData = nullptr;
  int64_t taskCount = 0;
  alignas(64) std::atomic<int64_t> nextTask{0};
  /// Counts loops; idle workers wait for it to change.
  alignas(64) std::atomic<uint32_t> generation{0};
  std::atomic<uint32_t> sleepers{0};
  /// Bit 31: the loop accepts helpers. The other bits: number of workers in the
  /// loop. A worker that wakes too late finds the gate closed, and nobody waits
  /// for it.
  alignas(64) std::atomic<uint32_t> gate{0};
  std::atomic<uint32_t> callerSleeps{0};
  std::atomic<bool> stopping{false};
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_THREADPOOL_H
