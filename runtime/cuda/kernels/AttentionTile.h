//===- AttentionTile.h - Tiles of bf16 in shared memory ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile is [rows][D] of bf16 in shared memory. The 16-byte vectors of a row
// are permuted by the row's number, so that the eight rows that a matrix load
// reads at once are in different banks. Columns from the head's size on are
// zero.
//
// Fragments have the layout of mma.m16n8k16 (PTX ISA): lane l has rows l/4 and
// l/4+8 of the left operand and of the result, and columns 2*(l%4) and the
// next.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_KERNELS_ATTENTIONTILE_H
#define TESSERA_RT_CUDA_KERNELS_ATTENTIONTILE_H

#include "AttentionRows.h"

namespace tessera::rt::cuda::device {

template <int D> struct Tile {
  static constexpr int vectors = D / 8;
  char *memory;

  static TESSERA_DEVICE constexpr int bytes(int rows) { return rows * D * 2; }

  TESSERA_DEVICE char *at(int row, int vector) const {
    return memory + row * (D * 2) + ((vector ^ (row & 7)) << 4);
  }

  /// Begins to load `rows` rows of `dim` elements, 8 | dim <= D, with all
  /// threads of the block. `source(row)` is the address of a row, or 0 for a
  /// row of zeros; `tensor` is any readable address.
  template <int rows, typename Source>
  TESSERA_DEVICE void load(int dim, int64_t tensor, Source source) const {
    TESSERA_UNROLL
    for (int i = 0; i < rows * vectors / tileThreads; ++i) {
      int at = i * tileThreads + threadIndex();
      int row = at / vectors, vector = at % vectors;
      int64_t address = source(row);
      bool valid = address != 0 && vector * 8 < dim;
      address = valid ? address + vector * 16 : tensor;
      copyAsync16(this->at(row, vector),
                  reinterpret_cast<const void *>(address), valid);
    }
  }

  /// The left operand: rows [row, row + 16), columns [16 * step, ...).
  TESSERA_DEVICE void left(uint32_t a[4], int row, int step) const {
    int lane = threadIndex() % 32;
    loadMatrices<false>(a, at(row + (lane & 15), step * 2 + (lane >> 4)));
  }

  /// The right operand of a matmul with this tile's transpose. The result's
  /// columns are rows [row, row + 16); the sum runs over columns [16 * step,
  /// ...). b[0], b[1] are the first 8 columns, b[2], b[3] the others.
  TESSERA_DEVICE void rightOfTransposed(uint32_t b[4], int row,
                                        int step) const {
    int lane = threadIndex() % 32;
    loadMatrices<false>(
        b, at(row + (lane & 7) + (lane >> 4 << 3), step * 2 + (lane >> 3 & 1)));
  }

  /// The right operand of a matmul with this tile. The result's columns are
  /// columns [16 * pair, ...); the sum runs over rows [row, row + 16).
  TESSERA_DEVICE void right(uint32_t b[4], int row, int pair) const {
    int lane = threadIndex() % 32;
    loadMatrices<true>(b, at(row + (lane & 15), pair * 2 + (lane >> 4)));
  }
};

/// Computes result[16][8 * columns8] = rows [row, row + 16) of `a` times the
/// transpose of the first 8 * columns8 rows of `b`.
template <int D, int columns8>
TESSERA_DEVICE void multiplyTransposed(float (&result)[columns8][4],
                                       const Tile<D> &a, int row,
                                       const Tile<D> &b) {
  TESSERA_UNROLL
  for (int n = 0; n < columns8; ++n)
    TESSERA_UNROLL
  for (int e = 0; e < 4; ++e)
    result[n][e] = 0;
  TESSERA_UNROLL
  for (int step = 0; step < D / 16; ++step) {
    uint32_t left[4];
    a.left(left, row, step);
    TESSERA_UNROLL
    for (int n = 0; n < columns8 / 2; ++n) {
      uint32_t right[4];
      b.rightOfTransposed(right, 16 * n, step);
      multiplyMatrices(result[2 * n], left, right[0], right[1]);
      multiplyMatrices(result[2 * n + 1], left, right[2], right[3]);
    }
  }
}

/// Computes result[16][D] += weights[16][8 * depth8] times the first rows of
/// `b`. The weights are the result of an earlier matmul and are rounded here.
template <int D, int depth8>
TESSERA_DEVICE void multiplyWeights(float (&result)[D / 8][4],
                                    const float (&weights)[depth8][4],
                                    const Tile<D> &b) {
  TESSERA_UNROLL
  for (int step = 0; step < depth8 / 2; ++step) {
    const float *low = weights[2 * step], *high = weights[2 * step + 1];
    uint32_t left[4] = {packPair(low[0], low[1]), packPair(low[2], low[3]),
                        packPair(high[0], high[1]), packPair(high[2], high[3])};
    TESSERA_UNROLL
    for (int pair = 0; pair < D / 16; ++pair) {
      uint32_t right[4];
      b.right(right, 16 * step, pair);
      multiplyMatrices(result[2 * pair], left, right[0], right[1]);
      multiplyMatrices(result[2 * pair + 1], left, right[2], right[3]);
    }
  }
}

/// Writes two adjacent elements of a row as f32, or rounded to bf16.
TESSERA_DEVICE void storePair(bool wide, int64_t tensor, int64_t row,
                              int64_t dim, int column, float low, float high) {
  int64_t index = row * dim + column;
  if (column >= dim)
    return;
  if (wide) {
    reinterpret_cast<float *>(tensor)[index] = low;
    reinterpret_cast<float *>(tensor)[index + 1] = high;
  } else {
    *reinterpret_cast<uint32_t *>(tensor + 2 * index) = packPair(low, high);
  }
}

} // namespace tessera::rt::cuda::device

#endif // TESSERA_RT_CUDA_KERNELS_ATTENTIONTILE_H
