//===- GroupedMatrix.h - Matmuls by expert on matrix units ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For bf16 and f16 with widths that are multiples of 8. Four warps have 32 of
// the 64 rows and 32 of the 64 columns of both sets each. Operands of the next
// two steps of 64 elements are fetched ahead. Sums are in f32.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_KERNELS_GROUPEDMATRIX_H
#define TESSERA_RT_CUDA_KERNELS_GROUPEDMATRIX_H

#include "GroupedBlock.h"
#include "Numbers.h"
#include "Tile.h"

namespace tessera::rt::cuda::device {

template <typename Number, Form form> struct GroupedMatrix {
  using Type = Number;
  static constexpr Form kind = form;
  /// True if rows of all tensors are made of 16-byte vectors.
  static constexpr bool isPacked = true;
  static constexpr int depth = groupedRows;
  using Operand = Tile<depth>;

  const GroupedBlock<form> &block;
  float sum[2][2][4][4];

  TESSERA_DEVICE explicit GroupedMatrix(const GroupedBlock<form> &block)
      : block(block) {}

  /// Computes the block's result and stores it in shared memory.
  TESSERA_DEVICE void run() {
    TESSERA_UNROLL
    for (int i = 0; i < 64; ++i)
      sum[i / 32][i / 16 % 2][i / 4 % 4][i % 4] = 0;
    int64_t perPass = block.stepsOf(depth), steps = perPass * block.p.passes;
    TESSERA_UNROLL
    for (int step = 0; step < groupedStages - 1; ++step) {
      if (step < steps)
        load(step, step, perPass);
      commitAsync();
    }
    int stage = 0, free = groupedStages - 1;
    for (int64_t step = 0; step < steps; ++step) {
      waitAsync<groupedStages - 2>();
      // All warps have done the step before, whose stage is loaded anew.
      syncThreads();
      if (step + groupedStages - 1 < steps)
        load(free, step + groupedStages - 1, perPass);
      commitAsync();
      multiply(stage);
      free = stage;
      stage = stage + 1 < groupedStages ? stage + 1 : 0;
    }
    waitAsync<0>();
    syncThreads();
    store();
    syncThreads();
  }

private:
  static TESSERA_DEVICE Operand tile(int stage, int index) {
    return {sharedMemory() + groupedHeader +
            (stage * 3 + index) * Operand::bytes(depth)};
  }

  template <typename Index>
  TESSERA_DEVICE void loadTile(const Operand &tile, int64_t tensor,
                               int64_t size, Index index) const {
    tile.template load<depth>(int(size < depth ? size : depth), tensor,
                              [&](int row) -> int64_t {
                                int64_t at = index(row);
                                return at < 0 ? 0 : tensor + 2 * at;
                              });
  }

  TESSERA_DEVICE void load(int stage, int64_t step, int64_t perPass) const {
    int64_t pass = step >= perPass, k = (step - pass * perPass) * depth;
    loadTile(tile(stage, 0), block.leftTensor(pass), block.leftSize(k),
             [&](int row) { return block.leftIndex(row, k); });
    TESSERA_UNROLL
    for (int set = 0; set < 2; ++set)
      loadTile(tile(stage, 1 + set), block.rightTensor(set, pass),
               block.rightSize(set, k),
               [&](int row) { return block.rightIndex(set, row, k); });
  }

  static TESSERA_DEVICE int firstRow() { return threadIndex() / 32 % 2 * 32; }
  static TESSERA_DEVICE int firstColumn() { return threadIndex() / 64 * 32; }

  TESSERA_DEVICE void multiply(int stage) {
    Operand left = tile(stage, 0);
    TESSERA_UNROLL
    for (int step = 0; step < depth / 16; ++step) {
      uint32_t a[2][4];
      TESSERA_UNROLL
      for (int i = 0; i < 2; ++i)
        if (form == Form::Weights)
          left.leftOfTransposed(a[i], firstRow() + 16 * i, step);
        else
          left.left(a[i], firstRow() + 16 * i, step);
      TESSERA_UNROLL
      for (int set = 0; set < 2; ++set)
        multiplySet(set, tile(stage, 1 + set), a, step);
    }
  }

  TESSERA_DEVICE void multiplySet(int set, const Operand &right,
                                  const uint32_t (&a)[2][4], int step) {
    constexpr bool isF16 = Number::isF16;
    TESSERA_UNROLL
    for (int j = 0; j < 2; ++j) {
      uint32_t b[4];
      if (form == Form::Transposed)
        right.rightOfTransposed(b, firstColumn() + 16 * j, step);
      else
        right.right(b, 16 * step, firstColumn() / 16 + j);
      TESSERA_UNROLL
      for (int i = 0; i < 2; ++i) {
        multiplyMatrices<isF16>(sum[set][i][2 * j], a[i], b[0], b[1]);
        multiplyMatrices<isF16>(sum[set][i][2 * j + 1], a[i], b[2], b[3]);
      }
    }
  }

  TESSERA_DEVICE void store() const {
    int lane = threadIndex() % 32;
    TESSERA_UNROLL
    for (int i = 0; i < 64; ++i) {
      int set = i / 32, m = i / 16 % 2, n = i / 4 % 4, e = i % 4;
      *SharedResult<float>::at(
          set, firstRow() + 16 * m + 8 * (e / 2) + lane / 4,
          firstColumn() + 8 * n + 2 * (lane % 4) + e % 2) = sum[set][m][n][e];
    }
  }
};

} // namespace tessera::rt::cuda::device

#endif // TESSERA_RT_CUDA_KERNELS_GROUPEDMATRIX_H
