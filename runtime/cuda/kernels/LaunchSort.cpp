//===- LaunchSort.cpp - Positions sorted by the row that they name --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See RowSort.h.
//
//===----------------------------------------------------------------------===//

#include "RowSort.h"

#include "Params.h"

using namespace tessera::rt::cuda;
using namespace tessera::rt::cuda::device;

RowSort::RowSort(int64_t positions, int64_t rows, void *workspace)
    : positions(positions), rows(rows),
      tiles((positions + sortTile - 1) / sortTile) {
  int64_t base = int64_t(reinterpret_cast<uintptr_t>(workspace)), at = base;
  auto take = [&](int64_t words) {
    int64_t part = at;
    at += (words * 4 + 255) / 256 * 256;
    return part;
  };
  for (Buffer &buffer : buffers)
    buffer = {take(positions), take(positions)};
  counts = take(256 * tiles);
  starts = take(rows + 1);
  bytes = at - base;
}

std::string RowSort::makeKeys(BuiltinKernels &kernels, Stream stream,
                              int32_t idDtype, const void *ids, int64_t offset,
                              int64_t end) const {
  if (positions == 0)
    return "";
  SortKeysParams params{int64_t(reinterpret_cast<uintptr_t>(ids)),
                        positions,
                        rows,
                        offset,
                        keys(),
                        values(),
                        end};
  return kernels.launch(stream,
                        idDtype == TESSERA_RT_I32 ? "tessera_sort_keys_i32"
                                                  : "tessera_sort_keys_i64",
                        {kernels.gridFor(positions, 256), 256, 0}, params);
}

std::string RowSort::sortByte(BuiltinKernels &kernels, Stream stream,
                              int64_t shift) {
  const Buffer &from = buffers[sorted], &to = buffers[1 - sorted];
  SortParams params{from.keys, from.values, to.keys, to.values,
                    positions, shift,       counts,  tiles};
  std::string error = kernels.launch(stream, "tessera_sort_count",
                                     {tiles, sortThreads, 256 * 4}, params);
  if (error.empty())
    error = kernels.launch(stream, "tessera_sort_scan",
                           {1, scanThreads, scanThreads * 4}, params);
  if (error.empty())
    error = kernels.launch(
        stream, "tessera_sort_scatter",
        {tiles, sortThreads, 256 * 4 * (1 + sortThreads / 32)}, params);
  sorted = 1 - sorted;
  return error;
}

std::string RowSort::run(BuiltinKernels &kernels, Stream stream) {
  std::string error;
  // The largest key is `rows`.
  for (int64_t shift = 0; positions && rows >> shift > 0 && error.empty();
       shift += 8)
    error = sortByte(kernels, stream, shift);
  StartsParams params{sortedKeys(), positions, rows, starts};
  if (error.empty())
    error =
        kernels.launch(stream, "tessera_sort_starts",
                       {kernels.gridFor(positions + 1, 256), 256, 0}, params);
  return error;
}
