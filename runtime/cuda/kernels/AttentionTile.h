//===- AttentionTile.h - Matmuls of attention's tiles -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The matmuls of attention on tiles of bf16 (Tile.h), and the stores of its
// results.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_KERNELS_ATTENTIONTILE_H
#define TESSERA_RT_CUDA_KERNELS_ATTENTIONTILE_H

#include "AttentionRows.h"
#include "Tile.h"

namespace tessera::rt::cuda::device {

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
