//===- AttentionForward.cu - Attention on matrix units --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For bf16 and heads of up to 64 or 128 elements, a multiple of 8. A block of
// four warps has 64 query rows, 16 for each warp, and loops over the keys, 64
// at a time, with a running maximum and sum (Dao, "FlashAttention-2", 2023). It
// prefetches the next keys and values. Sums are in f32; weights are rounded to
// bf16 before they are multiplied by the values.
//
//===----------------------------------------------------------------------===//

#include "AttentionTile.h"

using namespace tessera::rt::cuda::device;

namespace {
template <int D> struct Forward : AttentionBlock {
  using AttentionBlock::AttentionBlock;
  static constexpr int columns8 = tileKeys / 8;

  /// State of this lane's rows l/4 and l/4 + 8.
  float maximum[2], sum[2];
  int hidden[2], visible[2];
  float output[D / 8][4];
  uint32_t queries[D / 16][4];

  /// Two stages of keys and values; queries are loaded through the second
  /// stage's values.
  static TESSERA_DEVICE Tile<D> keys(int stage) {
    return {sharedMemory() + Tile<D>::bytes(tileKeys) * 2 * stage};
  }
  static TESSERA_DEVICE Tile<D> values(int stage) {
    return {sharedMemory() + Tile<D>::bytes(tileKeys) * (2 * stage + 1)};
  }

  TESSERA_DEVICE void loadQueries(const Tile<D> &tile, int64_t first) {
    tile.template load<tileRows>(int(p.headDim), p.q, [&](int row) -> int64_t {
      if (first + row >= numRows())
        return 0;
      return p.q + 2 * rowIndex(first + row) * p.headDim;
    });
    commitAsync();
    waitAsync<0>();
    syncThreads();
    TESSERA_UNROLL
    for (int step = 0; step < D / 16; ++step)
      tile.left(queries[step], threadIndex() / 32 * 16, step);
    syncThreads();
  }

  TESSERA_DEVICE void loadKeys(int stage, int64_t first) const {
    auto keyRow = [&](int row) -> int64_t {
      if (first + row >= p.keyLength)
        return 0;
      return p.k + 2 * keyIndex(first + row) * p.headDim;
    };
    auto valueRow = [&](int row) -> int64_t {
      if (first + row >= p.keyLength)
        return 0;
      return p.v + 2 * keyIndex(first + row) * p.valueDim;
    };
    keys(stage).template load<tileKeys>(int(p.headDim), p.k, keyRow);
    values(stage).template load<tileKeys>(int(p.valueDim), p.v, valueRow);
  }

  /// Turns scores into weights; updates maximum, sum and output.
  TESSERA_DEVICE void softmax(float (&score)[columns8][4], int first,
                              float factor) {
    int column = first + 2 * (threadIndex() % 4);
    TESSERA_UNROLL
    for (int half = 0; half < 2; ++half) {
      float best = maximum[half];
      bool whole = first >= hidden[half] && first + tileKeys <= visible[half];
      TESSERA_UNROLL
      for (int n = 0; n < columns8; ++n)
        TESSERA_UNROLL
      for (int e = 0; e < 2; ++e) {
        float &x = score[n][2 * half + e];
        int key = column + 8 * n + e;
        if (!whole && (key < hidden[half] || key >= visible[half]))
          x = -TESSERA_INFINITY;
        best = best > x ? best : x;
      }
      best = maxOfLanes(best, 4);
      // A row that has seen no key has no maximum, so nothing is subtracted.
      float shift = best == -TESSERA_INFINITY ? 0 : best * factor;
      float shrink = exp2Of(maximum[half] * factor - shift);
      maximum[half] = best;
      float added = 0;
      TESSERA_UNROLL
      for (int n = 0; n < columns8; ++n)
        TESSERA_UNROLL
      for (int e = 0; e < 2; ++e) {
        float &x = score[n][2 * half + e];
        x = exp2Of(x * factor - shift);
        added += x;
      }
      sum[half] = sum[half] * shrink + added;
      TESSERA_UNROLL
      for (int n = 0; n < D / 8; ++n) {
        output[n][2 * half] *= shrink;
        output[n][2 * half + 1] *= shrink;
      }
    }
  }

  TESSERA_DEVICE void write(int64_t first, float factor) const {
    int lane = threadIndex() % 32;
    TESSERA_UNROLL
    for (int half = 0; half < 2; ++half) {
      float total = sumOfLanes(sum[half], 4);
      int64_t row = first + lane / 4 + 8 * half;
      if (row >= numRows())
        continue;
      float scale = total > 0 ? 1 / total : 0;
      int64_t index = rowIndex(row);
      TESSERA_UNROLL
      for (int n = 0; n < D / 8; ++n)
        storePair(p.wide, p.out, index, p.valueDim, 8 * n + 2 * (lane % 4),
                  output[n][2 * half] * scale, output[n][2 * half + 1] * scale);
      if (p.logsumexp && lane % 4 == 0)
        reinterpret_cast<float *>(p.logsumexp)[index] =
            total > 0 ? (maximum[half] * factor + log2Of(total)) * logOf2
                      : -TESSERA_INFINITY;
    }
  }

  TESSERA_DEVICE void run() {
    int64_t first = tile * tileRows;
    int64_t last = first + tileRows < numRows() ? first + tileRows : numRows();
    int depth = visibleKeys(last - 1);
    int begin = firstKeyOf(first, tileRows) / tileKeys;
    int steps = (depth + tileKeys - 1) / tileKeys;
    int64_t mine = first + threadIndex() / 32 * 16;
    TESSERA_UNROLL
    for (int half = 0; half < 2; ++half) {
      maximum[half] = -TESSERA_INFINITY;
      sum[half] = 0;
      int64_t row = mine + threadIndex() % 32 / 4 + 8 * half;
      hidden[half] = firstKey(row);
      visible[half] = visibleKeys(row);
    }
    TESSERA_UNROLL
    for (int n = 0; n < D / 8; ++n)
      TESSERA_UNROLL
    for (int e = 0; e < 4; ++e)
      output[n][e] = 0;
    if (begin < steps)
      loadKeys(0, int64_t(begin) * tileKeys);
    commitAsync();
    // The second stage's values are free, so the queries are loaded there.
    loadQueries(values(1), first);
    float factor = scale() * log2OfE;
    for (int step = begin; step < steps; ++step) {
      int stage = (step - begin) & 1;
      if (step + 1 < steps)
        loadKeys(stage ^ 1, (step + 1) * tileKeys);
      commitAsync();
      waitAsync<1>();
      syncThreads();
      walk(stage, step * tileKeys, factor);
      syncThreads();
    }
    waitAsync<0>();
    write(mine, factor);
  }

  TESSERA_DEVICE void walk(int stage, int first, float factor) {
    Tile<D> k = keys(stage), v = values(stage);
    float score[columns8][4];
    TESSERA_UNROLL
    for (int n = 0; n < columns8; ++n)
      TESSERA_UNROLL
    for (int e = 0; e < 4; ++e)
      score[n][e] = 0;
    TESSERA_UNROLL
    for (int part = 0; part < D / 16; ++part)
      TESSERA_UNROLL
    for (int n = 0; n < columns8 / 2; ++n) {
      uint32_t right[4];
      k.rightOfTransposed(right, 16 * n, part);
      multiplyMatrices(score[2 * n], queries[part], right[0], right[1]);
      multiplyMatrices(score[2 * n + 1], queries[part], right[2], right[3]);
    }
    softmax(score, first, factor);
    multiplyWeights<D, columns8>(output, score, v);
  }
};
} // namespace

TESSERA_KERNEL(tessera_attention_64, AttentionParams, tileThreads, 3) {
  Forward<64> block(p, true);
  block.run();
}
TESSERA_KERNEL(tessera_attention_128, AttentionParams, tileThreads, 2) {
  Forward<128> block(p, true);
  block.run();
}
