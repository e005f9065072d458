//===- Kernel.h - Device functions of hand-written kernels ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels of this folder are compiled twice: by nvcc for devices, and by
// the host's compiler for the emulator, which checks their results. This header
// gives both the same names for threads, barriers, warp operations, matrix
// instructions and asynchronous copies. A kernel takes one struct of 64-bit
// arguments by value.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_KERNELS_KERNEL_H
#define TESSERA_RT_CUDA_KERNELS_KERNEL_H

#include "Params.h"

#ifdef __CUDACC__
#define TESSERA_DEVICE __device__ __forceinline__
#define TESSERA_UNROLL _Pragma("unroll")
/// Defines a kernel of at most `threads` threads per block, for which at least
/// `blocks` blocks should fit on a multiprocessor. Its body uses `p`.
#define TESSERA_KERNEL(name, Params, threads, blocks)                          \
  extern "C" __global__ void __launch_bounds__(threads, blocks)                \
      name(const __grid_constant__ Params p)
#else
#include "../emulator/Emulator.h"
#include "../emulator/WarpOperations.h"
#include <cmath>
#include <cstring>
#define TESSERA_DEVICE inline
#define TESSERA_UNROLL
#define TESSERA_KERNEL(name, Params, threads, blocks)                          \
  static void name##_body(const Params &p);                                    \
  extern "C" void name(const int64_t *args) {                                  \
    Params copy;                                                               \
    memcpy(&copy, args, sizeof(copy));                                         \
    name##_body(copy);                                                         \
  }                                                                            \
  static void name##_body(const Params &p)
#endif

namespace tessera::rt::cuda::device {

/// 16 bytes for one load or store.
struct alignas(16) Quad {
  uint32_t word[4];
};

//===----------------------------------------------------------------------===//
// bf16 as bits
//===----------------------------------------------------------------------===//

TESSERA_DEVICE float bitsToFloat(uint32_t bits) {
#ifdef __CUDACC__
  return __uint_as_float(bits);
#else
  float value;
  memcpy(&value, &bits, 4);
  return value;
#endif
}
TESSERA_DEVICE uint32_t floatToBits(float value) {
#ifdef __CUDACC__
  return __float_as_uint(value);
#else
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return bits;
#endif
}
TESSERA_DEVICE float notANumber() { return bitsToFloat(0x7fc00000); }
TESSERA_DEVICE float widen(uint16_t bits) {
  return bitsToFloat(uint32_t(bits) << 16);
}
TESSERA_DEVICE float widen(float value) { return value; }
TESSERA_DEVICE double widen(double value) { return value; }
TESSERA_DEVICE float lowHalf(uint32_t pair) { return bitsToFloat(pair << 16); }
TESSERA_DEVICE float highHalf(uint32_t pair) {
  return bitsToFloat(pair & 0xFFFF0000u);
}
/// Rounds to nearest, ties to even; NaN stays NaN.
TESSERA_DEVICE void narrow(float value, uint16_t &to) {
#ifdef __CUDACC__
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(to) : "f"(value));
#else
  uint32_t bits = floatToBits(value);
  to = value != value ? uint16_t((bits >> 16) | 0x40)
                      : uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
#endif
}
TESSERA_DEVICE void narrow(float value, float &to) { to = value; }
TESSERA_DEVICE void narrow(double value, double &to) { to = value; }
/// Rounds two numbers into a 32-bit word, the first one in the low half.
TESSERA_DEVICE uint32_t packPair(float low, float high) {
#ifdef __CUDACC__
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#else
  uint16_t a, b;
  narrow(low, a);
  narrow(high, b);
  return uint32_t(a) | uint32_t(b) << 16;
#endif
}

