//===- Tile.h - The register tile of matmuls --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The innermost loop of all matmuls. A tile of C, `rows` x two vectors, stays
// in registers during the loop over the depth. Operands are packed so that both
// are read in order.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_KERNELS_TILE_H
#define TESSERA_RT_SRC_KERNELS_TILE_H

#include "Vector.h"

namespace tessera::rt::TESSERA_RT_ISA {

/// Sizes of a tile. Rows x Vectors accumulators, the vectors of a row of B and
/// a broadcast element of A must fit the registers: 32 with AVX-512, 16
/// otherwise. A row of a panel of B has `PanelVectors` vectors; a tile uses the
/// first `Vectors`.
template <int Rows_, int Vectors_, int PanelVectors = Vectors_>
struct TileShape {
  static constexpr int rows = Rows_;
  static constexpr int vectors = Vectors_;
  static constexpr int columns = Vectors_ * lanes;
  static constexpr int panelColumns = PanelVectors * lanes;
};

/// Strides of a packed panel of A: element (r, d) is at r * row + d * depth.
template <int Row, int Depth> struct PackedStrides {
  static constexpr int64_t row = Row, depth = Depth;
};
/// Strides of an unpacked A, whose rows are `row` elements apart.
struct RowStrides {
  int64_t row;
  static constexpr int64_t depth = 1;
};

#if defined(__AVX512F__)
// Wide tiles need fewer loads; heads are too narrow for them.
using GemmTile = TileShape<8, 3>;
using AttentionTile = TileShape<14, 2>;
#else
using GemmTile = TileShape<4, 3>;
using AttentionTile = TileShape<6, 2>;
#endif

/// Computes c[Rows][columns] (+)= sum over d of a(r, d) * b[d], where b[d] is
/// at d * panelColumns.
template <typename Tile, int Rows, typename Strides>
inline void multiplyTile(Strides strides, int64_t depth,
                         const float *__restrict a, const float *__restrict b,
                         float *__restrict c, int64_t ldc, bool accumulate) {
  VecF sum[Rows][Tile::vectors];
  TESSERA_RT_UNROLL
  for (int r = 0; r < Rows; ++r) {
    TESSERA_RT_UNROLL
    for (int v = 0; v < Tile::vectors; ++v) {
      __builtin_prefetch(c + r * ldc + v * lanes, 1);
      sum[r][v] = VecF{};
    }
  }
  for (int64_t d = 0; d < depth; ++d) {
    VecF row[Tile::vectors];
    TESSERA_RT_UNROLL
    for (int v = 0; v < Tile::vectors; ++v) {
      row[v] = load(b + d * Tile::panelColumns + v * lanes);
      __builtin_prefetch(b + (d + 16) * Tile::panelColumns + v * lanes);
    }
    __builtin_prefetch(a + (d + 24) * strides.depth);
    TESSERA_RT_UNROLL
    for (int r = 0; r < Rows; ++r) {
      VecF x = splat(a[r * strides.row + d * strides.depth]);
      TESSERA_RT_UNROLL
      for (int v = 0; v < Tile::vectors; ++v)
        sum[r][v] += x * row[v];
    }
  }
  TESSERA_RT_UNROLL
  for (int r = 0; r < Rows; ++r) {
    TESSERA_RT_UNROLL
    for (int v = 0; v < Tile::vectors; ++v) {
      float *to = c + r * ldc + v * lanes;
      store(to, accumulate ? sum[r][v] + load(to) : sum[r][v]);
    }
  }
}

/// Calls multiplyTile for a number of rows known at run time, 1 .. Tile::rows.
template <typename Tile, typename Strides, int Rows = Tile::rows>
inline void multiplyRows(Strides strides, int64_t rows, int64_t depth,
                         const float *a, const float *b, float *c, int64_t ldc,
                         bool accumulate) {
  if constexpr (Rows > 1)
    if (rows < Rows)
      return multiplyRows<Tile, Strides, Rows - 1>(strides, rows, depth, a, b,
                                                   c, ldc, accumulate);
  multiplyTile<Tile, Rows>(strides, depth, a, b, c, ldc, accumulate);
}

} // namespace tessera::rt::TESSERA_RT_ISA

#endif // TESSERA_RT_SRC_KERNELS_TILE_H
