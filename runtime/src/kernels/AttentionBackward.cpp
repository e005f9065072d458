//===- AttentionBackward.cpp - Gradients of blocked attention -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of queries are combined with blocks of keys. The weights are
// recomputed from the saved logsumexp, and five matmuls give the block's terms
// of dq, dk and dv (Dao et al., "FlashAttention", 2022, algorithm 4, with
// queries in the outer loop). The sums of dk and dv stay in scratch memory for
// all keys of the task. All arithmetic is f32. ../AttentionBackward.cpp creates
// the tasks.
//
//===----------------------------------------------------------------------===//

#include "AttentionHead.h"

#include <cmath>

namespace tessera::rt::TESSERA_RT_ISA {

namespace {
constexpr int tileRows = AttentionTile::rows;
constexpr int tileColumns = AttentionTile::columns;
constexpr int64_t queryBlock = attentionBackwardRows;
constexpr int64_t keyBlock = attentionBackwardKeys;

/// The scratch of a task. "Panels" are [columns / tileColumns][depth]
/// [tileColumns], "rows" [rows / tileRows][depth][tileRows].
struct Buffers {
  float *keys;      // panels of keys, depth K
  float *values;    // panels of keys, depth Kv
  float *keyDims;   // panels of K, depth T
  float *dk;        // [T][K padded]
  float *dv;        // [T][Kv padded]
  float *plain;     // [queryBlock][max(K, Kv)]
  float *other;     // [Kv]
  float *queries;   // rows of the block, depth K
  float *grads;     // rows of the block, depth Kv
  float *queryDims; // panels of K, depth queryBlock
  float *gradDims;  // panels of Kv, depth queryBlock
  float *weights;   // [queryBlock][keyBlock]: scores, then P
  float *slopes;    // [queryBlock][keyBlock]: dP, then dS
  float *dq;        // [queryBlock][K padded]
  float *delta;     // [queryBlock]: sum of grad * out
  float *shift;     // [queryBlock]: logsumexp in units of log2 e; of shaped
                    // scores the first number of the stat
  float *logSums;   // [queryBlock]: the second number of the stat, or 0
  float *caps;      // [keyBlock]: derivatives of a row's softcap

  int64_t split(float *scratch, const tessera_rt_attention_desc &d) {
    ScratchCutter cutter{scratch};
    int64_t width = padColumns(d.head_dim), wide = padColumns(d.v_head_dim);
    keys = cutter.take(padColumns(d.kv_len) * d.head_dim);
    values = cutter.take(padColumns(d.kv_len) * d.v_head_dim);
    keyDims = cutter.take(d.kv_len * width);
    dk = cutter.take(d.kv_len * width);
    dv = cutter.take(d.kv_len * wide);
    plain = cutter.take(
        queryBlock * (d.head_dim > d.v_head_dim ? d.head_dim : d.v_head_dim));
    other = cutter.take(d.v_head_dim);
    queries = cutter.take(queryBlock * d.head_dim);
    grads = cutter.take(queryBlock * d.v_head_dim);
    queryDims = cutter.take(queryBlock * width);
    gradDims = cutter.take(queryBlock * wide);
    weights = cutter.take(queryBlock * keyBlock);
    slopes = cutter.take(queryBlock * keyBlock);
    dq = cutter.take(queryBlock * width);
    delta = cutter.take(queryBlock);
    shift = cutter.take(queryBlock);
    logSums = cutter.take(queryBlock);
    caps = cutter.take(keyBlock);
    return cutter.used;
  }
};

struct Worker {
  const AttentionBackwardTask &task;
  AttentionHead head;
  const tessera_rt_attention_desc &d;
  Buffers buffers;
  int64_t width, wide; // K and Kv, padded
  bool isShaped;
  /// Keys that some row of the task sees.
  int64_t depth = 0;

  explicit Worker(const AttentionBackwardTask &task)
      : task(task), head{*task.desc,   task.batch,  task.group, task.qOffset,
                         task.kOffset, task.starts, task.bias},
        d(*task.desc) {
    buffers.split(task.scratch, d);
    width = padColumns(d.head_dim);
    wide = padColumns(d.v_head_dim);
    isShaped = head.isShaped();
  }

  /// Keys of the task that a row sees.
  int64_t visibleKeys(int64_t row) const {
    int64_t visible = head.visibleKeys(row);
    visible = visible < task.keyEnd ? visible : task.keyEnd;
    return visible > task.keyBegin ? visible - task.keyBegin : 0;
  }

