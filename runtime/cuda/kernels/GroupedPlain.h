//===- GroupedPlain.h - Matmuls by expert without matrix units --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For all types and widths. A thread has 4 rows and 8 columns of both sets, in
// f32, or in f64 for f64.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_KERNELS_GROUPEDPLAIN_H
#define TESSERA_RT_CUDA_KERNELS_GROUPEDPLAIN_H

#include "GroupedBlock.h"
#include "Numbers.h"

namespace tessera::rt::cuda::device {

template <typename Number, Form form> struct GroupedPlain {
  using Type = Number;
  static constexpr Form kind = form;
  static constexpr bool isPacked = false;
  using Wide = typename Number::Wide;
  using Stored = typename Number::Stored;

  const GroupedBlock<form> &block;
  Wide sum[2][4][8];

  TESSERA_DEVICE explicit GroupedPlain(const GroupedBlock<form> &block)
      : block(block) {}

  /// Computes the block's result and stores it in shared memory.
  TESSERA_DEVICE void run() {
    TESSERA_UNROLL
    for (int i = 0; i < 64; ++i)
      sum[i / 32][i / 8 % 4][i % 8] = 0;
    int64_t steps = block.stepsOf(plainDepth);
    for (int64_t pass = 0; pass < block.p.passes; ++pass)
      for (int64_t step = 0; step < steps; ++step) {
        syncThreads();
        load(pass, step * plainDepth);
        syncThreads();
        multiply();
      }
    syncThreads();
    store();
    syncThreads();
  }

private:
  /// Row `k` of operand `index`, transposed if its rows are not those of the
  /// sum: [64] with padding.
  static TESSERA_DEVICE Wide *operand(int index, int k) {
    constexpr int stride = groupedRows + 4;
    return reinterpret_cast<Wide *>(sharedMemory() + groupedHeader) +
           (index * plainDepth + k) * stride;
  }

  /// Loads a tile; its rows in memory are elements of the sum, or rows or
  /// columns of the result.
  template <bool rowsAreDepth, typename Index>
  static TESSERA_DEVICE void loadTile(int operandIndex, int64_t tensor,
                                      int64_t size, Index index) {
    constexpr int columns = rowsAreDepth ? groupedRows : plainDepth;
    for (int i = threadIndex(); i < groupedRows * plainDepth;
         i += groupedThreads) {
      int row = i / columns, column = i % columns;
      int64_t at = column < size ? index(row) : -1;
      Wide value = 0;
      if (at >= 0)
        value =
            Number::read(reinterpret_cast<const Stored *>(tensor)[at + column]);
      *(rowsAreDepth ? operand(operandIndex, row) + column
                     : operand(operandIndex, column) + row) = value;
    }
  }

  TESSERA_DEVICE void load(int64_t pass, int64_t k) const {
    loadTile<form == Form::Weights>(
        0, block.leftTensor(pass), block.leftSize(k),
        [&](int row) { return block.leftIndex(row, k); });
    for (int set = 0; set < 2; ++set)
      loadTile<form != Form::Transposed>(
          1 + set, block.rightTensor(set, pass), block.rightSize(set, k),
          [&](int row) { return block.rightIndex(set, row, k); });
  }

  static TESSERA_DEVICE int firstRow() { return threadIndex() / 8 * 4; }
  /// A thread has columns [4 * t, 4 * t + 4) and those 32 further on.
  static TESSERA_DEVICE int columnOf(int j) {
    return j / 4 * 32 + threadIndex() % 8 * 4 + j % 4;
  }

  TESSERA_DEVICE void multiply() {
    for (int k = 0; k < plainDepth; ++k) {
      Wide left[4];
      TESSERA_UNROLL
      for (int i = 0; i < 4; ++i)
        left[i] = operand(0, k)[firstRow() + i];
      TESSERA_UNROLL
      for (int set = 0; set < 2; ++set)
        TESSERA_UNROLL
      for (int j = 0; j < 8; ++j) {
        Wide right = operand(1 + set, k)[columnOf(j)];
        TESSERA_UNROLL
        for (int i = 0; i < 4; ++i)
          sum[set][i][j] += left[i] * right;
      }
    }
  }

  TESSERA_DEVICE void store() const {
    TESSERA_UNROLL
    for (int i = 0; i < 64; ++i)
      *SharedResult<Wide>::at(i / 32, firstRow() + i / 8 % 4, columnOf(i % 8)) =
          sum[i / 32][i / 8 % 4][i % 8];
  }
};

} // namespace tessera::rt::cuda::device

#endif // TESSERA_RT_CUDA_KERNELS_GROUPEDPLAIN_H
