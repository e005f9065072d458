//===- AttentionRows.h - Rows and visible keys of attention -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Code shared by all attention kernels: the head of a block, the keys that a
// row sees, and the positions of rows. A row is one query of one head of a
// group: row s * R + r, so that the query heads of a group share its keys.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_KERNELS_ATTENTIONROWS_H
#define TESSERA_RT_CUDA_KERNELS_ATTENTIONROWS_H

#include "Gelu.h"
#include "Kernel.h"

namespace tessera::rt::cuda::device {

constexpr float log2OfE = 1.44269504088896341f;
constexpr float logOf2 = 0.693147180559945309f;
#ifdef __CUDACC__
#define TESSERA_INFINITY __int_as_float(0x7f800000)
#else
#define TESSERA_INFINITY __builtin_inff()
#endif

/// The key/value head of a block, and its tile of rows or keys. Tiles with more
/// work run first.
struct AttentionBlock {
  const AttentionParams &p;
  int64_t batch, group, tile;

  TESSERA_DEVICE AttentionBlock(const AttentionParams &p, bool lastFirst)
      : p(p) {
    int64_t heads = p.batch * p.groups, head = blockIndex() % heads;
    batch = head / p.groups;
    group = head % p.groups;
    tile = blockIndex() / heads;
    if (lastFirst)
      tile = p.tiles - 1 - tile;
  }

  TESSERA_DEVICE int64_t numRows() const { return p.queryLength * p.perGroup; }

  static TESSERA_DEVICE float fromBits(int64_t bits) {
#ifdef __CUDACC__
    return float(__longlong_as_double(bits));
#else
    double value;
    memcpy(&value, &bits, 8);
    return float(value);
#endif
  }
  TESSERA_DEVICE float scale() const { return fromBits(p.scaleBits); }

  /// A score from a dot product of a row and a key: scaled, capped, with the
  /// bias. `slope` becomes the derivative of the softcap.
  TESSERA_DEVICE float scoreOf(float dot, int64_t row, int64_t key,
                               float &slope) const {
    float x = dot * scale();
    slope = 1;
    if (p.softcapBits) {
      float cap = fromBits(p.softcapBits), tanh = tanhOf(x / cap);
      x = tanh * cap;
      slope = 1 - tanh * tanh;
    }
    if (!p.bias)
      return x;
    uint32_t s = uint32_t(row) / uint32_t(p.perGroup);
    uint32_t r = uint32_t(row) - s * uint32_t(p.perGroup);
    return x + reinterpret_cast<const float *>(
                   p.bias)[batch * p.biasBatch + s * p.biasQuery +
                           group * p.biasGroup + r * p.biasHead + key];
  }

  /// A key's weight, from its score and the row's stat.
  TESSERA_DEVICE float weightOf(float score, int64_t row) const {
    const float *stat = reinterpret_cast<const float *>(p.logsumexp);
    int64_t index = rowIndex(row);
    if (!p.bias)
      return exp2Of((score - stat[index]) * log2OfE);
    return score == -TESSERA_INFINITY
               ? 0
               : exp2Of((score - stat[2 * index] - stat[2 * index + 1]) *
                        log2OfE);
  }

  /// Writes a row's stat from the largest score and the sum of exponentials of
  /// the differences to it.
  TESSERA_DEVICE void writeStat(int64_t row, float maximum, float sum) const {
    float *stat = reinterpret_cast<float *>(p.logsumexp);
    float log = sum > 0 ? log2Of(sum) * logOf2 : -TESSERA_INFINITY;
    int64_t index = rowIndex(row);
    if (!p.bias) {
      stat[index] = sum > 0 ? maximum + log : log;
      return;
    }
    stat[2 * index] = sum > 0 ? maximum : -3.40282347e+38f;
    stat[2 * index + 1] = log;
  }

  /// The first local key that this row sees, if it sees any.
  TESSERA_DEVICE int firstKey(int64_t row) const {
    int64_t s = uint32_t(row) / uint32_t(p.perGroup);
    return firstKey(s, p.starts && s < p.queryLength ? startOf(s) : 0);
  }

