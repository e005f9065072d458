//===- KernelAbi.cpp - The C ABI of emulated kernels ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C functions of tessera_rt_cuda.h for kernels that were generated for the
// processor.
//
//===----------------------------------------------------------------------===//

#include "Emulator.h"
#include "WarpOperations.h"

#include "tessera_rt_cuda.h"

using namespace tessera::emu;

int32_t tessera_emu_thread_id(void) { return threadIndex(); }
int32_t tessera_emu_block_dim(void) { return blockSize(); }
int64_t tessera_emu_block_id(void) { return blockIndex(); }
int64_t tessera_emu_grid_dim(void) { return gridSize(); }
void tessera_emu_barrier(void) { blockBarrier(); }
void *tessera_emu_shared(void) { return sharedMemory(); }

/// Returns the value of a lane in the same segment of `width` lanes, or the
/// thread's own if `within`, the lane's position in the segment, is outside it.
static int32_t shuffleWithin(int32_t value, int32_t within, int32_t width) {
  int lane = threadIndex() % warpSize;
  int source =
      within >= 0 && within < width ? lane / width * width + within : lane;
  return int32_t(shuffle(~0u, uint32_t(value), source));
}

int32_t tessera_emu_shuffle_xor(int32_t value, int32_t lane_mask,
                                int32_t width) {
  int lane = threadIndex() % warpSize;
  return shuffleWithin(value, lane % width ^ lane_mask, width);
}

int32_t tessera_emu_shuffle_idx(int32_t value, int32_t index, int32_t width) {
  return shuffleWithin(value, index & (width - 1), width);
}

int32_t tessera_emu_shuffle_down(int32_t value, int32_t delta, int32_t width) {
  int lane = threadIndex() % warpSize;
  return shuffleWithin(value, lane % width + delta, width);
}
