//===- AttentionTest.cpp - Attention against a naive reference ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Grouped heads, offsets, causal or not, odd sizes, values of another width
// than keys, f32 and bf16. The reference works in double.
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace tessera::rt;

namespace {
struct Case {
  int64_t b, s, t, g, r, k, kv;
  bool causal;
  int64_t qOffset, kOffset;
};

float element(int64_t i) {
  return float((uint64_t(i) * 2654435761u >> 9) % 2001) / 500.0f - 2.0f;
}

std::vector<float> makeValues(int64_t count, int64_t salt, bool bf16) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    float x = element(i * 5 + salt);
    values.push_back(bf16 ? bf16ToFloat(floatToBf16(x)) : x);
  }
  return values;
}

std::vector<uint16_t> toHalf(const std::vector<float> &values) {
  std::vector<uint16_t> half;
  for (float x : values)
    half.push_back(floatToBf16(x));
  return half;
}

/// The row of `out` for one query, by the definition.
std::vector<double> reference(const Case &c, const float *q, const float *k,
                              const float *v, int64_t b, int64_t s, int64_t g,
                              int64_t r, double scale) {
  const float *query = q + (((b * c.s + s) * c.g + g) * c.r + r) * c.k;
  std::vector<double> out(size_t(c.kv), 0.0), score(size_t(c.t), 0.0);
  double best = -1e300, sum = 0;
  for (int64_t t = 0; t < c.t; ++t) {
    if (c.causal && c.kOffset + t > c.qOffset + s)
      continue;
    const float *key = k + ((b * c.t + t) * c.g + g) * c.k;
    for (int64_t x = 0; x < c.k; ++x)
      score[size_t(t)] += double(query[x]) * double(key[x]) * scale;
    best = std::max(best, score[size_t(t)]);
  }
  for (int64_t t = 0; t < c.t; ++t) {
    if (c.causal && c.kOffset + t > c.qOffset + s)
      continue;
    double weight = std::exp(score[size_t(t)] - best);
    sum += weight;
    for (int64_t x = 0; x < c.kv; ++x)
      out[size_t(x)] +=
          weight * double(v[((b * c.t + t) * c.g + g) * c.kv + x]);
  }
  for (double &x : out)
    x = sum > 0 ? x / sum : 0;
  return out;
}

void check(tessera_rt_context *ctx, const Case &c, bool bf16) {
  SCOPED_TRACE(format("B%lld S%lld T%lld G%lld R%lld K%lld Kv%lld causal %d "
                      "offsets %lld %lld bf16 %d",
                      (long long)c.b, (long long)c.s, (long long)c.t,
                      (long long)c.g, (long long)c.r, (long long)c.k,
                      (long long)c.kv, c.causal, (long long)c.qOffset,
                      (long long)c.kOffset, bf16));
  std::vector<float> q = makeValues(c.b * c.s * c.g * c.r * c.k, 1, bf16);
  std::vector<float> k = makeValues(c.b * c.t * c.g * c.k, 2, bf16);
  std::vector<float> v = makeValues(c.b * c.t * c.g * c.kv, 3, bf16);
  size_t count = size_t(c.b * c.s * c.g * c.r * c.kv);
  std::vector<float> out(count + 1, 99.0f);
  std::vector<uint16_t> outHalf(count + 1, 0x4242);
  double scale = 1 / std::sqrt(double(c.k));
  tessera_rt_attention_desc d = {};
  d.dtype = bf16 ? TESSERA_RT_BF16 : TESSERA_RT_F32;
  d.batch = c.b;
  d.q_len = c.s;
  d.kv_len = c.t;
  d.groups = c.g;
  d.per_group = c.r;
  d.head_dim = c.k;
  d.v_head_dim = c.kv;
  d.causal = c.causal;
  memcpy(&d.scale_bits, &scale, 8);
  std::vector<uint16_t> qh = toHalf(q), kh = toHalf(k), vh = toHalf(v);
  ASSERT_EQ(bf16
                ? tessera_rt_attention(ctx, &d, qh.data(), kh.data(), vh.data(),
                                       outHalf.data(), c.qOffset, c.kOffset)
                : tessera_rt_attention(ctx, &d, q.data(), k.data(), v.data(),
                                       out.data(), c.qOffset, c.kOffset),
            0);
  EXPECT_EQ(out[count], 99.0f);
  EXPECT_EQ(outHalf[count], 0x4242);
  for (int64_t row = 0; row < c.b * c.s * c.g * c.r; ++row) {
    int64_t r = row % c.r, g = row / c.r % c.g, s = row / (c.r * c.g) % c.s;
    int64_t b = row / (c.r * c.g * c.s);
    std::vector<double> wanted =
        reference(c, q.data(), k.data(), v.data(), b, s, g, r, scale);
    for (int64_t x = 0; x < c.kv; ++x) {
      size_t at = size_t(row * c.kv + x);
      float got = bf16 ? bf16ToFloat(outHalf[at]) : out[at];
      ASSERT_NEAR(got, wanted[size_t(x)], bf16 ? 0.01 : 2e-5)
          << "row " << row << " element " << x;
    }
  }
}

const Case cases[] = {
    {1, 1, 1, 1, 1, 4, 4, false, 0, 0},
    {2, 17, 17, 3, 1, 16, 16, true, 0, 0},
    {1, 70, 300, 1, 1, 64, 64, false, 0, 0},
    {1, 300, 300, 2, 1, 64, 64, true, 0, 0},
    // Grouped heads; values of another width.
    {2, 33, 40, 2, 3, 24, 40, true, 7, 0},
    {1, 9, 65, 2, 4, 80, 33, false, 0, 0},
    // Context parallel: this rank's queries and keys begin elsewhere.
    {1, 64, 64, 1, 2, 32, 32, true, 64, 0},
    {1, 64, 64, 1, 1, 32, 32, true, 30, 60},
    // No query sees a key.
    {1, 20, 20, 2, 1, 16, 16, true, 0, 100},
    // One query against a cache.
    {2, 1, 513, 2, 2, 64, 64, true, 512, 0},
};
} // namespace

TEST(attention, f32) {
  SingleRank rank(2, 4096);
  for (const Case &c : cases)
    check(rank, c, false);
}

TEST(attention, bf16) {
  SingleRank rank(3, 4096);
  for (const Case &c : cases)
    check(rank, c, true);
}

TEST(attention, large_scores_do_not_overflow) {
  SingleRank rank(1, 4096);
  float q[2] = {1e4f, 0}, k[4] = {1e4f, 0, -1e4f, 0}, v[2] = {3, 5}, out[1];
  double scale = 1;
  tessera_rt_attention_desc d = {};
  d.batch = d.q_len = d.groups = d.per_group = d.v_head_dim = 1;
  d.kv_len = d.head_dim = 2;
  memcpy(&d.scale_bits, &scale, 8);
  ASSERT_EQ(tessera_rt_attention(rank, &d, q, k, v, out, 0, 0), 0);
  EXPECT_EQ(out[0], 3.0f);
}