  /// The first key of query `s` of a document that starts at `start`.
  TESSERA_DEVICE int firstKey(int64_t s, int64_t start) const {
    int64_t first = 0;
    if (p.window > 0)
      first = p.queryOffset + s - p.keyOffset + 1 - p.window;
    start -= p.keyOffset;
    first = first > start ? first : start;
    first = first < p.keyLength ? first : p.keyLength;
    return first < 0 ? 0 : int(first);
  }

  /// The position at which the document of query `s` starts.
  TESSERA_DEVICE int64_t startOf(int64_t s) const {
    return reinterpret_cast<const int32_t *>(
        p.starts)[batch * p.queryLength + s];
  }

  /// A key before which none of `count` rows from `first` on sees any. Starts
  /// do not decrease, except in padding at the end.
  TESSERA_DEVICE int firstKeyOf(int64_t first, int64_t count) const {
    if (!p.starts)
      return firstKey(first);
    int64_t end = first + count < numRows() ? first + count : numRows();
    int64_t s = first / p.perGroup;
    int64_t start = startOf(s), last = startOf((end - 1) / p.perGroup);
    return firstKey(s, start < last ? start : last);
  }

  /// The end of the local keys that this row sees; 0 for rows that do not
  /// exist.
  TESSERA_DEVICE int visibleKeys(int64_t row) const {
    int64_t visible = p.keyLength;
    if (row >= numRows())
      return 0;
    if (p.keySize > 0 && p.keySize - p.keyOffset < visible)
      visible = p.keySize - p.keyOffset;
    if (p.causal) {
      int64_t s = uint32_t(row) / uint32_t(p.perGroup);
      int64_t last = p.queryOffset + s - p.keyOffset + 1;
      visible = last < visible ? last : visible;
    }
    return visible < 0 ? 0 : int(visible);
  }

  /// The first row that sees a key at or after `key`; rows beyond see it too.
  TESSERA_DEVICE int64_t firstRowOfKey(int64_t key) const {
    if (!p.causal)
      return 0;
    int64_t position = key + p.keyOffset - p.queryOffset;
    return position < 0 ? 0 : position * p.perGroup;
  }

  /// The end of the rows that see a key at or before `key`.
  TESSERA_DEVICE int64_t endRowOfKey(int64_t key) const {
    int64_t end = p.queryLength;
    if (p.window > 0)
      end = key + p.keyOffset - p.queryOffset + p.window;
    end = end < 0 ? 0 : end < p.queryLength ? end : p.queryLength;
    if (p.starts)
      end = endQueryOfStart(key + p.keyOffset, end);
    return end * p.perGroup;
  }

  /// The end of the queries before `end` whose documents start at or before
  /// `position`, found by binary search; `end` if the last one's does.
  TESSERA_DEVICE int64_t endQueryOfStart(int64_t position, int64_t end) const {
    int64_t begin = 0;
    if (end > 0 && startOf(end - 1) <= position)
      return end;
    while (begin < end) {
      int64_t middle = begin + (end - begin) / 2;
      if (startOf(middle) > position)
        end = middle;
      else
        begin = middle + 1;
    }
    return end;
  }

  /// Index of a row among the rows of [B,S,G,R].
  TESSERA_DEVICE int64_t rowIndex(int64_t row) const {
    // A head has less than 2^31 rows.
    uint32_t s = uint32_t(row) / uint32_t(p.perGroup);
    uint32_t r = uint32_t(row) - s * uint32_t(p.perGroup);
    return ((batch * p.queryLength + s) * p.groups + group) * p.perGroup + r;
  }
  /// Index of a key among the keys of [B,T,G].
  TESSERA_DEVICE int64_t keyIndex(int64_t key) const {
    return (batch * p.keyLength + key) * p.groups + group;
  }
};

} // namespace tessera::rt::cuda::device

#endif // TESSERA_RT_CUDA_KERNELS_ATTENTIONROWS_H