/// 2^x; 0 for -infinity.
TESSERA_DEVICE float exp2Of(float x) {
#ifdef __CUDACC__
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return std::exp2(x);
#endif
}
TESSERA_DEVICE float log2Of(float x) {
#ifdef __CUDACC__
  return __log2f(x);
#else
  return std::log2(x);
#endif
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

#ifdef __CUDACC__
TESSERA_DEVICE int threadIndex() { return int(threadIdx.x); }
TESSERA_DEVICE int blockSize() { return int(blockDim.x); }
TESSERA_DEVICE int64_t blockIndex() { return int64_t(blockIdx.x); }
TESSERA_DEVICE int64_t gridSize() { return int64_t(gridDim.x); }
TESSERA_DEVICE void syncThreads() { __syncthreads(); }
TESSERA_DEVICE void syncWarp() { __syncwarp(); }
TESSERA_DEVICE char *sharedMemory() {
  extern __shared__ __align__(128) char memory[];
  return memory;
}
#else
TESSERA_DEVICE int threadIndex() { return emu::threadIndex(); }
TESSERA_DEVICE int blockSize() { return emu::blockSize(); }
TESSERA_DEVICE int64_t blockIndex() { return emu::blockIndex(); }
TESSERA_DEVICE int64_t gridSize() { return emu::gridSize(); }
TESSERA_DEVICE void syncThreads() { emu::blockBarrier(); }
TESSERA_DEVICE void syncWarp() { emu::warpBarrier(~0u); }
TESSERA_DEVICE char *sharedMemory() { return emu::sharedMemory(); }
#endif

/// The thread's number in the grid, and the number of threads.
TESSERA_DEVICE int64_t globalIndex() {
  return blockIndex() * blockSize() + threadIndex();
}
TESSERA_DEVICE int64_t globalSize() { return gridSize() * blockSize(); }

//===----------------------------------------------------------------------===//
// Warps; all 32 lanes take part
//===----------------------------------------------------------------------===//

TESSERA_DEVICE uint32_t shuffleXor(uint32_t value, int mask) {
#ifdef __CUDACC__
  return __shfl_xor_sync(~0u, value, mask);
#else
  return emu::shuffle(~0u, value, emu::threadIndex() % 32 ^ mask);
#endif
}
TESSERA_DEVICE float shuffleXor(float value, int mask) {
  return bitsToFloat(shuffleXor(floatToBits(value), mask));
}
TESSERA_DEVICE double shuffleXor(double value, int mask) {
  uint32_t words[2];
  memcpy(words, &value, 8);
  words[0] = shuffleXor(words[0], mask);
  words[1] = shuffleXor(words[1], mask);
  memcpy(&value, words, 8);
  return value;
}
/// The lanes with the same value.
TESSERA_DEVICE uint32_t matchAny(uint32_t value) {
#ifdef __CUDACC__
  return __match_any_sync(~0u, value);
#else
  return emu::matchAny(~0u, value);
#endif
}
TESSERA_DEVICE int countBits(uint32_t bits) {
#ifdef __CUDACC__
  return __popc(bits);
#else
  return __builtin_popcount(bits);
#endif
}

/// Sum over `width` neighboring lanes, a power of two; all of them get it.
template <typename T> TESSERA_DEVICE T sumOfLanes(T value, int width) {
  for (int mask = width / 2; mask > 0; mask /= 2)
    value += shuffleXor(value, mask);
  return value;
}
TESSERA_DEVICE float maxOfLanes(float value, int width) {
  for (int mask = width / 2; mask > 0; mask /= 2) {
    float other = shuffleXor(value, mask);
    value = value > other ? value : other;
  }
  return value;
}

/// Adds to a counter in shared memory.
TESSERA_DEVICE void addShared(int32_t *counter, int32_t value) {
#ifdef __CUDACC__
  atomicAdd(counter, value);
#else
  *counter += value;
#endif
}

//===----------------------------------------------------------------------===//
// Matrix instructions and asynchronous copies
//===----------------------------------------------------------------------===//

#ifdef __CUDACC__
TESSERA_DEVICE uint32_t sharedAddress(const void *memory) {
  return uint32_t(__cvta_generic_to_shared(memory));
}
#endif

/// ldmatrix .x4; see emulator/WarpOperations.h.
template <bool transposed>
TESSERA_DEVICE void loadMatrices(uint32_t r[4], const void *row) {
#ifdef __CUDACC__
  if (transposed)
    asm volatile(
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
        : "r"(sharedAddress(row))
        : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(sharedAddress(row))
                 : "memory");
#else
  emu::loadMatrices(r, row, transposed);
#endif
}

/// Computes d[16][8] += a[16][16] * b[16][8] in bf16, or f16, with f32 sums.
template <bool isF16 = false>
TESSERA_DEVICE void multiplyMatrices(float d[4], const uint32_t a[4],
                                     uint32_t b0, uint32_t b1) {
#ifdef __CUDACC__
  if (isF16)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0),
                   "r"(b1));
  else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0),
                   "r"(b1));
#else
  uint32_t b[2] = {b0, b1};
  emu::multiplyMatrices(d, a, b, isF16);
#endif
}

/// Begins to copy 16 bytes to shared memory. If not `valid`, writes zeros and
/// reads nothing.
TESSERA_DEVICE void copyAsync16(void *shared, const void *source, bool valid) {
#ifdef __CUDACC__
  int bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                   sharedAddress(shared)),
               "l"(source), "r"(bytes)
               : "memory");
#else
  emu::copyAsync16(shared, valid ? source : nullptr);
#endif
}
TESSERA_DEVICE void commitAsync() {
#ifdef __CUDACC__
  asm volatile("cp.async.commit_group;" ::: "memory");
#else
  emu::commitAsync();
#endif
}
/// Waits until all but the newest `pending` groups are done.
template <int pending> TESSERA_DEVICE void waitAsync() {
#ifdef __CUDACC__
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
#else
  emu::waitAsync(pending);
#endif
}

} // namespace tessera::rt::cuda::device

#endif // TESSERA_RT_CUDA_KERNELS_KERNEL_H
