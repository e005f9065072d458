//===- RowSort.h - Positions sorted by the row that they name ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The launches of Sort.cu, and the buffers of a sort in a workspace.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_KERNELS_ROWSORT_H
#define TESSERA_RT_CUDA_KERNELS_ROWSORT_H

#include "Builtin.h"

namespace tessera::rt::cuda {

/// A stable sort of positions by row. A position's key is its row, or `rows` if
/// it has none. Positions and rows are fewer than 2^31 - 1.
class RowSort {
public:
  RowSort(int64_t positions, int64_t rows, void *workspace);

  /// Enqueues the keys of ids of I32 or I64: the row of an id is id - offset,
  /// if that is at least 0 and before `end`.
  std::string makeKeys(BuiltinKernels &kernels, Stream stream, int32_t idDtype,
                       const void *ids, int64_t offset, int64_t end) const;
  /// Enqueues the sort of `keys` and `values`, with as many passes as row
  /// numbers have bytes, and the search of the first position of each row.
  std::string run(BuiltinKernels &kernels, Stream stream);

  /// The sorted keys and positions; `starts` [rows + 1] are the first sorted
  /// position of each row, and the number of those that have a row.
  int64_t sortedKeys() const { return buffers[sorted].keys; }
  int64_t sortedValues() const { return buffers[sorted].values; }
  int64_t starts;

  /// The keys and positions [positions] to sort, u32.
  int64_t keys() const { return buffers[0].keys; }
  int64_t values() const { return buffers[0].values; }

  int64_t positions, rows;
  /// Bytes of the workspace.
  int64_t bytes;

private:
  std::string sortByte(BuiltinKernels &kernels, Stream stream, int64_t shift);

  struct Buffer {
    int64_t keys, values;
  } buffers[2];
  int64_t counts, tiles;
  /// The buffer that has the result.
  int sorted = 0;
};

} // namespace tessera::rt::cuda

#endif // TESSERA_RT_CUDA_KERNELS_ROWSORT_H
