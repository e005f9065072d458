//===- AttentionBackward.cu - Gradients of attention on matrix units ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two kernels recompute the same weights from the saved logsumexp. One holds
// keys and loops over queries (dk and dv), the other holds queries and loops
// over keys (dq). Every sum belongs to one thread and has one order, so results
// do not depend on timing; the cost is seven matmuls instead of five. The first
// kernel computes transposed scores: its results have the layout of left
// operands, so weights never go through shared memory.
//
//===----------------------------------------------------------------------===//

#include "AttentionTile.h"

using namespace tessera::rt::cuda::device;

namespace {
/// Queries (or keys) that a block processes at once, limited by registers.
template <int D> constexpr int walked = D == 64 ? 64 : 32;

template <int D> struct Backward : AttentionBlock {
  using AttentionBlock::AttentionBlock;
  static constexpr int columns8 = walked<D> / 8;

  /// Rows [first, first + rows) of q or of grad.
  template <int rows>
  TESSERA_DEVICE void loadRows(const Tile<D> &tile, int64_t tensor, int64_t dim,
                               int64_t first) const {
    tile.template load<rows>(int(dim), tensor, [&](int row) -> int64_t {
      if (first + row >= numRows())
        return 0;
      return tensor + 2 * rowIndex(first + row) * dim;
    });
  }
  /// Rows [first, first + rows) of k or of v.
  template <int rows>
  TESSERA_DEVICE void loadKeys(const Tile<D> &tile, int64_t tensor, int64_t dim,
                               int64_t first) const {
    tile.template load<rows>(int(dim), tensor, [&](int row) -> int64_t {
      if (first + row >= p.keyLength)
        return 0;
      return tensor + 2 * keyIndex(first + row) * dim;
    });
  }
  static TESSERA_DEVICE void clear(float (&sums)[D / 8][4]) {
    TESSERA_UNROLL
    for (int n = 0; n < D / 8; ++n)
      TESSERA_UNROLL
    for (int e = 0; e < 4; ++e)
      sums[n][e] = 0;
  }
};

//===----------------------------------------------------------------------===//
// dk and dv
//===----------------------------------------------------------------------===//

template <int D> struct OfKeys : Backward<D> {
  using Base = Backward<D>;
  using Base::Base;
  using Base::columns8;
  using Base::p;
  static constexpr int depth = walked<D>;

  /// Values that a query subtracts, and the keys that it sees: the first, and
  /// their number.
  struct Query {
    float shift, delta;
    int first, count;
  };
  float dk[D / 8][4], dv[D / 8][4];

  // Shared memory: keys, values; queries and grads in two stages; the values
  // that the queries subtract.
  static TESSERA_DEVICE Tile<D> keys() { return {sharedMemory()}; }
  static TESSERA_DEVICE Tile<D> values() {
    return {sharedMemory() + Tile<D>::bytes(tileKeys)};
  }
  static TESSERA_DEVICE Tile<D> queries(int stage) {
    return {sharedMemory() + Tile<D>::bytes(2 * tileKeys + 2 * depth * stage)};
  }
  static TESSERA_DEVICE Tile<D> grads(int stage) {
    return {queries(stage).memory + Tile<D>::bytes(depth)};
  }
  static TESSERA_DEVICE Query *query(int stage) {
    return reinterpret_cast<Query *>(queries(2).memory) + stage * depth;
  }

  TESSERA_DEVICE void loadQueries(int stage, int64_t first) const {
    this->template loadRows<depth>(queries(stage), p.q, p.headDim, first);
    this->template loadRows<depth>(grads(stage), p.grad, p.valueDim, first);
    int i = threadIndex();
    if (i >= depth)
      return;
    Query &to = query(stage)[i];
    to.first = this->firstKey(first + i);
    to.count = this->visibleKeys(first + i) - to.first;
    if (to.count <= 0) {
      to.count = 0;
      return;
    }
    int64_t index = this->rowIndex(first + i);
    to.shift = reinterpret_cast<const float *>(p.logsumexp)[index] * log2OfE;
    to.delta = reinterpret_cast<const float *>(p.delta)[index];
  }

  TESSERA_DEVICE void walk(int stage, int key, float scale) {
    int lane = threadIndex() % 32, row = threadIndex() / 32 * 16;
    float weight[columns8][4], slope[columns8][4];
    multiplyTransposed<D, columns8>(weight, keys(), row, queries(stage));
    multiplyTransposed<D, columns8>(slope, values(), row, grads(stage));
    float factor = scale * log2OfE;
    TESSERA_UNROLL
    for (int n = 0; n < columns8; ++n)
      TESSERA_UNROLL
    for (int e = 0; e < 4; ++e) {
      const Query &q = query(stage)[8 * n + 2 * (lane % 4) + e % 2];
      int mine = key + row + lane / 4 + e / 2 * 8;
      float x = 0, dx = 0;
      if (uint32_t(mine - q.first) < uint32_t(q.count)) {
        x = exp2Of(weight[n][e] * factor - q.shift);
        dx = x * (slope[n][e] - q.delta);
      }
      weight[n][e] = x;
      slope[n][e] = dx;
    }
    multiplyWeights<D, columns8>(dv, weight, grads(stage));
    multiplyWeights<D, columns8>(dk, slope, queries(stage));
  }

  TESSERA_DEVICE void run() {
    Base::clear(dk);
    Base::clear(dv);
    int64_t key = this->tile * tileKeys;
    int64_t begin = this->firstRowOfKey(key) / depth;
    int64_t end = (this->endRowOfKey(key + tileKeys - 1) + depth - 1) / depth;
    this->template loadKeys<tileKeys>(keys(), p.k, p.headDim, key);
    this->template loadKeys<tileKeys>(values(), p.v, p.valueDim, key);
    if (begin < end)
      loadQueries(0, begin * depth);
    commitAsync();
    float scale = this->scale();
    for (int64_t step = begin; step < end; ++step) {
      int stage = int(step - begin) & 1;
      if (step + 1 < end)
        loadQueries(stage ^ 1, (step + 1) * depth);
      commitAsync();
      waitAsync<1>();
      syncThreads();
      walk(stage, int(key), scale);
      syncThreads();
    }
    waitAsync<0>();
    int lane = threadIndex() % 32;
    TESSERA_UNROLL
    for (int half = 0; half < 2; ++half) {
      int64_t mine = key + threadIndex() / 32 * 16 + lane / 4 + 8 * half;
      if (mine >= p.keyLength)
        continue;
      int64_t index = this->keyIndex(mine);
      TESSERA_UNROLL
      for (int n = 0; n < D / 8; ++n) {
        int column = 8 * n + 2 * (lane % 4);
        storePair(p.wide, p.dk, index, p.headDim, column,
                  dk[n][2 * half] * scale, dk[n][2 * half + 1] * scale);
        storePair(p.wide, p.dv, index, p.valueDim, column, dv[n][2 * half],
                  dv[n][2 * half + 1]);
      }
    }
  }
};

//===----------------------------------------------------------------------===//
// dq
//===----------------------------------------------------------------------===//

template <int D> struct OfRows : Backward<D> {
  using Base = Backward<D>;
  using Base::Base;
  using Base::columns8;
  using Base::p;
  static constexpr int depth = walked<D>;

  float shift[2], delta[2];
  int hidden[2], visible[2];
  float dq[D / 8][4];

  // Shared memory: queries, grads; keys and values in two stages.
  static TESSERA_DEVICE Tile<D> queries() { return {sharedMemory()}; }
  static TESSERA_DEVICE Tile<D> grads() {
    return {sharedMemory() + Tile<D>::bytes(tileRows)};
  }
  static TESSERA_DEVICE Tile<D> keys(int stage) {
    return {sharedMemory() + Tile<D>::bytes(2 * tileRows + 2 * depth * stage)};
  }
  static TESSERA_DEVICE Tile<D> values(int stage) {
    return {keys(stage).memory + Tile<D>::bytes(depth)};
  }

  TESSERA_DEVICE void loadStage(int stage, int64_t first) const {
    this->template loadKeys<depth>(keys(stage), p.k, p.headDim, first);
    this->template loadKeys<depth>(values(stage), p.v, p.valueDim, first);
  }

  TESSERA_DEVICE void walk(int stage, int first, float factor) {
    int lane = threadIndex() % 32, row = threadIndex() / 32 * 16;
    float weight[columns8][4], slope[columns8][4];
    multiplyTransposed<D, columns8>(weight, queries(), row, keys(stage));
    multiplyTransposed<D, columns8>(slope, grads(), row, values(stage));
    TESSERA_UNROLL
    for (int n = 0; n < columns8; ++n)
      TESSERA_UNROLL
    for (int e = 0; e < 4; ++e) {
      int key = first + 8 * n + 2 * (lane % 4) + e % 2, half = e / 2;
      float dx = 0;
      if (key >= hidden[half] && key < visible[half])
        dx = exp2Of(weight[n][e] * factor - shift[half]) *
             (slope[n][e] - delta[half]);
      slope[n][e] = dx;
    }
    multiplyWeights<D, columns8>(dq, slope, keys(stage));
  }

  TESSERA_DEVICE void run() {
    Base::clear(dq);
    int lane = threadIndex() % 32;
    int64_t first = this->tile * tileRows, rows = this->numRows();
    int64_t last = first + tileRows < rows ? first + tileRows : rows;
    int64_t mine = first + threadIndex() / 32 * 16 + lane / 4;
    int begin = this->firstKeyOf(first, tileRows) / depth;
    int steps = (this->visibleKeys(last - 1) + depth - 1) / depth;
    TESSERA_UNROLL
    for (int half = 0; half < 2; ++half) {
      shift[half] = delta[half] = 0;
      hidden[half] = this->firstKey(mine + 8 * half);
      visible[half] = this->visibleKeys(mine + 8 * half);
      if (visible[half] == 0)
        continue;
      int64_t index = this->rowIndex(mine + 8 * half);
      shift[half] =
          reinterpret_cast<const float *>(p.logsumexp)[index] * log2OfE;
      delta[half] = reinterpret_cast<const float *>(p.delta)[index];
    }
    this->template loadRows<tileRows>(queries(), p.q, p.headDim, first);
    this->template loadRows<tileRows>(grads(), p.grad, p.valueDim, first);
    if (begin < steps)
      loadStage(0, int64_t(begin) * depth);
    commitAsync();
    float scale = this->scale();
    for (int step = begin; step < steps; ++step) {
      int stage = (step - begin) & 1;
      if (step + 1 < steps)
        loadStage(stage ^ 1, int64_t(step + 1) * depth);
      commitAsync();
      waitAsync<1>();
      syncThreads();
      walk(stage, step * depth, scale * log2OfE);
      syncThreads();
    }
    waitAsync<0>();
    TESSERA_UNROLL
    for (int half = 0; half < 2; ++half) {
      if (mine + 8 * half >= rows)
        continue;
      int64_t index = this->rowIndex(mine + 8 * half);
      TESSERA_UNROLL
      for (int n = 0; n < D / 8; ++n)
        storePair(p.wide, p.dq, index, p.headDim, 8 * n + 2 * (lane % 4),
                  dq[n][2 * half] * scale, dq[n][2 * half + 1] * scale);
    }
  }
};
} // namespace

TESSERA_KERNEL(tessera_attention_dkv_64, AttentionParams, tileThreads, 2) {
  OfKeys<64> block(p, false);
  block.run();
}
TESSERA_KERNEL(tessera_attention_dkv_128, AttentionParams, tileThreads, 2) {
  OfKeys<128> block(p, false);
  block.run();
}
TESSERA_KERNEL(tessera_attention_dq_64, AttentionParams, tileThreads, 2) {
  OfRows<64> block(p, true);
  block.run();
}
TESSERA_KERNEL(tessera_attention_dq_128, AttentionParams, tileThreads, 2) {
  OfRows<128> block(p, true);
  block.run();
}
