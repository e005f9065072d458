//===- Emulator.cpp - Scheduling of a block's threads ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The scheduler runs one warp after the other, each until all its threads wait
// or have ended. With a seed it draws the order and the duration. The thread
// that completes an operation of its warp resolves it at once; the scheduler
// opens barriers.
//
//===----------------------------------------------------------------------===//

#include "Emulator.h"

#include "Draw.h"
#include "Fiber.h"
#include "GuardedMemory.h"
#include "tessera_rt_cuda.h"

#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

using namespace tessera::emu;

namespace {
enum class ThreadState { Ready, AtBarrier, AtWarpOperation, Done };

struct AsyncCopy {
  void *shared;
  const void *source;

  void run() const {
    if (source)
      memcpy(shared, source, 16);
    else
      memset(shared, 0, 16);
  }
};

struct Thread {
  ThreadState state = ThreadState::Ready;
  FiberState fiber = nullptr;
  const WarpOperation *operation = nullptr;
  uint32_t mask = 0;
  void *slot = nullptr;
  /// Copies since the last commit, and committed groups, oldest first.
  std::vector<AsyncCopy> begun;
  std::deque<std::vector<AsyncCopy>> groups;
};

/// State of a launch in progress.
class Runner {
public:
  explicit Runner(const Launch &launch)
      : launch(launch), threads(size_t(launch.block)), draw{launch.seed},
        shared(static_cast<char *>(allocateGuarded(
            size_t(launch.sharedBytes), TESSERA_RT_SHARED_ALIGNMENT))) {}
  ~Runner() { freeGuarded(shared); }

  std::string run();

  // State that running threads use.
  const Launch &launch;
  int64_t blockIndex = 0;
  int32_t current = 0;
  char *sharedMemory() { return shared; }
  Thread &thread() { return threads[size_t(current)]; }
  bool drawEarly() { return launch.seed && draw.next() % 2; }
  void barrier();
  void synchronize(const WarpOperation &operation, uint32_t mask, void *slot);
  [[noreturn]] void finish();
  /// Ends the launch with a fault of the current thread.
  [[noreturn]] void fault(const std::string &text);
  void fault(int32_t index, const std::string &text);
  std::string error;

private:
  bool runBlock();
  bool runWarp(std::vector<int32_t> &lanes, bool &progress);
  bool openBarrier();
  void resume(int32_t index);
  void suspend();
  /// The lanes of a warp that exist in the block.
  uint32_t lanesOf(int32_t warp) const {
    int32_t count = launch.block - warp * warpSize;
    return count >= warpSize ? ~0u : (1u << count) - 1;
  }
  /// Resolves the current thread's operation if all its lanes have arrived.
  bool tryResolve();
  void describeDeadlock();

  std::vector<Thread> threads;
  /// Threads of each warp of the block. A member, because a fault leaves
  /// runBlock() with a jump that would not destroy local variables.
  std::vector<std::vector<int32_t>> warps;
  Draw draw;
  char *shared;
  FiberState scheduler = nullptr;
};
} // namespace

static Runner *running = nullptr;
static std::vector<FiberStack> &stacks() {
  static std::vector<FiberStack> all;
  return all;
}

static void fiberMain() {
  running->launch.function(running->launch.args);
  running->finish();
}

//===----------------------------------------------------------------------===//
// Memory faults
//===----------------------------------------------------------------------===//

static sigjmp_buf faultJump;
static volatile sig_atomic_t inKernel = 0;
static void *volatile faultAddress = nullptr;

static void onFault(int signal, siginfo_t *info, void *) {
  if (!inKernel) {
    // The fault is not in a kernel: restores the default action and returns to
    // the same instruction.
    ::signal(signal, SIG_DFL);
    return;
  }
  faultAddress = info->si_addr;
  siglongjmp(faultJump, 1);
}

namespace {
/// Catches memory faults during a launch.
class FaultCatcher {
public:
  FaultCatcher() : stack(new char[stackBytes]) {
    stack_t mine = {};
    mine.ss_sp = stack.get();
    mine.ss_size = stackBytes;
    sigaltstack(&mine, &previousStack);
    struct sigaction action = {};
    action.sa_sigaction = onFault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, &previousSegv);
    sigaction(SIGBUS, &action, &previousBus);
  }
  ~FaultCatcher() {
    sigaction(SIGSEGV, &previousSegv, nullptr);
    sigaction(SIGBUS, &previousBus, nullptr);
    sigaltstack(&previousStack, nullptr);
  }

private:
  static constexpr size_t stackBytes = 64 << 10;
  std::unique_ptr<char[]> stack;
  stack_t previousStack = {};
  struct sigaction previousSegv = {}, previousBus = {};
};
} // namespace

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