  /// The first key of the task that one of the rows [begin, end) sees.
  int64_t firstKey(int64_t begin, int64_t end) const {
    int64_t first = head.firstKeyOf(begin, end);
    return first > task.keyBegin ? first - task.keyBegin : 0;
  }

  static MatrixView transposed(MatrixView view) {
    return {view.data, view.dtype, view.columnStride, view.rowStride};
  }

  void packKeys() {
    MatrixView keys = head.keyRows(task.k, task.keyBegin, d.head_dim);
    MatrixView values = head.keyRows(task.v, task.keyBegin, d.v_head_dim);
    packAttentionColumns(transposed(keys), d.head_dim, depth, buffers.keys);
    packAttentionColumns(transposed(values), d.v_head_dim, depth,
                         buffers.values);
    if (task.dq)
      packAttentionColumns(keys, depth, d.head_dim, buffers.keyDims);
  }

  /// Packs query rows and their gradients in both layouts, and the values that
  /// a row subtracts.
  void packQueries(int64_t first, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      float *row = buffers.plain + i * d.v_head_dim;
      int64_t offset = head.rowOffset(first + i, d.v_head_dim);
      head.load(task.grad, offset, d.v_head_dim, row);
      head.load(task.out, offset, d.v_head_dim, buffers.other);
      float sum = 0;
      for (int64_t x = 0; x < d.v_head_dim; ++x)
        sum += row[x] * buffers.other[x];
      buffers.delta[i] = sum;
      const float *stat =
          task.logsumexp + head.rowOffset(first + i, head.statSize());
      buffers.shift[i] = isShaped ? stat[0] : stat[0] * log2OfE;
      // A query that sees no key has scores of minus infinity alone.
      bool hasSum = head.bias && stat[1] > -HUGE_VALF;
      buffers.logSums[i] = hasSum ? stat[1] : 0;
    }
    MatrixView grads{buffers.plain, TESSERA_RT_F32, d.v_head_dim, 1};
    packAttentionRows(grads, count, d.v_head_dim, buffers.grads);
    if (task.dk)
      packAttentionColumns(grads, count, d.v_head_dim, buffers.gradDims);

    for (int64_t i = 0; i < count; ++i)
      head.load(task.q, head.rowOffset(first + i, d.head_dim), d.head_dim,
                buffers.plain + i * d.head_dim);
    MatrixView queries{buffers.plain, TESSERA_RT_F32, d.head_dim, 1};
    if (task.dk)
      packAttentionColumns(queries, count, d.head_dim, buffers.queryDims);
    float factor = head.queryFactor();
    for (int64_t x = 0; x < count * d.head_dim; ++x)
      buffers.plain[x] *= factor;
    packAttentionRows(queries, count, d.head_dim, buffers.queries);
  }

  /// Turns the scores of a row into weights, and the weights' gradients dP into
  /// the scores' gradients. Keys before `hidden` and from `visible` on get
  /// zeros.
  void slopeRow(int64_t row, int64_t hidden, int64_t visible, int64_t depth) {
    float *weight = buffers.weights + row * keyBlock;
    float *slope = buffers.slopes + row * keyBlock;
    VecF shift = splat(buffers.shift[row]), delta = splat(buffers.delta[row]);
    VecF scale = splat(head.scale());
    VecF logSum = splat(buffers.logSums[row]), unit = splat(log2OfE);
    bool isNatural = isShaped, isCapped = d.softcap_bits != 0;
    for (int64_t t = hidden / lanes * lanes; t < visible; t += lanes) {
      VecF difference = load(weight + t) - shift;
      if (isNatural)
        difference = (difference - logSum) * unit;
      VecF p = exp2Vector(difference);
      store(weight + t, p);
      VecF ds = p * scale * (load(slope + t) - delta);
      store(slope + t, isCapped ? ds * load(buffers.caps + t) : ds);
    }
    for (int64_t t = 0; t < hidden; ++t)
      weight[t] = slope[t] = 0;
    for (int64_t t = visible; t < depth; ++t)
      weight[t] = slope[t] = 0;
  }

  /// `out` [keys][columns padded] += a^T b over the block's queries.
  void addToKeys(const float *a, const float *b, int64_t count, int64_t depth,
                 int64_t columns, float *out) {
    for (int64_t j = 0; j < depth; j += tileRows)
      for (int64_t x = 0; x < columns; x += tileColumns)
        multiplyRows<AttentionTile>(PackedStrides<1, keyBlock>(),
                                    depth - j < tileRows ? depth - j : tileRows,
                                    count, a + j, b + x * count,
                                    out + j * columns + x, columns, true);
  }

