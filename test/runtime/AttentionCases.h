//===- AttentionCases.h - Attention by its definition -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Code shared by the tests of attention and of its gradients: cases, operands,
// and the weights of one query in double.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_RUNTIME_ATTENTIONCASES_H
#define TESSERA_TEST_RUNTIME_ATTENTIONCASES_H

#include "Ranks.h"

#include <cfloat>
#include <cmath>
#include <cstring>

namespace tessera::rt {

struct AttentionCase {
  int64_t b, s, t, g, r, k, kv;
  bool causal;
  int64_t qOffset, kOffset;
  /// 0: no key is padding.
  int64_t keySize = 0;
  /// 0: every key before the query is seen.
  int64_t window = 0;
  /// Tokens of a document; 0: there are no documents. The first document of a
  /// row is shorter.
  int64_t document = 0;
  /// Padded queries at the end: their starts are 0.
  int64_t padding = 0;
  double softcap = 0;
  /// The dimensions along which the bias differs besides keys, of batch, query,
  /// group and head: "bqgh", "" for one row for all; null: there is none.
  const char *bias = nullptr;

  /// The starts of the queries' documents; empty if there are no documents.
  std::vector<int32_t> starts() const {
    std::vector<int32_t> starts;
    for (int64_t i = 0; document && i < b * s; ++i) {
      int64_t shift = i / s * 3, position = qOffset + i % s;
      int64_t start = (position + shift) / document * document - shift;
      bool isPadding = i % s >= s - padding;
      starts.push_back(isPadding || start < 0 ? 0 : int32_t(start));
    }
    return starts;
  }

  int64_t rows() const { return b * s * g * r; }
  /// The numbers of a row's stat.
  int64_t statSize() const { return bias ? 2 : 1; }

  int64_t biasSize(char dim, int64_t size) const {
    return strchr(bias, dim) ? size : 1;
  }
  /// The bias, [batch, query, group, head, key] with sizes of 1 where it does
  /// not differ: numbers of both signs, some keys hidden by minus infinity or
  /// by the lowest number, and rows with nothing else.
  std::vector<float> biasValues() const {
    std::vector<float> values;
    if (!bias)
      return values;
    int64_t count = biasSize('b', b) * biasSize('q', s) * biasSize('g', g) *
                    biasSize('h', r);
    for (int64_t i = 0; i < count * t; ++i) {
      uint64_t hash = uint64_t(i * 7 + 5) * 2654435761u >> 11;
      int64_t row = i / t % 9, kind = int64_t(hash % 8);
      bool isLowest = row == 4 || kind == 0, isInfinite = row == 7 || kind == 1;
      values.push_back(isInfinite ? -HUGE_VALF
                       : isLowest ? -FLT_MAX
                                  : float(hash % 1001) / 250.0f - 2.0f);
    }
    return values;
  }
  /// The place in it of a row's first key.
  int64_t biasRow(int64_t batch, int64_t query, int64_t group,
                  int64_t head) const {
    int64_t row = 0;
    for (auto [dim, size, at] : {std::tuple('b', b, batch),
                                 {'q', s, query},
                                 {'g', g, group},
                                 {'h', r, head}})
      row = row * biasSize(dim, size) + (strchr(bias, dim) ? at : 0);
    return row * t;
  }
  double scale() const { return 1 / std::sqrt(double(k)); }

  std::string name() const {
    return format("B%lld S%lld T%lld G%lld R%lld K%lld Kv%lld causal %d "
                  "offsets %lld %lld keys %lld window %lld documents %lld "
                  "softcap %g bias %s",
                  (long long)b, (long long)s, (long long)t, (long long)g,
                  (long long)r, (long long)k, (long long)kv, causal,
                  (long long)qOffset, (long long)kOffset, (long long)keySize,
                  (long long)window, (long long)document, softcap,
                  bias ? bias : "none");
  }

