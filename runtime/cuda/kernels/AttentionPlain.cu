//===- AttentionPlain.cu - Attention without matrix units -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For f32, and for bf16 with heads that the matrix-unit kernels do not support:
// any size up to 256. All arithmetic is f32. A block has 16 rows (or keys) with
// 8 lanes each: a lane computes every eighth key (or row) of the scores and
// every eighth element of the result. Sums have one order. This file also
// computes the sums of grad * out, which both backward variants need.
//
//===----------------------------------------------------------------------===//

#include "AttentionRows.h"

using namespace tessera::rt::cuda::device;

namespace {
/// A matrix in shared memory; an odd stride keeps lanes in different banks.
struct Matrix {
  float *memory;
  int stride;
  TESSERA_DEVICE float &at(int row, int column) const {
    return memory[row * stride + column];
  }
};

/// Heads of up to `size` elements.
template <typename T, int size> struct PlainAttention : AttentionBlock {
  using AttentionBlock::AttentionBlock;
  /// Elements of the result, and scores, of a lane.
  static constexpr int perLane = size / plainLanes;
  static constexpr int scores = plainKeys / plainLanes;

  static TESSERA_DEVICE int lane() { return threadIndex() % plainLanes; }
  static TESSERA_DEVICE int line() { return threadIndex() / plainLanes; }

  /// Takes the next part of shared memory, `rows` rows of `columns`.
  char *next = nullptr;
  TESSERA_DEVICE Matrix take(int rows, int64_t columns) {
    if (!next)
      next = sharedMemory();
    Matrix matrix{reinterpret_cast<float *>(next), int(columns) | 1};
    next += rows * matrix.stride * 4;
    return matrix;
  }

  /// Loads rows of a tensor: `index(row)` is a row's number, or -1 for zeros.
  template <typename Index>
  TESSERA_DEVICE void load(const Matrix &to, int rows, int64_t tensor,
                           int64_t dim, Index index) const {
    const T *from = reinterpret_cast<const T *>(tensor);
    for (int i = threadIndex(); i < rows * int(dim); i += plainThreads) {
      int row = i / int(dim), x = i % int(dim);
      int64_t at = index(row);
      to.at(row, x) = at < 0 ? 0.0f : widen(from[at * dim + x]);
    }
  }
  TESSERA_DEVICE void loadRows(const Matrix &to, int rows, int64_t tensor,
                               int64_t dim, int64_t first) const {
    load(to, rows, tensor, dim, [&](int row) -> int64_t {
      return first + row < numRows() ? rowIndex(first + row) : -1;
    });
  }
  TESSERA_DEVICE void loadKeys(const Matrix &to, int rows, int64_t tensor,
                               int64_t dim, int64_t first) const {
    load(to, rows, tensor, dim, [&](int row) -> int64_t {
      return first + row < p.keyLength ? keyIndex(first + row) : -1;
    });
  }

  /// The dot product of two rows.
  static TESSERA_DEVICE float dot(const Matrix &a, int i, const Matrix &b,
                                  int j, int64_t dim) {
    float sum = 0;
    for (int x = 0; x < int(dim); ++x)
      sum += a.at(i, x) * b.at(j, x);
    return sum;
  }

  /// sums[i] += sum over k < count of weights[line][k] * rows[k][lane + 8 i].
  static TESSERA_DEVICE void addRows(float (&sums)[perLane],
                                     const Matrix &weights, const Matrix &rows,
                                     int64_t dim) {
    for (int k = 0; k < plainKeys; ++k) {
      float weight = weights.at(line(), k);
      TESSERA_UNROLL
      for (int i = 0; i < perLane; ++i)
        if (lane() + plainLanes * i < dim)
          sums[i] += weight * rows.at(k, lane() + plainLanes * i);
    }
  }
  static TESSERA_DEVICE void clear(float (&sums)[perLane]) {
    TESSERA_UNROLL
    for (int i = 0; i < perLane; ++i)
      sums[i] = 0;
  }
  TESSERA_DEVICE void store(int64_t tensor, int64_t index, int64_t dim,
                            const float (&sums)[perLane], float scale) const {
    T *to = reinterpret_cast<T *>(tensor) + index * dim;
    float *wide = reinterpret_cast<float *>(tensor) + index * dim;
    TESSERA_UNROLL
    for (int i = 0; i < perLane; ++i) {
      int x = lane() + plainLanes * i;
      if (x >= dim)
        continue;
      if (p.wide)
        wide[x] = sums[i] * scale;
      else
        narrow(sums[i] * scale, to[x]);
    }
  }

  /// First key of the first block with a key that a row from `first` on sees.
  TESSERA_DEVICE int beginOf(int64_t first) const {
    return firstKeyOf(first, plainRows) / plainKeys * plainKeys;
  }
  /// The end of the keys that the rows [first, first + plainRows) see.
  TESSERA_DEVICE int depthOf(int64_t first) const {
    int64_t last =
        first + plainRows < numRows() ? first + plainRows : numRows();
    return visibleKeys(last - 1);
  }

  TESSERA_DEVICE void forward() {
    Matrix queries = take(plainRows, p.headDim);
    Matrix keys = take(plainKeys, p.headDim);
    Matrix values = take(plainKeys, p.valueDim);
    Matrix weights = take(plainRows, plainKeys);
    int64_t first = tile * plainRows, row = first + line();
    int depth = depthOf(first);
    int hidden = firstKey(row), visible = visibleKeys(row);
    float maximum = -TESSERA_INFINITY, sum = 0, slope;
    float output[perLane];
    clear(output);
    loadRows(queries, plainRows, p.q, p.headDim, first);
    for (int key = beginOf(first); key < depth; key += plainKeys) {
      loadKeys(keys, plainKeys, p.k, p.headDim, key);
      loadKeys(values, plainKeys, p.v, p.valueDim, key);
      syncThreads();
      float score[scores], best = maximum;
      TESSERA_UNROLL
      for (int i = 0; i < scores; ++i) {
        int k = lane() + plainLanes * i;
        score[i] = -TESSERA_INFINITY;
        if (key + k >= hidden && key + k < visible)
          score[i] = scoreOf(dot(queries, line(), keys, k, p.headDim), row,
                             key + k, slope);
        best = best > score[i] ? best : score[i];
      }
      best = maxOfLanes(best, plainLanes);
      float shift = best == -TESSERA_INFINITY ? 0 : best;
      float shrink = exp2Of((maximum - shift) * log2OfE), added = 0;
      TESSERA_UNROLL
      for (int i = 0; i < scores; ++i) {
        float weight = exp2Of((score[i] - shift) * log2OfE);
        weights.at(line(), lane() + plainLanes * i) = weight;
        added += weight;
      }
      maximum = best;
      sum = sum * shrink + added;
      TESSERA_UNROLL
      for (int i = 0; i < perLane; ++i)
        output[i] *= shrink;
      // The lanes of a row belong to one warp.
      syncWarp();
      addRows(output, weights, values, p.valueDim);
      syncThreads();
    }
    sum = sumOfLanes(sum, plainLanes);
    if (row >= numRows())
      return;
    int64_t index = rowIndex(row);
    store(p.out, index, p.valueDim, output, sum > 0 ? 1 / sum : 0);
    if (p.logsumexp && lane() == 0)
      writeStat(row, maximum, sum);
  }

  TESSERA_DEVICE void ofKeys() {
    Matrix keys = take(plainRows, p.headDim);
    Matrix values = take(plainRows, p.valueDim);
    Matrix queries = take(plainKeys, p.headDim);
    Matrix grads = take(plainKeys, p.valueDim);
    Matrix weights = take(plainRows, plainKeys);
    Matrix slopes = take(plainRows, plainKeys);
    int64_t first = tile * plainRows, key = first + line();
    float dk[perLane], dv[perLane];
    clear(dk);
    clear(dv);
    loadKeys(keys, plainRows, p.k, p.headDim, first);
    loadKeys(values, plainRows, p.v, p.valueDim, first);
    int64_t begin = firstRowOfKey(first) / plainKeys * plainKeys;
    int64_t end = endRowOfKey(first + plainRows - 1);
    for (int64_t row = begin; row < end; row += plainKeys) {
      loadRows(queries, plainKeys, p.q, p.headDim, row);
      loadRows(grads, plainKeys, p.grad, p.valueDim, row);
      syncThreads();
      TESSERA_UNROLL
      for (int i = 0; i < scores; ++i) {
        int q = lane() + plainLanes * i;
        float weight = 0, slope = 0;
        if (key >= firstKey(row + q) && key < visibleKeys(row + q)) {
          float score = scoreOf(dot(keys, line(), queries, q, p.headDim),
                                row + q, key, slope);
          weight = weightOf(score, row + q);
          slope *=
              weight *
              (dot(values, line(), grads, q, p.valueDim) -
               reinterpret_cast<const float *>(p.delta)[rowIndex(row + q)]);
        }
        weights.at(line(), q) = weight;
        slopes.at(line(), q) = slope;
      }
      syncWarp();
      addRows(dv, weights, grads, p.valueDim);
      addRows(dk, slopes, queries, p.headDim);
      syncThreads();
    }
    if (key >= p.keyLength)
      return;
    store(p.dk, keyIndex(key), p.headDim, dk, scale());
    store(p.dv, keyIndex(key), p.valueDim, dv, 1);
  }

  TESSERA_DEVICE void ofRows() {
    Matrix queries = take(plainRows, p.headDim);
    Matrix grads = take(plainRows, p.valueDim);
    Matrix keys = take(plainKeys, p.headDim);
    Matrix values = take(plainKeys, p.valueDim);
    Matrix slopes = take(plainRows, plainKeys);
    int64_t first = tile * plainRows, row = first + line();
    int depth = depthOf(first);
    int hidden = firstKey(row), visible = visibleKeys(row);
    float delta = 0, dq[perLane];
    if (visible > hidden)
      delta = reinterpret_cast<const float *>(p.delta)[rowIndex(row)];
    clear(dq);
    loadRows(queries, plainRows, p.q, p.headDim, first);
    loadRows(grads, plainRows, p.grad, p.valueDim, first);
    for (int key = beginOf(first); key < depth; key += plainKeys) {
      loadKeys(keys, plainKeys, p.k, p.headDim, key);
      loadKeys(values, plainKeys, p.v, p.valueDim, key);
      syncThreads();
      TESSERA_UNROLL
      for (int i = 0; i < scores; ++i) {
        int k = lane() + plainLanes * i;
        float slope = 0;
        if (key + k >= hidden && key + k < visible) {
          float score = scoreOf(dot(queries, line(), keys, k, p.headDim), row,
                                key + k, slope);
          slope *= weightOf(score, row) *
                   (dot(grads, line(), values, k, p.valueDim) - delta);
        }
        slopes.at(line(), k) = slope;
      }
      syncWarp();
      addRows(dq, slopes, keys, p.headDim);
      syncThreads();
    }
    if (row < numRows())
      store(p.dq, rowIndex(row), p.headDim, dq, scale());
  }

  /// Computes delta, with one warp per row.
  static TESSERA_DEVICE void makeDelta(const AttentionParams &p) {
    int64_t rows = p.batch * p.queryLength * p.groups * p.perGroup;
    const T *grad = reinterpret_cast<const T *>(p.grad);
    const T *out = reinterpret_cast<const T *>(p.out);
    for (int64_t row = globalIndex() / 32; row < rows;
         row += globalSize() / 32) {
      float sum = 0;
      for (int64_t x = threadIndex() % 32; x < p.valueDim; x += 32)
        sum += widen(grad[row * p.valueDim + x]) *
               widen(out[row * p.valueDim + x]);
      sum = sumOfLanes(sum, 32);
      if (threadIndex() % 32 == 0)
        reinterpret_cast<float *>(p.delta)[row] = sum;
    }
  }
};
} // namespace

