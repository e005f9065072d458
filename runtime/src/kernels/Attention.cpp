//===- Attention.cpp - Blocked attention with an online softmax -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One task computes some query rows of one key/value head. It packs keys and
// values once, and then multiplies blocks of queries by blocks of keys, with a
// running maximum and sum per row (Milakov and Gimelshein, "Online normalizer
// calculation for softmax", 2018; Dao et al., "FlashAttention", 2022), so the S
// x T scores are never stored. All arithmetic is f32. ../Attention.cpp creates
// the tasks.
//
//===----------------------------------------------------------------------===//

#include "AttentionHead.h"

#include <cfloat>
#include <cmath>

namespace tessera::rt::TESSERA_RT_ISA {

namespace {
constexpr int tileRows = AttentionTile::rows;
constexpr int tileColumns = AttentionTile::columns;
/// Query rows and keys of one block of scores, which stays in the second-level
/// cache.
constexpr int64_t queryBlock = 4 * tileRows;
constexpr int64_t keyBlock = 256;
/// Less than any scaled score.
constexpr float lowestScore = -1e30f;

/// The scratch of a task, split into its buffers.
struct Buffers {
  float *keys;    // [T / tileColumns][K][tileColumns]
  float *values;  // [Kv / tileColumns][T][tileColumns]
  float *rows;    // [queryBlock][K], scaled queries
  float *queries; // [queryBlock / tileRows][K][tileRows]
  float *scores;  // [queryBlock][keyBlock]
  float *output;  // [queryBlock][Kv padded]
  float *maxima;  // [queryBlock]
  float *sums;    // [queryBlock][lanes], one partial sum per lane

  /// Returns the total number of floats; with null it only counts.
  int64_t split(float *scratch, const tessera_rt_attention_desc &d) {
    ScratchCutter cutter{scratch};
    keys = cutter.take(padColumns(d.kv_len) * d.head_dim);
    values = cutter.take(d.kv_len * padColumns(d.v_head_dim));
    rows = cutter.take(queryBlock * d.head_dim);
    queries = cutter.take(queryBlock * d.head_dim);
    scores = cutter.take(queryBlock * keyBlock);
    output = cutter.take(queryBlock * padColumns(d.v_head_dim));
    maxima = cutter.take(queryBlock);
    sums = cutter.take(queryBlock * lanes);
    return cutter.used;
  }
};

/// State of one attention task.
struct Worker {
  const AttentionTask &task;
  AttentionHead head;
  const tessera_rt_attention_desc &d;
  Buffers buffers;
  int64_t width; // Kv padded
  bool isShaped;

  explicit Worker(const AttentionTask &task)
      : task(task), head{*task.desc,   task.batch,  task.group, task.qOffset,
                         task.kOffset, task.starts, task.bias},
        d(*task.desc) {
    buffers.split(task.scratch, d);
    width = padColumns(d.v_head_dim);
    isShaped = head.isShaped();
  }

  void packKeysAndValues() {
    MatrixView keys = head.keyRows(task.k, packedBegin, d.head_dim);
    packAttentionColumns(
        {keys.data, keys.dtype, keys.columnStride, keys.rowStride}, d.head_dim,
        packedDepth, buffers.keys);
    packAttentionColumns(head.keyRows(task.v, packedBegin, d.v_head_dim),
                         packedDepth, d.v_head_dim, buffers.values);
  }

  void packQueries(int64_t first, int64_t count) {
    float factor = head.queryFactor();
    for (int64_t i = 0; i < count; ++i) {
      float *row = buffers.rows + i * d.head_dim;
      head.load(task.q, head.rowOffset(first + i, d.head_dim), d.head_dim, row);
      for (int64_t x = 0; x < d.head_dim; ++x)
        row[x] *= factor;
    }
    packAttentionRows({buffers.rows, TESSERA_RT_F32, d.head_dim, 1}, count,
                      d.head_dim, buffers.queries);
  }

  /// Turns the scores [hidden, visible) of a row into weights 2^(score -
  /// maximum), or e^(...) if they are shaped, and the others up to `depth` into
  /// 0. Updates the row's maximum, sum and output.
  template <bool isShaped>
  void softmaxRow(int64_t row, int64_t hidden, int64_t visible, int64_t depth,
                  bool first) {
    constexpr float noScore = isShaped ? -HUGE_VALF : lowestScore;
    auto power = [](VecF x) {
      return exp2Vector(isShaped ? x * splat(log2OfE) : x);
    };
    float *score = buffers.scores + row * keyBlock;
    float *sums = buffers.sums + row * lanes;
    int64_t whole = visible / lanes * lanes, begin = hidden / lanes * lanes;
    if (visible > hidden) {
      for (int64_t t = 0; t < begin; ++t)
        score[t] = 0;
      for (int64_t t = begin; t < hidden; ++t)
        score[t] = noScore;
      if (whole < visible) {
        VecF tail = load(score + whole);
        for (int i = 0; i < lanes; ++i)
          tail[i] = i < visible - whole ? tail[i] : noScore;
        store(score + whole, tail);
        whole += lanes;
      }
      VecF best = load(score + begin);
      for (int64_t t = begin + lanes; t < whole; t += lanes)
        best = maxVector(best, load(score + t));
      float previous = buffers.maxima[row];
      float maximum = maxOf(best);
      maximum = maximum > previous ? maximum : previous;
      // The bias may hide all keys so far: nothing is subtracted from minus
      // infinity.
      float reference = isShaped && maximum == -HUGE_VALF ? 0 : maximum;
      VecF sum = load(sums);
      if (maximum != previous) {
        VecF shrink = power(splat(previous - maximum));
        sum *= shrink;
        float *output = buffers.output + row * width;
        for (int64_t x = 0; !first && x < width; x += lanes)
          store(output + x, load(output + x) * shrink);
        buffers.maxima[row] = maximum;
      }
      VecF shift = splat(reference);
      for (int64_t t = begin; t < whole; t += lanes) {
        VecF weight = power(load(score + t) - shift);
        sum += weight;
        store(score + t, weight);
      }
      store(sums, sum);
    } else {
      whole = 0;
    }
    for (int64_t t = whole; t < depth; ++t)
      score[t] = 0;
  }