  /// The descriptor for bf16 operands; `wide`: with results in f32.
  tessera_rt_attention_desc desc(bool bf16, bool wide = false) const {
    tessera_rt_attention_desc d = {};
    d.dtype = bf16 ? TESSERA_RT_BF16 : TESSERA_RT_F32;
    d.result_dtype = wide ? TESSERA_RT_F32 : d.dtype;
    d.batch = b;
    d.q_len = s;
    d.kv_len = t;
    d.groups = g;
    d.per_group = r;
    d.head_dim = k;
    d.v_head_dim = kv;
    d.causal = causal;
    double factor = scale();
    memcpy(&d.scale_bits, &factor, 8);
    d.key_size = keySize;
    d.window = window;
    d.has_starts = document > 0;
    if (softcap != 0)
      memcpy(&d.softcap_bits, &softcap, 8);
    if (!bias)
      return d;
    d.has_bias = 1;
    int64_t stride = t;
    for (auto [dim, size, field] : {std::tuple('h', r, &d.bias_head),
                                    {'g', g, &d.bias_group},
                                    {'q', s, &d.bias_query},
                                    {'b', b, &d.bias_batch}}) {
      *field = strchr(bias, dim) ? stride : 0;
      stride *= biasSize(dim, size);
    }
    return d;
  }
};

inline const AttentionCase attentionCases[] = {
    {1, 1, 1, 1, 1, 4, 4, false, 0, 0},
    {2, 17, 17, 3, 1, 16, 16, true, 0, 0},
    {1, 70, 300, 1, 1, 64, 64, false, 0, 0},
    {1, 300, 300, 2, 1, 64, 64, true, 0, 0},
    // Grouped heads; values wider or narrower than keys.
    {2, 33, 40, 2, 3, 24, 40, true, 7, 0},
    {1, 9, 65, 2, 4, 80, 33, false, 0, 0},
    // Context parallel: this rank's queries and keys have offsets.
    {1, 64, 64, 1, 2, 32, 32, true, 64, 0},
    {1, 64, 64, 1, 1, 32, 32, true, 30, 60},
    // No query sees a key.
    {1, 20, 20, 2, 1, 16, 16, true, 0, 100},
    // One query against a cache.
    {2, 1, 513, 2, 2, 64, 64, true, 512, 0},
    // Padded keys: the last ones, some local ones, all local ones.
    {1, 24, 24, 2, 1, 16, 16, false, 0, 0, 17},
    {2, 40, 24, 1, 2, 16, 8, true, 8, 24, 41},
    {1, 8, 24, 1, 1, 16, 16, false, 0, 48, 40},
    // Windows: of one key, within a block, over blocks, wider than all keys.
    {2, 17, 17, 1, 2, 16, 16, true, 0, 0, 0, 1},
    {1, 300, 300, 2, 1, 64, 64, true, 0, 0, 0, 40},
    {1, 700, 700, 1, 2, 32, 40, true, 0, 0, 0, 300},
    {1, 70, 70, 1, 3, 24, 24, true, 0, 0, 0, 1000},
    // Context parallel: keys before the first window, padding in the last.
    {1, 64, 600, 1, 2, 32, 32, true, 500, 0, 540, 70},
    {1, 64, 64, 2, 1, 32, 32, true, 64, 0, 0, 16},
    // No query's window has a local key.
    {1, 20, 20, 2, 1, 16, 16, true, 100, 0, 0, 64},
    // Documents: of one token, within blocks, over blocks, longer than all;
    // with a window, without a causal mask, with padded queries.
    {2, 17, 17, 1, 2, 16, 16, true, 0, 0, 0, 0, 1},
    {2, 300, 300, 2, 1, 32, 32, true, 0, 0, 0, 0, 37},
    {1, 700, 700, 1, 2, 32, 40, true, 0, 0, 0, 0, 290},
    {1, 70, 70, 1, 3, 24, 24, true, 0, 0, 0, 100, 1000},
    {1, 300, 300, 1, 1, 32, 32, true, 0, 0, 290, 40, 64, 9},
    {1, 40, 65, 2, 1, 16, 16, false, 0, 0, 0, 0, 8, 5},
    // Context parallel: documents that began before and after the local keys.
    {1, 64, 64, 2, 1, 32, 32, true, 64, 0, 0, 0, 100},
    {1, 64, 600, 1, 2, 32, 32, true, 500, 0, 0, 0, 540},
    {1, 64, 64, 1, 1, 32, 32, true, 64, 0, 0, 0, 16},
    // Softcaps: of large and small scores, with masks.
    {1, 70, 300, 1, 2, 64, 64, false, 0, 0, 0, 0, 0, 0, 2.0},
    {2, 33, 33, 2, 1, 16, 16, true, 0, 0, 0, 9, 0, 0, 50.0},
    // Biases: of each dimension, all of them, with masks, padded keys, context
    // parallel, documents and a softcap.
    {2, 20, 37, 2, 2, 16, 16, false, 0, 0, 0, 0, 0, 0, 0, ""},
    {3, 17, 300, 1, 2, 16, 16, false, 0, 0, 0, 0, 0, 0, 0, "b"},
    {1, 40, 65, 2, 2, 16, 24, false, 0, 0, 0, 0, 0, 0, 0, "q"},
    {1, 30, 30, 3, 3, 16, 16, true, 0, 0, 0, 0, 0, 0, 0, "gh"},
    {2, 19, 70, 2, 3, 64, 64, false, 0, 0, 61, 0, 0, 0, 0, "bqgh"},
    {2, 64, 64, 1, 1, 32, 32, true, 30, 60, 0, 0, 0, 0, 0, "bq"},
    {2, 60, 60, 2, 1, 32, 32, true, 0, 0, 0, 20, 16, 5, 3.0, "bg"},
};

/// The address of the first element, null if there are none.
template <typename T> const T *dataOf(const std::vector<T> &values) {
  return values.empty() ? nullptr : values.data();
}

/// An operand in f32 and, for bf16, rounded to it.
struct AttentionOperand {
  std::vector<float> exact;
  std::vector<uint16_t> half;

