//===- Simulate.cpp - All ranks in one process ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Launcher.h. Every rank is a thread with its own context. Ranks
// synchronize over the same shared memory as processes do.
//
//===----------------------------------------------------------------------===//

#include "ranks/Launcher.h"

#include <cstring>
#include <signal.h>
#include <thread>
#include <unistd.h>

using namespace tessera::rt;

/// Runs in the thread of a rank.
static void runThread(const SharedMemory &memory, int rank,
                      const Manifest &manifest, const Options &options,
                      RankBody body, std::atomic<int> &left,
                      std::atomic<int> &failed) {
  {
    tessera_rt_context ctx;
    ctx.memory = memory;
    ctx.launched = true;
    ctx.block().enter();
    ctx.block().state.store(RankState::Running);
    prepareContext(ctx, rank, manifest, options);
    if (int status = body(&ctx, manifest, options))
      failed.store(status);
  }
  --left;
}

int tessera::rt::simulateRanks(const Manifest &manifest, const Options &options,
                               RankBody body) {
  SharedMemory memory;
  if (!createMemory(memory, manifest, onOneNode(manifest.ranks)))
    return 1;

  // Only this thread receives signals.
  sigset_t watched, before;
  sigemptyset(&watched);
  addStopSignals(watched);
  sigaddset(&watched, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &watched, &before);
  std::atomic<int> left{manifest.ranks};
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < manifest.ranks; ++rank)
    threads.emplace_back([&, rank] {
      runThread(memory, rank, manifest, options, body, left, failed);
    });
  while (left.load() > 0) {
    timespec shortly{0, 10000000};
    int received = sigtimedwait(&watched, nullptr, &shortly);
    if (received == SIGUSR1) {
      memory.control->checkpointAsked.store(1);
      continue;
    }
    int32_t none = 0;
    if (received < 0 ||
        memory.control->stopSignal.compare_exchange_strong(none, received))
      continue;
    // Threads cannot be ended one by one.
    fprintf(stderr, "tessera: error: interrupted by %s\n", strsignal(received));
    fflush(stdout);
    _exit(128 + received);
  }
  for (std::thread &thread : threads)
    thread.join();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  int exitCode = failed.load();
  bool isFailure = exitCode != 0;
  if (isFailure)
    fprintf(stderr, "tessera: error: %s\n", memory.control->failure);
  // Work on a failed device may never end, and a normal exit would wait for it.
  if (isFailure && targetKind.hasDevices) {
    fflush(nullptr);
    _exit(exitCode);
  }
  if (!isFailure)
    exitCode = memory.control->exitCode.load();
  memory.unmap();
  return exitCode;
}
