//===- Movement.cu - Fills, copies and watched blocks ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels that move numbers without computing with them.
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

using namespace tessera::rt::cuda::device;

TESSERA_KERNEL(tessera_fill, FillParams, 256, 4) {
  int64_t first = (p.begin + 15) & ~int64_t(15), last = p.end & ~int64_t(15);
  uint32_t low = uint32_t(p.pattern), high = uint32_t(p.pattern >> 32);
  for (int64_t at = first + 16 * globalIndex(); at < last;
       at += 16 * globalSize())
    *reinterpret_cast<Quad *>(at) = Quad{{low, high, low, high}};
  // Handles the bytes before the first and after the last 16-byte unit: at most
  // 15 each.
  if (globalIndex() >= 32)
    return;
  int64_t near = globalIndex() % 16;
  int64_t at = globalIndex() < 16 ? p.begin + near : last + near;
  bool ours = globalIndex() < 16 ? at < first : at >= first;
  if (ours && at >= p.begin && at < p.end)
    *reinterpret_cast<uint8_t *>(at) = uint8_t(p.pattern >> (8 * (at & 7)));
}

/// A bf16 is the upper half of the bits of the f32.
TESSERA_KERNEL(tessera_widen_bf16, WidenParams, 256, 4) {
  const uint16_t *from = reinterpret_cast<const uint16_t *>(p.from);
  uint32_t *to = reinterpret_cast<uint32_t *>(p.to);
  int64_t whole = p.count / 8;
  for (int64_t i = globalIndex(); i < whole; i += globalSize()) {
    Quad narrow = reinterpret_cast<const Quad *>(from)[i], wide[2];
    for (int j = 0; j < 4; ++j) {
      uint32_t pair = narrow.word[j];
      wide[j / 2].word[j % 2 * 2] = pair << 16;
      wide[j / 2].word[j % 2 * 2 + 1] = pair & 0xFFFF0000u;
    }
    reinterpret_cast<Quad *>(to)[2 * i] = wide[0];
    reinterpret_cast<Quad *>(to)[2 * i + 1] = wide[1];
  }
  for (int64_t i = 8 * whole + globalIndex(); i < p.count; i += globalSize())
    to[i] = uint32_t(from[i]) << 16;
}

/// Runs the copy with indices of type `Index`, which must hold the total.
template <typename T, typename Index>
static TESSERA_DEVICE void copyLoop(const CopyParams &p) {
  const T *from = reinterpret_cast<const T *>(p.from);
  T *to = reinterpret_cast<T *>(p.to);
  for (int64_t i = globalIndex(); i < p.total; i += globalSize()) {
    Index rest = Index(i);
    int64_t source = 0, destination = 0;
    for (int d = int(p.rank) - 1; d > 0; --d) {
      Index extent = Index(p.extent[d]);
      Index digit = rest % extent;
      rest /= extent;
      source += int64_t(digit) * p.fromStride[d];
      destination += int64_t(digit) * p.toStride[d];
    }
    source += int64_t(rest) * p.fromStride[0];
    destination += int64_t(rest) * p.toStride[0];
    to[destination] = from[source];
  }
}
template <typename T> static TESSERA_DEVICE void copyAll(const CopyParams &p) {
  if (p.total < (int64_t(1) << 31))
    copyLoop<T, uint32_t>(p);
  else
    copyLoop<T, uint64_t>(p);
}

TESSERA_KERNEL(tessera_copy_1, CopyParams, 256, 4) { copyAll<uint8_t>(p); }
TESSERA_KERNEL(tessera_copy_2, CopyParams, 256, 4) { copyAll<uint16_t>(p); }
TESSERA_KERNEL(tessera_copy_4, CopyParams, 256, 4) { copyAll<uint32_t>(p); }
TESSERA_KERNEL(tessera_copy_8, CopyParams, 256, 4) { copyAll<uint64_t>(p); }
TESSERA_KERNEL(tessera_copy_16, CopyParams, 256, 4) { copyAll<Quad>(p); }

/// A block moves one tile of 64 x 64 elements: reads along rows, which are
/// contiguous in the source, and writes along columns.
template <typename T>
static TESSERA_DEVICE void transposeTile(const TransposeParams &p) {
  constexpr int side = 64, padded = side + 1;
  T *tile = reinterpret_cast<T *>(sharedMemory());
  int64_t rest = blockIndex();
  int inner = int(p.rank) - 1, outer = inner - 1;
  int64_t column = rest % p.tileColumns * side;
  rest /= p.tileColumns;
  int64_t row = rest % p.tileRows * side;
  rest /= p.tileRows;
  int64_t source = 0, destination = 0;
  for (int d = outer - 1; d >= 0; --d) {
    source += rest % p.extent[d] * p.fromStride[d];
    destination += rest % p.extent[d] * p.toStride[d];
    rest /= p.extent[d];
  }
  const T *from = reinterpret_cast<const T *>(p.from) + source;
  T *to = reinterpret_cast<T *>(p.to) + destination;
  int within = threadIndex() % side, line = threadIndex() / side;
  int lines = blockSize() / side;
  for (int i = line; i < side; i += lines)
    if (row + within < p.extent[outer] && column + i < p.extent[inner])
      tile[i * padded + within] =
          from[row + within + (column + i) * p.fromStride[inner]];
  syncThreads();
  for (int i = line; i < side; i += lines)
    if (row + i < p.extent[outer] && column + within < p.extent[inner])
      to[(row + i) * p.toStride[outer] + column + within] =
          tile[within * padded + i];
}

TESSERA_KERNEL(tessera_transpose_1, TransposeParams, 256, 4) {
  transposeTile<uint8_t>(p);
}
TESSERA_KERNEL(tessera_transpose_2, TransposeParams, 256, 4) {
  transposeTile<uint16_t>(p);
}
TESSERA_KERNEL(tessera_transpose_4, TransposeParams, 256, 4) {
  transposeTile<uint32_t>(p);
}
TESSERA_KERNEL(tessera_transpose_8, TransposeParams, 256, 4) {
  transposeTile<uint64_t>(p);
}

/// Writes the bytes after a block. One thread per byte.
TESSERA_KERNEL(tessera_block_begin, GuardParams, TESSERA_RT_CANARY_BYTES, 1) {
  if (threadIndex() < TESSERA_RT_CANARY_BYTES)
    reinterpret_cast<uint8_t *>(p.block + p.bytes)[threadIndex()] =
        TESSERA_RT_CANARY;
}

/// Checks that the bytes after a block have not changed. One thread.
TESSERA_KERNEL(tessera_block_end, GuardParams, 32, 1) {
  int64_t *fault = reinterpret_cast<int64_t *>(p.fault);
  if (threadIndex() != 0 || fault[0] != 0)
    return;
  const uint8_t *guard = reinterpret_cast<const uint8_t *>(p.block + p.bytes);
  for (int i = 0; i < TESSERA_RT_CANARY_BYTES; ++i)
    if (guard[i] != TESSERA_RT_CANARY) {
      fault[0] = 1 + p.bytes + i;
      fault[1] = p.offset;
      fault[2] = p.bytes;
      return;
    }
}