  AttentionOperand(int64_t count, int64_t salt, bool bf16) {
    for (int64_t i = 0; i < count; ++i) {
      uint64_t hash = uint64_t(i * 5 + salt) * 2654435761u >> 9;
      float x = float(hash % 2001) / 500.0f - 2.0f;
      if (bf16)
        half.push_back(floatToBf16(x));
      exact.push_back(bf16 ? bf16ToFloat(half.back()) : x);
    }
  }
  /// Memory for a result, filled with values that no result has, and one more
  /// element.
  AttentionOperand(int64_t count, bool bf16)
      : exact(bf16 ? 0 : size_t(count) + 1, 99.0f),
        half(bf16 ? size_t(count) + 1 : 0, 0x4242) {}

  void *data() {
    return half.empty() ? static_cast<void *>(exact.data()) : half.data();
  }
  float at(int64_t i) const {
    return half.empty() ? exact[size_t(i)] : bf16ToFloat(half[size_t(i)]);
  }
  /// True if the element after the result has not changed.
  bool endIsIntact() const {
    return half.empty() ? exact.back() == 99.0f : half.back() == 0x4242;
  }
};

/// The position of a row of q or of the result among all of them.
struct AttentionRow {
  int64_t b, s, g, r;
  AttentionRow(const AttentionCase &c, int64_t row)
      : b(row / (c.r * c.g * c.s)), s(row / (c.r * c.g) % c.s),
        g(row / c.r % c.g), r(row % c.r) {}
};

/// The weight of each key for one query; `logsumexp` is computed from its
/// scores, as the largest of them and what is added to it. `slopes` become the
/// derivatives of the softcap.
inline std::vector<double>
attentionWeights(const AttentionCase &c, const float *q, const float *k,
                 int64_t row, std::pair<double, double> &logsumexp,
                 std::vector<double> *slopes = nullptr) {
  AttentionRow at(c, row);
  std::vector<int32_t> starts = c.starts();
  std::vector<float> bias = c.biasValues();
  if (slopes)
    slopes->assign(size_t(c.t), 1.0);
  std::vector<double> score(size_t(c.t), -HUGE_VAL);
  double best = -HUGE_VAL, sum = 0;
  for (int64_t t = 0; t < c.t; ++t) {
    if ((c.causal && c.kOffset + t > c.qOffset + at.s) ||
        (c.window && c.kOffset + t <= c.qOffset + at.s - c.window) ||
        (c.document && c.kOffset + t < starts[size_t(at.b * c.s + at.s)]) ||
        (c.keySize && c.kOffset + t >= c.keySize))
      continue;
    const float *key = k + ((at.b * c.t + t) * c.g + at.g) * c.k;
    double dot = 0;
    for (int64_t x = 0; x < c.k; ++x)
      dot += double(q[row * c.k + x]) * double(key[x]);
    double x = dot * c.scale();
    if (c.softcap != 0) {
      double tanh = std::tanh(x / c.softcap);
      x = tanh * c.softcap;
      if (slopes)
        (*slopes)[size_t(t)] = 1 - tanh * tanh;
    }
    // In f32 the lowest number absorbs a score.
    if (c.bias)
      x = float(x + bias[size_t(c.biasRow(at.b, at.s, at.g, at.r) + t)]);
    score[size_t(t)] = x;
    best = std::max(best, score[size_t(t)]);
  }
  for (double &x : score) {
    x = best == -HUGE_VAL ? 0 : std::exp(x - best);
    sum += x;
  }
  for (double &x : score)
    x = sum > 0 ? x / sum : 0;
  logsumexp = {sum > 0 ? best : -FLT_MAX, sum > 0 ? std::log(sum) : -HUGE_VAL};
  return score;
}

/// The gradients of all operands, in double.
struct AttentionGradientsWanted {
  std::vector<double> dq, dk, dv;
};

inline AttentionGradientsWanted
attentionGradients(const AttentionCase &c, const float *grad, const float *q,
                   const float *k, const float *v) {
  AttentionGradientsWanted result{
      std::vector<double>(size_t(c.rows() * c.k)),
      std::vector<double>(size_t(c.b * c.t * c.g * c.k)),
      std::vector<double>(size_t(c.b * c.t * c.g * c.kv))};
  for (int64_t row = 0; row < c.rows(); ++row) {
    AttentionRow at(c, row);
    std::pair<double, double> logsumexp;
    std::vector<double> slopes;
    std::vector<double> p = attentionWeights(c, q, k, row, logsumexp, &slopes);
    std::vector<double> dp(size_t(c.t), 0.0);
    double delta = 0;
    for (int64_t t = 0; t < c.t; ++t) {
      int64_t key = (at.b * c.t + t) * c.g + at.g;
      for (int64_t x = 0; x < c.kv; ++x) {
        dp[size_t(t)] +=
            double(grad[row * c.kv + x]) * double(v[key * c.kv + x]);
        result.dv[size_t(key * c.kv + x)] +=
            p[size_t(t)] * double(grad[row * c.kv + x]);
      }
      delta += p[size_t(t)] * dp[size_t(t)];
    }
    for (int64_t t = 0; t < c.t; ++t) {
      int64_t key = (at.b * c.t + t) * c.g + at.g;
      double ds = c.scale() * slopes[size_t(t)] * p[size_t(t)] *
                  (dp[size_t(t)] - delta);
      for (int64_t x = 0; x < c.k; ++x) {
        result.dq[size_t(row * c.k + x)] += ds * double(k[key * c.k + x]);
        result.dk[size_t(key * c.k + x)] += ds * double(q[row * c.k + x]);
      }
    }
  }
  return result;
}

} // namespace tessera::rt

#endif // TESSERA_TEST_RUNTIME_ATTENTIONCASES_H