void Runner::suspend() { switchFiber(&thread().fiber, scheduler); }

void Runner::resume(int32_t index) {
  current = index;
  inKernel = 1;
  switchFiber(&scheduler, threads[size_t(index)].fiber);
  inKernel = 0;
}

void Runner::finish() {
  thread().state = ThreadState::Done;
  suspend();
  abort();
}

void Runner::fault(int32_t index, const std::string &text) {
  if (!error.empty())
    return;
  char where[96];
  snprintf(where, sizeof(where),
           ", block %lld, thread %d: ", (long long)blockIndex, index);
  error = std::string(launch.name) + where + text;
}

void Runner::fault(const std::string &text) {
  fault(current, text);
  suspend();
  abort();
}

void Runner::barrier() {
  thread().state = ThreadState::AtBarrier;
  suspend();
}

void Runner::synchronize(const WarpOperation &operation, uint32_t mask,
                         void *slot) {
  Thread &self = thread();
  int32_t warp = current / warpSize;
  mask &= lanesOf(warp);
  if (!(mask >> (current % warpSize) & 1))
    fault(std::string(operation.name) + " by a lane that its mask lacks");
  self.operation = &operation;
  self.mask = mask;
  self.slot = slot;
  self.state = ThreadState::AtWarpOperation;
  if (!tryResolve())
    suspend();
}