  /// Adds the terms of query rows [first, first + count) and keys [begin, begin
  /// + some) of the task.
  void meet(int64_t first, int64_t count, int64_t begin, int64_t some) {
    for (int64_t i = 0; i < count; i += tileRows)
      for (int64_t j = 0; j < some; j += tileColumns) {
        int64_t rows = count - i < tileRows ? count - i : tileRows;
        int64_t at = i * keyBlock + j;
        multiplyRows<AttentionTile>(PackedStrides<1, tileRows>(), rows,
                                    d.head_dim,
                                    buffers.queries + i * d.head_dim,
                                    buffers.keys + (begin + j) * d.head_dim,
                                    buffers.weights + at, keyBlock, false);
        multiplyRows<AttentionTile>(PackedStrides<1, tileRows>(), rows,
                                    d.v_head_dim,
                                    buffers.grads + i * d.v_head_dim,
                                    buffers.values + (begin + j) * d.v_head_dim,
                                    buffers.slopes + at, keyBlock, false);
      }
    for (int64_t i = 0; i < count; ++i) {
      auto clamp = [&](int64_t key) {
        key -= begin;
        return key < 0 ? 0 : key > some ? some : key;
      };
      int64_t hidden = clamp(firstKey(first + i, first + i + 1));
      int64_t visible = clamp(visibleKeys(first + i));
      if (isShaped && visible > hidden)
        shapeRow(head, first + i, task.keyBegin + begin, hidden, visible,
                 buffers.weights + i * keyBlock, buffers.caps);
      slopeRow(i, hidden, visible, some);
    }
    if (task.dk) {
      addToKeys(buffers.weights, buffers.gradDims, count, some, wide,
                buffers.dv + begin * wide);
      addToKeys(buffers.slopes, buffers.queryDims, count, some, width,
                buffers.dk + begin * width);
    }
    for (int64_t i = 0; task.dq && i < count; i += tileRows)
      for (int64_t x = 0; x < width; x += tileColumns)
        multiplyRows<AttentionTile>(PackedStrides<keyBlock, 1>(),
                                    count - i < tileRows ? count - i : tileRows,
                                    some, buffers.slopes + i * keyBlock,
                                    buffers.keyDims + x * depth +
                                        begin * tileColumns,
                                    buffers.dq + i * width + x, width, true);
  }

  void run() {
    depth = visibleKeys(task.queryEnd - 1);
    packKeys();
    int64_t keys = task.keyEnd - task.keyBegin;
    if (task.dk) {
      memset(buffers.dk, 0, size_t(keys * width) * sizeof(float));
      memset(buffers.dv, 0, size_t(keys * wide) * sizeof(float));
    }
    for (int64_t first = task.queryBegin; first < task.queryEnd;
         first += queryBlock) {
      int64_t count = task.queryEnd - first < queryBlock ? task.queryEnd - first
                                                         : queryBlock;
      int64_t visible = visibleKeys(first + count - 1);
      int64_t start = firstKey(first, first + count) / keyBlock * keyBlock;
      if (visible > start)
        packQueries(first, count);
      if (task.dq)
        memset(buffers.dq, 0, size_t(count * width) * sizeof(float));
      for (int64_t begin = start; begin < visible; begin += keyBlock)
        meet(first, count, begin,
             visible - begin < keyBlock ? visible - begin : keyBlock);
      for (int64_t i = 0; task.dq && i < count; ++i)
        head.store(buffers.dq + i * width, task.dq,
                   head.rowOffset(first + i, d.head_dim), d.head_dim);
    }
    for (int64_t t = 0; task.dk && t < keys; ++t) {
      head.store(buffers.dk + t * width, task.dk,
                 head.keyOffset(task.keyBegin + t, d.head_dim), d.head_dim);
      head.store(buffers.dv + t * wide, task.dv,
                 head.keyOffset(task.keyBegin + t, d.v_head_dim), d.v_head_dim);
    }
  }
};
} // namespace

int64_t attentionBackwardScratch(const tessera_rt_attention_desc &desc) {
  return Buffers().split(nullptr, desc);
}

void attentionBackward(const AttentionBackwardTask &task) {
  if (task.queryBegin < task.queryEnd && task.keyBegin < task.keyEnd)
    Worker(task).run();
}

} // namespace tessera::rt::TESSERA_RT_ISA
