//===- Emulator.h - Kernels on the processor --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a CUDA kernel that was compiled for the processor, for tests: block
// after block, every thread of a block as a fiber. A thread runs until it comes
// to a barrier or to an operation of its warp, and goes on when all threads
// that the operation names have come there. Where some never come (they ended,
// or wait elsewhere) the launch fails and says so: on a GPU that is a hang, or
// values of no meaning.
//
// The order in which threads and blocks run is ascending, or drawn from a seed:
// a kernel with a race gives other results under some order. Accesses out of
// bounds are found where memory comes from GuardedMemory.h. What is not
// modelled: time, caches, a weak memory order, blocks that run at once.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_EMULATOR_EMULATOR_H
#define TESSERA_RT_CUDA_EMULATOR_EMULATOR_H

#include <cstdint>
#include <string>

namespace tessera::emu {

/// A kernel: run once per thread. `args` are its packed 64-bit arguments.
using KernelFn = void (*)(const int64_t *args);

constexpr int warpSize = 32;

struct Launch {
  const char *name = "kernel";
  KernelFn function = nullptr;
  const int64_t *args = nullptr;
  /// Blocks.
  int64_t grid = 1;
  /// Threads of a block, 1 to TESSERA_RT_MAX_BLOCK.
  int32_t block = 1;
  /// Bytes of dynamic shared memory; its content is not zero at first.
  int32_t sharedBytes = 0;
  /// Of the order of blocks and threads; 0: ascending.
  uint64_t seed = 0;
};

/// Runs all blocks. Returns an empty string, or what is wrong with kernel,
/// block and thread; then results mean nothing. Launches of several threads of
/// the operating system run one after the other. Not to be called from a
/// kernel.
std::string run(const Launch &launch);

//===----------------------------------------------------------------------===//
// For kernels: the thread that runs
//===----------------------------------------------------------------------===//

int32_t threadIndex();
int32_t blockSize();
int64_t blockIndex();
int64_t gridSize();
/// The block's shared memory, aligned to 16 bytes at least.
char *sharedMemory();
/// Waits for all threads of the block; it is a fault if one has ended.
void blockBarrier();

/// Ends the launch: the running thread did what is a fault on a GPU.
[[noreturn]] void kernelFault(const std::string &text);

/// An operation that all lanes of a warp in `mask` do together. Each passes its
/// own operands and room for results in `slot`.
struct WarpOperation {
  const char *name;
  /// Gives every named lane its results; slots of other lanes are null.
  void (*resolve)(void *const *slots);
};
/// Waits for the lanes in `mask` (of those that the block has) and resolves.
/// The operation must be the same object for all of them.
void warpOperation(const WarpOperation &operation, uint32_t mask, void *slot);

/// A copy of 16 bytes that is not sure to be there before the thread waits for
/// it: without a seed it is done then, with one then or at once, by draw. A
/// null source writes zeros.
void copyAsync16(void *shared, const void *source);
/// Closes the group of copies begun since the last one.
void commitAsync();
/// Waits until at most `pending` of the newest groups are not done.
void waitAsync(int pending);

} // namespace tessera::emu

#endif // TESSERA_RT_CUDA_EMULATOR_EMULATOR_H