bool Runner::tryResolve() {
  const WarpOperation *operation = thread().operation;
  uint32_t mask = thread().mask;
  Thread *lanes = &threads[size_t(current / warpSize * warpSize)];
  void *slots[warpSize] = {};
  for (int i = 0; i < warpSize; ++i) {
    if (!(mask >> i & 1))
      continue;
    const Thread &lane = lanes[i];
    if (lane.state != ThreadState::AtWarpOperation)
      return false;
    if (lane.operation != operation || lane.mask != mask)
      fault(std::string(operation->name) + ": lane " + std::to_string(i) +
            " of its mask is at " + lane.operation->name +
            (lane.mask != mask ? " with another mask" : ""));
    slots[i] = lane.slot;
  }
  operation->resolve(slots);
  for (int i = 0; i < warpSize; ++i)
    if (mask >> i & 1)
      lanes[i].state = ThreadState::Ready;
  return true;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

bool Runner::openBarrier() {
  for (const Thread &thread : threads)
    if (thread.state != ThreadState::AtBarrier)
      return false;
  for (Thread &thread : threads)
    thread.state = ThreadState::Ready;
  return true;
}

/// Describes where each thread waits if none can continue.
void Runner::describeDeadlock() {
  for (int32_t i = 0; i < launch.block; ++i) {
    const Thread &waits = threads[size_t(i)];
    if (waits.state != ThreadState::AtWarpOperation)
      continue;
    for (int lane = 0; lane < warpSize; ++lane) {
      int32_t other = i / warpSize * warpSize + lane;
      if (!(waits.mask >> lane & 1) ||
          threads[size_t(other)].state == ThreadState::AtWarpOperation)
        continue;
      bool ended = threads[size_t(other)].state == ThreadState::Done;
      fault(i, std::string(waits.operation->name) +
                   " expects all lanes of its mask, but thread " +
                   std::to_string(other) +
                   (ended ? " has ended" : " is at a barrier"));
      return;
    }
  }
  int32_t waiting = -1, ended = -1;
  for (int32_t i = launch.block; i-- > 0;)
    (threads[size_t(i)].state == ThreadState::Done ? ended : waiting) = i;
  fault(waiting, "a barrier expects all threads of the block, but thread " +
                     std::to_string(ended) + " has ended");
}

/// Runs the warp's threads until none of them can continue, or with a seed
/// until a draw stops it, so that some warps get far ahead of others. Returns
/// false on a fault.
bool Runner::runWarp(std::vector<int32_t> &lanes, bool &progress) {
  for (;;) {
    bool ran = false;
    if (launch.seed)
      draw.shuffle(lanes);
    for (int32_t index : lanes) {
      if (threads[size_t(index)].state != ThreadState::Ready)
        continue;
      resume(index);
      progress = ran = true;
      if (!error.empty())
        return false;
    }
    if (!ran || (launch.seed && draw.next() % 64 == 0))
      return true;
  }
}

bool Runner::runBlock() {
  warps.assign(size_t((launch.block + warpSize - 1) / warpSize), {});
  for (size_t i = 0; i < threads.size(); ++i) {
    warps[i / warpSize].push_back(int32_t(i));
    threads[i] = Thread();
    threads[i].fiber = stacks()[i].start(fiberMain);
  }
  memset(shared, 0xFF, size_t(launch.sharedBytes));
  for (bool done = false; !done;) {
    bool progress = false;
    if (launch.seed)
      draw.shuffle(warps);
    for (std::vector<int32_t> &lanes : warps)
      if (!runWarp(lanes, progress))
        return false;
    done = std::all_of(threads.begin(), threads.end(), [](const Thread &t) {
      return t.state == ThreadState::Done;
    });
    if (!done && !progress && !openBarrier()) {
      describeDeadlock();
      return false;
    }
  }
  for (size_t i = 0; i < threads.size(); ++i)
    if (!threads[i].begun.empty() || !threads[i].groups.empty()) {
      fault(int32_t(i), "ended with asynchronous copies it did not wait for");
      return false;
    }
  return true;
}

std::string Runner::run() {
  std::vector<int64_t> blocks(size_t(launch.grid));
  for (size_t i = 0; i < blocks.size(); ++i)
    blocks[i] = int64_t(i);
  if (launch.seed)
    draw.shuffle(blocks);
  FaultCatcher catcher;
  if (sigsetjmp(faultJump, 1)) {
    inKernel = 0;
    const void *address = faultAddress;
    bool overflow = stacks()[size_t(current)].overflowsAt(address);
    fault(current, overflow ? "its stack overflows"
                            : "access at " + describeAddress(address));
    return error;
  }
  for (int64_t block : blocks) {
    blockIndex = block;
    if (!runBlock())
      break;
  }
  return error;
}

std::string tessera::emu::run(const Launch &launch) {
  if (launch.block < 1 || launch.block > TESSERA_RT_MAX_BLOCK ||
      launch.grid < 0 || launch.sharedBytes < 0 || !launch.function)
    return std::string(launch.name) + ": a launch expects a function, 1 to " +
           std::to_string(TESSERA_RT_MAX_BLOCK) +
           " threads and no negative size, but got " +
           std::to_string(launch.grid) + " blocks of " +
           std::to_string(launch.block) + " threads with " +
           std::to_string(launch.sharedBytes) + " bytes";
  static std::mutex oneLaunch;
  std::lock_guard<std::mutex> lock(oneLaunch);
  while (stacks().size() < size_t(launch.block))
    stacks().emplace_back();
  Runner runner(launch);
  running = &runner;
  std::string error = runner.run();
  running = nullptr;
  return error;
}

//===----------------------------------------------------------------------===//
// For kernels
//===----------------------------------------------------------------------===//

int32_t tessera::emu::threadIndex() { return running->current; }
int32_t tessera::emu::blockSize() { return running->launch.block; }
int64_t tessera::emu::blockIndex() { return running->blockIndex; }
int64_t tessera::emu::gridSize() { return running->launch.grid; }
char *tessera::emu::sharedMemory() { return running->sharedMemory(); }
void tessera::emu::blockBarrier() { running->barrier(); }

void tessera::emu::kernelFault(const std::string &text) {
  running->fault(text);
}

void tessera::emu::warpOperation(const WarpOperation &operation, uint32_t mask,
                                 void *slot) {
  running->synchronize(operation, mask, slot);
}

/// A seed draws between copying at once and as late as possible.
void tessera::emu::copyAsync16(void *shared, const void *source) {
  AsyncCopy copy{shared, source};
  if (running->drawEarly())
    copy.run();
  else
    running->thread().begun.push_back(copy);
}

void tessera::emu::commitAsync() {
  Thread &self = running->thread();
  self.groups.push_back(std::move(self.begun));
  self.begun.clear();
}

void tessera::emu::waitAsync(int pending) {
  Thread &self = running->thread();
  while (self.groups.size() > size_t(pending)) {
    for (const AsyncCopy &copy : self.groups.front())
      copy.run();
    self.groups.pop_front();
  }
}