  /// Turns a block of scores into weights.
  template <bool isShaped>
  void weighRows(int64_t first, int64_t count, int64_t begin, int64_t depth,
                 bool isFirst) {
    for (int64_t i = 0; i < count; ++i) {
      auto clamp = [&](int64_t key) {
        key -= packedBegin + begin;
        return key < 0 ? 0 : key > depth ? depth : key;
      };
      int64_t hidden = clamp(head.firstKey(first + i));
      int64_t visible = clamp(head.visibleKeys(first + i));
      if (isShaped && visible > hidden)
        shapeRow(head, first + i, packedBegin + begin, hidden, visible,
                 buffers.scores + i * keyBlock, nullptr);
      softmaxRow<isShaped>(i, hidden, visible, depth, isFirst);
    }
  }

  /// Applies keys [begin, begin + depth) of the packed ones to query rows
  /// [first, first + count). `isFirst`: no keys came before.
  void meet(int64_t first, int64_t count, int64_t begin, int64_t depth,
            bool isFirst) {
    for (int64_t i = 0; i < count; i += tileRows)
      for (int64_t j = 0; j < depth; j += tileColumns)
        multiplyRows<AttentionTile>(
            PackedStrides<1, tileRows>(),
            count - i < tileRows ? count - i : tileRows, d.head_dim,
            buffers.queries + i * d.head_dim,
            buffers.keys + (begin + j) * d.head_dim,
            buffers.scores + i * keyBlock + j, keyBlock, false);
    if (isShaped)
      weighRows<true>(first, count, begin, depth, isFirst);
    else
      weighRows<false>(first, count, begin, depth, isFirst);
    for (int64_t i = 0; i < count; i += tileRows)
      for (int64_t j = 0; j < width; j += tileColumns)
        multiplyRows<AttentionTile>(
            PackedStrides<keyBlock, 1>(),
            count - i < tileRows ? count - i : tileRows, depth,
            buffers.scores + i * keyBlock,
            buffers.values + j * packedDepth + begin * tileColumns,
            buffers.output + i * width + j, width, !isFirst);
  }

  void writeRows(int64_t first, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      float sum = sumOf(load(buffers.sums + i * lanes));
      float *row = buffers.output + i * width;
      float factor = sum > 0 ? 1.0f / sum : 0.0f;
      // A row without keys has no output yet.
      if (sum == 0)
        memset(row, 0, size_t(d.v_head_dim) * sizeof(float));
      for (int64_t x = 0; x < d.v_head_dim; ++x)
        row[x] *= factor;
      head.store(row, task.out, head.rowOffset(first + i, d.v_head_dim),
                 d.v_head_dim);
      if (task.logsumexp)
        writeStat(task.logsumexp + head.rowOffset(first + i, head.statSize()),
                  buffers.maxima[i], sum);
    }
  }

  void writeStat(float *stat, float maximum, float sum) const {
    if (head.bias) {
      stat[0] = sum > 0 ? maximum : -FLT_MAX;
      stat[1] = sum > 0 ? std::log(sum) : -HUGE_VALF;
    } else if (sum > 0) {
      stat[0] = isShaped ? maximum + std::log(sum)
                         : (maximum + std::log2(sum)) * logOf2;
    } else {
      stat[0] = -HUGE_VALF;
    }
  }

  void run() {
    packedBegin = firstBlock(task.queryBegin, task.queryEnd);
    packedDepth = head.visibleKeys(task.queryEnd - 1) - packedBegin;
    if (packedDepth > 0)
      packKeysAndValues();
    for (int64_t first = task.queryBegin; first < task.queryEnd;
         first += queryBlock) {
      int64_t count = task.queryEnd - first < queryBlock ? task.queryEnd - first
                                                         : queryBlock;
      packQueries(first, count);
      for (int64_t i = 0; i < count; ++i)
        buffers.maxima[i] = isShaped ? -HUGE_VALF : lowestScore;
      memset(buffers.sums, 0, size_t(count * lanes) * sizeof(float));
      int64_t visible = head.visibleKeys(first + count - 1) - packedBegin;
      int64_t start = firstBlock(first, first + count) - packedBegin;
      for (int64_t begin = start; begin < visible; begin += keyBlock)
        meet(first, count, begin,
             visible - begin < keyBlock ? visible - begin : keyBlock,
             begin == start);
      writeRows(first, count);
    }
  }

  /// The first key of the key block that contains the first visible key of rows
  /// [begin, end). Blocks begin at the same keys in every task, so that a row's
  /// sums always have the same order.
  int64_t firstBlock(int64_t begin, int64_t end) const {
    return head.firstKeyOf(begin, end) / keyBlock * keyBlock;
  }

  /// The first packed key, and the depth of a packed panel of values.
  int64_t packedBegin = 0, packedDepth = 0;
};
} // namespace

int64_t attentionScratch(const tessera_rt_attention_desc &desc) {
  return Buffers().split(nullptr, desc);
}

void attention(const AttentionTask &task) {
  if (task.queryBegin < task.queryEnd)
    Worker(task).run();
}

} // namespace tessera::rt::TESSERA_RT_ISA
