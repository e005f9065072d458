//===- AttentionHead.h - One head of an attention call ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Code shared by the forward and the backward kernel: the keys that a row sees,
// the positions of rows, their conversion from and to f32, and what becomes of
// their scores. A row is one
// query of one head of the group: row s * R + r.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_KERNELS_ATTENTIONHEAD_H
#define TESSERA_RT_SRC_KERNELS_ATTENTIONHEAD_H

#include "IsaKernels.h"
#include "Tile.h"
#include "support/Support.h"

namespace tessera::rt::TESSERA_RT_ISA {

constexpr float log2OfE = 1.44269504088896341f;
constexpr float logOf2 = 0.693147180559945309f;

/// Blocks of the backward kernel: P and dP of one block stay in the
/// second-level cache together.
constexpr int64_t attentionBackwardRows = 4 * AttentionTile::rows;
constexpr int64_t attentionBackwardKeys = 256;

inline int64_t padColumns(int64_t columns) {
  constexpr int64_t width = AttentionTile::columns;
  return (columns + width - 1) / width * width;
}

/// Splits one block of scratch memory into buffers; with null it only counts.
struct ScratchCutter {
  float *scratch;
  int64_t used = 0;

  float *take(int64_t count) {
    float *buffer = scratch ? scratch + used : nullptr;
    // Leaves room for prefetches and whole-vector reads beyond the end.
    used += (count + 2 * lanes + 15) / 16 * 16;
    return buffer;
  }
};

struct AttentionHead {
  const tessera_rt_attention_desc &d;
  int64_t batch, group, qOffset, kOffset;
  const int32_t *starts;
  const float *bias;

  static float fromBits(int64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof(value));
    return float(value);
  }
  float scale() const { return fromBits(d.scale_bits); }
  /// 0 for none.
  float softcap() const { return fromBits(d.softcap_bits); }

  /// True if scores are more than scaled. These are in natural units; scaled
  /// scores alone are in units of log2 e, for exponentials that are 2^x.
  bool isShaped() const { return bias || d.softcap_bits != 0; }
  float queryFactor() const { return isShaped() ? scale() : scale() * log2OfE; }

  /// The numbers of a row's stat.
  int64_t statSize() const { return bias ? 2 : 1; }

  /// The bias of a row's keys; null if there is none.
  const float *biasRow(int64_t row) const {
    int64_t s = row / d.per_group, r = row % d.per_group;
    return bias ? bias + batch * d.bias_batch + s * d.bias_query +
                      group * d.bias_group + r * d.bias_head
                : nullptr;
  }

  /// The first of the T local keys that row `row` may see; there may be none.
  int64_t firstKey(int64_t row) const {
    int64_t s = row / d.per_group, first = 0;
    if (d.window > 0 && qOffset + s - kOffset + 1 - d.window > 0)
      first = qOffset + s - kOffset + 1 - d.window;
    if (starts && starts[batch * d.q_len + s] - kOffset > first)
      first = starts[batch * d.q_len + s] - kOffset;
    return first;
  }

  /// The first key that any of the rows [begin, end) may see.
  int64_t firstKeyOf(int64_t begin, int64_t end) const {
    int64_t first = firstKey(begin);
    for (int64_t row = begin + 1; starts && row < end; ++row)
      first = first < firstKey(row) ? first : firstKey(row);
    return first;
  }

  /// The end of the keys that row `row` may see.
  int64_t visibleKeys(int64_t row) const {
    int64_t visible = d.kv_len;
    if (d.key_size > 0 && d.key_size - kOffset < visible)
      visible = d.key_size - kOffset;
    if (d.causal && qOffset + row / d.per_group - kOffset + 1 < visible)
      visible = qOffset + row / d.per_group - kOffset + 1;
    return visible < 0 ? 0 : visible;
  }

  /// Element offset of a row of a [B,S,G,R,dim] tensor.
  int64_t rowOffset(int64_t row, int64_t dim) const {
    int64_t s = row / d.per_group, r = row % d.per_group;
    return (((batch * d.q_len + s) * d.groups + group) * d.per_group + r) * dim;
  }

  /// Element offset of a key's row of a [B,T,G,dim] tensor.
  int64_t keyOffset(int64_t key, int64_t dim) const {
    return ((batch * d.kv_len + key) * d.groups + group) * dim;
  }

  /// Rows [first, ...) of a [B,T,G,dim] tensor: element (key, x).
  MatrixView keyRows(const void *base, int64_t first, int64_t dim) const {
    int64_t size = d.dtype == TESSERA_RT_BF16 ? 2 : 4;
    return {static_cast<const char *>(base) + keyOffset(first, dim) * size,
            int32_t(d.dtype), d.groups * dim, 1};
  }

  void load(const void *base, int64_t offset, int64_t count, float *out) const {
    if (d.dtype == TESSERA_RT_BF16)
      bf16ToF32(static_cast<const uint16_t *>(base) + offset, out, count);
    else
      memcpy(out, static_cast<const float *>(base) + offset,
             size_t(count) * sizeof(float));
  }

  void store(const float *values, void *base, int64_t offset,
             int64_t count) const {
    if (d.result_dtype == TESSERA_RT_BF16)
      f32ToBf16(values, static_cast<uint16_t *>(base) + offset, count);
    else
      memcpy(static_cast<float *>(base) + offset, values,
             size_t(count) * sizeof(float));
  }
};

/// Shapes the scores of keys [begin, end) of a row, in whole vectors: the
/// softcap, whose derivative goes to `slopes` unless that is null, then the
/// bias. `key` is the local key of scores[0].
inline void shapeRow(const AttentionHead &head, int64_t row, int64_t key,
                     int64_t begin, int64_t end, float *scores, float *slopes) {
  const float *added = head.biasRow(row);
  float cap = head.softcap();
  for (int64_t t = begin / lanes * lanes; t < end; t += lanes) {
    VecF x = load(scores + t);
    if (cap != 0) {
      VecF tanh = tanhVector(x / splat(cap));
      x = tanh * splat(cap);
      if (slopes)
        store(slopes + t, splat(1.0f) - tanh * tanh);
    }
    // The last vector may end after the last key.
    if (added && key + t + lanes <= head.d.kv_len)
      x += load(added + key + t);
    else if (added)
      for (int i = 0; key + t + i < head.d.kv_len; ++i)
        x[i] += added[key + t + i];
    store(scores + t, x);
  }
}

} // namespace tessera::rt::TESSERA_RT_ISA

#endif // TESSERA_RT_SRC_KERNELS_ATTENTIONHEAD_H
