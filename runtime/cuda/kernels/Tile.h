//===- Tile.h - Tiles of 16-bit floats in shared memory ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile is [rows][D] of bf16 or f16 in shared memory. The 16-byte vectors of a
// row are permuted by the row's number, so that the eight rows that a matrix
// load reads at once are in different banks. Columns from the tensor's size on
// are zero.
//
// Fragments have the layout of mma.m16n8k16 (PTX ISA): lane l has rows l/4 and
// l/4+8 of the left operand and of the result, and columns 2*(l%4) and the
// next.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_KERNELS_TILE_H
#define TESSERA_RT_CUDA_KERNELS_TILE_H

#include "Kernel.h"

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

  /// The left operand of a matmul with this tile's transpose: columns [row, row
  /// + 16), rows [16 * step, ...).
  TESSERA_DEVICE void leftOfTransposed(uint32_t a[4], int row, int step) const {
    int lane = threadIndex() % 32;
    loadMatrices<true>(a, at(step * 16 + (lane & 7) + (lane >> 4 << 3),
                             row / 8 + (lane >> 3 & 1)));
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

} // namespace tessera::rt::cuda::device

#endif // TESSERA_RT_CUDA_KERNELS_TILE_H
