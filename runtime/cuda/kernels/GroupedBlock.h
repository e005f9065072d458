//===- GroupedBlock.h - Tiles of matmuls by expert --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows and columns of a block of a matmul by expert, and where its operands
// are. How many rows an expert has is known on the device alone, so a grid has
// blocks for all rows that there is room for, and those without rows leave.
//
// Expert e owns the slots [first[e] / 64 + e, first[e+1] / 64 + e + 1) of 64
// rows. These are at least as many as it needs, since a / 64 + b / 64 + 1 is at
// least ceil((a + b) / 64) - a / 64, and no scan is needed to find the expert
// of a slot:
//
//   rows of experts 0, 1, 2:  70, 0, 60   first: 0, 70, 70, 130
//   slots:                    0 1 | 2 | 3 4   (2 has no rows, nor has 4)
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_KERNELS_GROUPEDBLOCK_H
#define TESSERA_RT_CUDA_KERNELS_GROUPEDBLOCK_H

#include "Kernel.h"

namespace tessera::rt::cuda::device {

/// The operands of a matmul by expert. Rows: rows times a matrix of the expert.
/// Transposed: times the transpose of that. Weights: the transpose of an
/// expert's rows times other rows of it.
enum class Form { Rows, Transposed, Weights };

/// Indices are in elements; -1 stands for a row of zeros.
template <Form form> struct GroupedBlock {
  static constexpr bool isWeights = form == Form::Weights;

  const GroupedParams &p;
  int64_t expert = 0;
  /// Rows of the routing: of the result, or those that are summed.
  int64_t begin = 0, end = 0;
  /// The first row of a result of weights, the tile of columns, and its first
  /// column.
  int64_t top = 0, columnTile = 0, firstColumn = 0;

  TESSERA_DEVICE explicit GroupedBlock(const GroupedParams &p) : p(p) {}

  TESSERA_DEVICE const int32_t *first() const {
    return reinterpret_cast<const int32_t *>(p.routing);
  }
  TESSERA_DEVICE int64_t choiceOf(int64_t row) const {
    return first()[p.experts + 1 + row];
  }

  /// True if there are more rows than room; results are NaN then.
  TESSERA_DEVICE bool overflows() const { return first()[p.experts] > p.room; }

  /// Finds the block's rows and columns. False for all threads if it has no
  /// rows to compute with.
  TESSERA_DEVICE bool find() {
    int64_t slot = chooseTile();
    firstColumn = columnTile * groupedColumns * (p.pair ? 1 : 2);
    if (!isWeights)
      return !overflows() && findRows(slot);
    int64_t tops = (p.leftWidth + groupedRows - 1) / groupedRows;
    expert = slot / tops;
    top = slot % tops * groupedRows;
    begin = first()[expert];
    end = first()[expert + 1];
    return !overflows();
  }

  /// Number of steps of `depth` elements of the sum.
  TESSERA_DEVICE int64_t stepsOf(int depth) const {
    int64_t size = isWeights ? end - begin : p.depth;
    return (size + depth - 1) / depth;
  }

  // Row `row` of a tile of an operand, from element `k` of the sum on, and how
  // many elements of it there are. A tile's rows are those of the tensor in
  // memory.

  TESSERA_DEVICE int64_t leftIndex(int row, int64_t k) const {
    if (isWeights)
      return rowIndex(p.gathersLeft, k + row, p.leftWidth, top);
    int32_t index = rowsInLeft()[row];
    return index < 0 ? -1 : index * p.leftWidth + k;
  }
  TESSERA_DEVICE int64_t leftSize(int64_t k) const {
    return p.leftWidth - (isWeights ? top : k);
  }
  TESSERA_DEVICE int64_t rightIndex(int set, int row, int64_t k) const {
    int64_t column = columnOf(set);
    if (isWeights)
      return rowIndex(p.gathersRight, k + row, p.columns, column);
    if (form == Form::Rows)
      return k + row < p.depth
                 ? (expert * p.depth + k + row) * p.columns + column
                 : -1;
    return column + row < p.columns
               ? (expert * p.columns + column + row) * p.depth + k
               : -1;
  }
  TESSERA_DEVICE int64_t rightSize(int set, int64_t k) const {
    return form == Form::Transposed ? p.depth - k : p.columns - columnOf(set);
  }
  TESSERA_DEVICE int64_t leftTensor(int64_t pass) const { return p.left[pass]; }
  TESSERA_DEVICE int64_t rightTensor(int set, int64_t pass) const {
    return p.right[p.pair ? set : pass];
  }

  /// The first column of a set.
  TESSERA_DEVICE int64_t columnOf(int set) const {
    return firstColumn + (p.pair ? 0 : set * groupedColumns);
  }

private:
  /// Chooses the tile of columns and returns the slot. Blocks of groupedSlots
  /// slots and all columns are next to each other, so those that run at once
  /// read few different rows and columns of the operands.
  TESSERA_DEVICE int64_t chooseTile() {
    int64_t first =
        blockIndex() / (groupedSlots * p.columnTiles) * groupedSlots;
    int64_t slots =
        p.slots - first < groupedSlots ? p.slots - first : groupedSlots;
    int64_t rest = blockIndex() - first * p.columnTiles;
    columnTile = rest / slots;
    return first + rest % slots;
  }

  /// The row of each of the block's rows in the left operand.
  static TESSERA_DEVICE int32_t *rowsInLeft() {
    return reinterpret_cast<int32_t *>(sharedMemory());
  }

  TESSERA_DEVICE int32_t rowIn(bool gathers, int64_t row) const {
    uint32_t choice = uint32_t(gathers ? choiceOf(row) : row);
    return int32_t(gathers ? choice / uint32_t(p.choices) : choice);
  }
  TESSERA_DEVICE int64_t rowIndex(bool gathers, int64_t k, int64_t width,
                                  int64_t column) const {
    return begin + k < end ? rowIn(gathers, begin + k) * width + column : -1;
  }

  TESSERA_DEVICE bool findRows(int64_t slot) {
    int32_t *found = rowsInLeft() + groupedRows;
    if (threadIndex() == 0)
      *found = -1;
    syncThreads();
    for (int64_t e = threadIndex(); e < p.experts; e += blockSize())
      if (slotOf(e) <= slot && slot < slotOf(e + 1))
        *found = int32_t(e);
    syncThreads();
    expert = *found;
    if (expert < 0)
      return false;
    begin = first()[expert] + (slot - slotOf(expert)) * groupedRows;
    end = first()[expert + 1];
    if (begin >= end)
      return false;
    end = end < begin + groupedRows ? end : begin + groupedRows;
    if (threadIndex() < groupedRows)
      rowsInLeft()[threadIndex()] =
          begin + threadIndex() < end
              ? rowIn(p.gathersLeft, begin + threadIndex())
              : -1;
    syncThreads();
    return true;
  }
  TESSERA_DEVICE int64_t slotOf(int64_t e) const {
    return first()[e] / groupedRows + e;
  }
};

/// A result in shared memory, [2][64][64] with padding.
template <typename T> struct SharedResult {
  static constexpr int stride = groupedColumns + 4;
  static constexpr int bytes = 2 * groupedRows * stride * int(sizeof(T));
  static TESSERA_DEVICE T *at(int set, int row, int column) {
    return reinterpret_cast<T *>(sharedMemory() + groupedHeader) +
           (set * groupedRows + row) * stride + column;
  }
};

} // namespace tessera::rt::cuda::device

#endif // TESSERA_RT_CUDA_KERNELS_GROUPEDBLOCK_H