#define TESSERA_PLAIN(suffix, T, size)                                         \
  TESSERA_KERNEL(tessera_attention_plain_##suffix, AttentionParams,            \
                 plainThreads, 1) {                                            \
    PlainAttention<T, size> block(p, true);                                    \
    block.forward();                                                           \
  }                                                                            \
  TESSERA_KERNEL(tessera_attention_plain_dkv_##suffix, AttentionParams,        \
                 plainThreads, 1) {                                            \
    PlainAttention<T, size> block(p, false);                                   \
    block.ofKeys();                                                            \
  }                                                                            \
  TESSERA_KERNEL(tessera_attention_plain_dq_##suffix, AttentionParams,         \
                 plainThreads, 1) {                                            \
    PlainAttention<T, size> block(p, true);                                    \
    block.ofRows();                                                            \
  }
TESSERA_PLAIN(f32_64, float, 64)
TESSERA_PLAIN(f32_128, float, 128)
TESSERA_PLAIN(f32_256, float, 256)
TESSERA_PLAIN(bf16_64, uint16_t, 64)
TESSERA_PLAIN(bf16_128, uint16_t, 128)
TESSERA_PLAIN(bf16_256, uint16_t, 256)

TESSERA_KERNEL(tessera_attention_delta_f32, AttentionParams, 256, 4) {
  PlainAttention<float, 64>::makeDelta(p);
}
TESSERA_KERNEL(tessera_attention_delta_bf16, AttentionParams, 256, 4) {
  PlainAttention<uint16_t, 64>::makeDelta(p);
}
