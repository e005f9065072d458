//===-- Tile.h - The register tile of matrix products -----------*- C++ -*-===//
//
// Part of the Tessera Project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The innermost loop of all matrix products: a tile of C, `rows` x two vectors,
// is kept in registers while it runs over the depth. Operands are packed so
// that both are read in order.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_KERNELS_TILE_H
#define TESSERA_RT_SRC_KERNELS_TILE_H

#include "Vector.h"

namespace tessera::rt::TESSERA_RT_ISA {

// Tile rows x 2 accumulators, 2 vectors of B and a broadcast of A must fit the
// registers: 32 with AVX-512 (and on Arm), 16 else.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int tileRows = 14;
#else
constexpr int tileRows = 6;
#endif
constexpr int tileColumns = 2 * lanes;

/// c[Rows][tileColumns] (+)= sum over d of a(r, d) * b[d], where a(r, d) is at
/// r * strideRow + d * strideDepth, and b[d] at d * tileColumns.
template <int Rows, int StrideRow, int StrideDepth>
inline void multiplyTile(int64_t depth, const float *__restrict a,
                         const float *__restrict b, float *__restrict c,
                         int64_t ldc, bool accumulate) {
  VecF sum[Rows][2];
#pragma clang loop unroll(full)
  for (int r = 0; r < Rows; ++r) {
    __builtin_prefetch(c + r * ldc, 1);
    __builtin_prefetch(c + r * ldc + lanes, 1);
    sum[r][0] = VecF{};
    sum[r][1] = VecF{};
  }
  for (int64_t d = 0; d < depth; ++d) {
    VecF b0 = load(b + d * tileColumns), b1 = load(b + d * tileColumns + lanes);
    __builtin_prefetch(b + (d + 16) * tileColumns);
    __builtin_prefetch(a + (d + 24) * StrideDepth);
    __builtin_prefetch(b + (d + 16) * tileColumns + lanes);
#pragma clang loop unroll(full)
    for (int r = 0; r < Rows; ++r) {
      VecF x = splat(a[r * StrideRow + d * StrideDepth]);
      sum[r][0] += x * b0;
      sum[r][1] += x * b1;
    }
  }
#pragma clang loop unroll(full)
  for (int r = 0; r < Rows; ++r) {
    float *row = c + r * ldc;
    if (accumulate) {
      sum[r][0] += load(row);
      sum[r][1] += load(row + lanes);
    }
    store(row, sum[r][0]);
    store(row + lanes, sum[r][1]);
  }
}

/// multiplyTile for a number of rows known at run time, 1 .. tileRows.
template <int StrideRow, int StrideDepth, int Rows = tileRows>
inline void multiplyRows(int64_t rows, int64_t depth, const float *a,
                         const float *b, float *c, int64_t ldc,
                         bool accumulate) {
  if constexpr (Rows == 1) {
    multiplyTile<1, StrideRow, StrideDepth>(depth, a, b, c, ldc, accumulate);
  } else {
    if (rows == Rows)
      multiplyTile<Rows, StrideRow, StrideDepth>(depth, a, b, c, ldc,
                                                 accumulate);
    else
      multiplyRows<StrideRow, StrideDepth, Rows - 1>(rows, depth, a, b, c, ldc,
                                                     accumulate);
  }
}

} // namespace tessera::rt::TESSERA_RT_ISA

#endif // TESSERA_RT_SRC_KERNELS_TILE_H
