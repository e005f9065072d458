//===- Emulator.h - Kernels on the processor --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a CUDA kernel that was compiled for the processor, for tests: block
// after block, with every thread of a block as a fiber. A thread runs until it
// reaches a barrier or an operation of its warp, and continues when all threads
// of that operation have reached it. If some never do (they ended, or wait
// elsewhere), the launch fails with a message; on a GPU it would hang, or give
// undefined values.
//
// Threads and blocks run in ascending order, or in an order drawn from a seed,
// under which a kernel with a race may give other results. Accesses out of
// bounds are found in memory from GuardedMemory.h. Not modeled: time, caches, a
// weak memory order, blocks that run concurrently.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_EMULATOR_EMULATOR_H
#define TESSERA_RT_CUDA_EMULATOR_EMULATOR_H

#include <cstdint>
#include <string>

namespace tessera::emu {

/// A kernel, called once per thread. `args` are its packed 64-bit arguments.
using KernelFn = void (*)(const int64_t *args);

constexpr int warpSize = 32;

struct Launch {
  const char *name = "kernel";
  KernelFn function = nullptr;
  const int64_t *args = nullptr;
  /// Number of blocks.
  int64_t grid = 1;
  /// Threads of a block, 1 to TESSERA_RT_MAX_BLOCK.
  int32_t block = 1;
  /// Bytes of dynamic shared memory; not initialized to zero.
  int32_t sharedBytes = 0;
  /// Seed of the order of blocks and threads; 0: ascending.
  uint64_t seed = 0;
};

/// Runs all blocks. Returns an empty string, or the error with kernel, block
/// and thread; then the results are invalid. Launches from several host threads
/// run one after the other. Must not be called from a kernel.
std::string run(const Launch &launch);

//===----------------------------------------------------------------------===//
// For kernels: the thread that runs
//===----------------------------------------------------------------------===//

int32_t threadIndex();
int32_t blockSize();
int64_t blockIndex();
int64_t gridSize();
/// The block's shared memory, aligned to at least 16 bytes.
char *sharedMemory();
/// Waits for all threads of the block; it is a fault if one has ended.
void blockBarrier();

/// Ends the launch with an error that would be a fault on a GPU.
[[noreturn]] void kernelFault(const std::string &text);

/// An operation that all lanes of a warp in `mask` execute together. Each
/// passes its own operands and room for results in `slot`.
struct WarpOperation {
  const char *name;
  /// Gives every participating lane its results; slots of other lanes are null.
  void (*resolve)(void *const *slots);
};
/// Waits for the lanes in `mask` that the block has, and resolves. All of them
/// must pass the same operation object.
void warpOperation(const WarpOperation &operation, uint32_t mask, void *slot);

/// Copies 16 bytes; the copy is complete only after the thread waits for it.
/// The copy happens at that wait; with a seed, a draw chooses between that and
/// at once. A null source writes zeros.
void copyAsync16(void *shared, const void *source);
/// Closes the group of copies that have begun since the last one.
void commitAsync();
/// Waits until all but the newest `pending` groups are done.
void waitAsync(int pending);

} // namespace tessera::emu

#endif // TESSERA_RT_CUDA_EMULATOR_EMULATOR_H
