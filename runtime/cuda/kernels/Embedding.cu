//===- Embedding.cu - Gradient of a table of rows -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Positions are sorted by row (Sort.cu). Then one block sums the positions of a
// row in ascending order, or takes the last, and writes the row once. No sum
// depends on timing.
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"

using namespace tessera::rt::cuda::device;

template <typename T, int count>
struct alignas(sizeof(T) * count < 16 ? sizeof(T) * count : 16) Elements {
  T element[count];
};

/// Sums `count` columns of a row from `x` on, or replaces them.
template <typename In, typename Out, typename Wide, int count>
static TESSERA_DEVICE void sumColumns(const EmbeddingSumParams &p, int64_t row,
                                      int64_t x) {
  using Read = Elements<In, count>;
  using Written = Elements<Out, count>;
  const In *grad = reinterpret_cast<const In *>(p.grad) + x;
  const uint32_t *positions = reinterpret_cast<const uint32_t *>(p.positions);
  const int32_t *starts = reinterpret_cast<const int32_t *>(p.starts);
  Out *result = reinterpret_cast<Out *>(p.result) + row * p.width + x;
  int32_t begin = starts[row], end = starts[row + 1];
  if (begin == end && p.mode != TESSERA_RT_ROWS_SUM)
    return;
  if (p.mode == TESSERA_RT_ROWS_SET)
    begin = end - 1;
  Wide sum[count];
  TESSERA_UNROLL
  for (int e = 0; e < count; ++e)
    sum[e] = 0;
  // Several loads are in flight; the order of the sum does not change.
  constexpr int ahead = 4;
  for (int32_t i = begin; i < end; i += ahead) {
    Read next[ahead];
    TESSERA_UNROLL
    for (int j = 0; j < ahead; ++j)
      if (i + j < end)
        next[j] = *reinterpret_cast<const Read *>(
            grad + int64_t(positions[i + j]) * p.width);
    TESSERA_UNROLL
    for (int j = 0; j < ahead; ++j)
      TESSERA_UNROLL
    for (int e = 0; e < count; ++e) {
      if (i + j < end)
        sum[e] = i + j == begin ? widen(next[j].element[e])
                                : sum[e] + widen(next[j].element[e]);
    }
  }
  Written out;
  if (p.mode == TESSERA_RT_ROWS_ADD) {
    out = *reinterpret_cast<const Written *>(result);
    TESSERA_UNROLL
    for (int e = 0; e < count; ++e)
      sum[e] = widen(out.element[e]) + sum[e];
  }
  TESSERA_UNROLL
  for (int e = 0; e < count; ++e)
    narrow(sum[e], out.element[e]);
  *reinterpret_cast<Written *>(result) = out;
}

template <typename In, typename Out, typename Wide>
static TESSERA_DEVICE void sumRows(const EmbeddingSumParams &p) {
  bool packed = p.width % 4 == 0 && p.grad % 16 == 0 && p.result % 16 == 0;
  for (int64_t row = blockIndex(); row < p.rows; row += gridSize()) {
    if (packed)
      for (int64_t x = 4 * threadIndex(); x < p.width; x += 4 * blockSize())
        sumColumns<In, Out, Wide, 4>(p, row, x);
    else
      for (int64_t x = threadIndex(); x < p.width; x += blockSize())
        sumColumns<In, Out, Wide, 1>(p, row, x);
  }
}

TESSERA_KERNEL(tessera_embedding_sum_f32, EmbeddingSumParams, 128, 4) {
  sumRows<float, float, float>(p);
}
TESSERA_KERNEL(tessera_embedding_sum_f64, EmbeddingSumParams, 128, 2) {
  sumRows<double, double, double>(p);
}
TESSERA_KERNEL(tessera_embedding_sum_bf16, EmbeddingSumParams, 128, 4) {
  sumRows<uint16_t, uint16_t, float>(p);
}
TESSERA_KERNEL(tessera_embedding_sum_bf16_f32, EmbeddingSumParams, 128, 4) {
  sumRows<uint16_t, float, float>(p);
}
