//===- AttentionTest.cpp - Attention against a naive reference ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Grouped heads, offsets, causal or not, padded keys, odd sizes, values of
// another width than keys, f32 and bf16. The reference works in double.
//
//===----------------------------------------------------------------------===//

#include "AttentionCases.h"

#include <gtest/gtest.h>

using namespace tessera::rt;

static void check(tessera_rt_context *ctx, const AttentionCase &c, bool bf16,
                  bool wide = false) {
  SCOPED_TRACE(c.name() + (bf16 ? " bf16" : " f32") + (wide ? " to f32" : ""));
  AttentionOperand q(c.rows() * c.k, 1, bf16),
      k(c.b * c.t * c.g * c.k, 2, bf16);
  AttentionOperand v(c.b * c.t * c.g * c.kv, 3, bf16);
  bool rounds = bf16 && !wide;
  AttentionOperand out(c.rows() * c.kv, rounds), plain(c.rows() * c.kv, rounds);
  std::vector<float> logsumexp(size_t(c.rows() * c.statSize()) + 1, 99.0f);
  tessera_rt_attention_desc d = c.desc(bf16, wide);
  std::vector<int32_t> starts = c.starts();
  std::vector<float> bias = c.biasValues();
  ASSERT_EQ(tessera_rt_attention(ctx, &d, dataOf(starts), dataOf(bias),
                                 q.data(), k.data(), v.data(), out.data(),
                                 logsumexp.data(), c.qOffset, c.kOffset),
            0);
  ASSERT_EQ(tessera_rt_attention(ctx, &d, dataOf(starts), dataOf(bias),
                                 q.data(), k.data(), v.data(), plain.data(),
                                 nullptr, c.qOffset, c.kOffset),
            0);
  EXPECT_TRUE(out.endIsIntact());
  EXPECT_EQ(logsumexp.back(), 99.0f);
  for (int64_t row = 0; row < c.rows(); ++row) {
    AttentionRow at(c, row);
    std::pair<double, double> wantedSum;
    std::vector<double> weights =
        attentionWeights(c, q.exact.data(), k.exact.data(), row, wantedSum);
    const float *stat = &logsumexp[size_t(row * c.statSize())];
    bool isEmpty = wantedSum.second == -HUGE_VAL;
    if (c.bias) {
      // The lowest number has no digits for the rest.
      double scale = std::max(1.0, std::fabs(wantedSum.first));
      ASSERT_NEAR(stat[0] / scale, wantedSum.first / scale, 1e-5) << row;
    } else {
      wantedSum.second += wantedSum.first;
    }
    const float last = stat[c.statSize() - 1];
    if (isEmpty)
      ASSERT_EQ(last, -HUGE_VALF) << "row " << row;
    else
      ASSERT_NEAR(last, wantedSum.second, 1e-5) << "row " << row;
    for (int64_t x = 0; x < c.kv; ++x) {
      double wanted = 0;
      for (int64_t t = 0; t < c.t; ++t)
        wanted +=
            weights[size_t(t)] *
            double(v.exact[size_t(((at.b * c.t + t) * c.g + at.g) * c.kv + x)]);
      ASSERT_NEAR(out.at(row * c.kv + x), wanted, rounds ? 0.01 : 2e-5)
          << "row " << row << " element " << x;
      ASSERT_EQ(out.at(row * c.kv + x), plain.at(row * c.kv + x));
    }
  }
}

TEST(attention, f32) {
  SingleRank rank(2, 4096);
  for (const AttentionCase &c : attentionCases)
    check(rank, c, false);
}

TEST(attention, bf16) {
  SingleRank rank(3, 4096);
  for (const AttentionCase &c : attentionCases)
    check(rank, c, true);
}

TEST(attention, bf16_to_f32) {
  SingleRank rank(2, 4096);
  for (const AttentionCase &c : attentionCases)
    check(rank, c, true, /*wide=*/true);
}

TEST(attention, a_result_is_not_narrower) {
  SingleRank rank(1, 4096);
  float x[1] = {1};
  tessera_rt_attention_desc d = attentionCases[0].desc(false);
  d.result_dtype = TESSERA_RT_BF16;
  EXPECT_EQ(tessera_rt_attention(rank, &d, nullptr, nullptr, x, x, x, x,
                                 nullptr, 0, 0),
            TESSERA_RT_INVALID);
}

TEST(attention, large_scores_do_not_overflow) {
  SingleRank rank(1, 4096);
  float q[2] = {1e4f, 0}, k[4] = {1e4f, 0, -1e4f, 0}, v[2] = {3, 5}, out[1];
  double scale = 1;
  tessera_rt_attention_desc d = {};
  d.batch = d.q_len = d.groups = d.per_group = d.v_head_dim = 1;
  d.kv_len = d.head_dim = 2;
  memcpy(&d.scale_bits, &scale, 8);
  ASSERT_EQ(tessera_rt_attention(rank, &d, nullptr, nullptr, q, k, v, out,
                                 nullptr, 0, 0),
            0);
  EXPECT_EQ(out[0], 3.0f);
}

TEST(attention, starts_and_descriptor_agree) {
  SingleRank rank(1, 4096);
  float x[1] = {1};
  int32_t start = 0;
  tessera_rt_attention_desc d = attentionCases[0].desc(false);
  EXPECT_EQ(tessera_rt_attention(rank, &d, &start, nullptr, x, x, x, x, nullptr,
                                 0, 0),
            TESSERA_RT_INVALID);
  d.has_starts = 1;
  EXPECT_EQ(tessera_rt_attention(rank, &d, nullptr, nullptr, x, x, x, x,
                                 nullptr, 0, 0),
            TESSERA_RT_INVALID);
}

TEST(attention, bias_and_descriptor_agree) {
  SingleRank rank(1, 4096);
  float x[1] = {1};
  tessera_rt_attention_desc d = attentionCases[0].desc(false);
  EXPECT_EQ(
      tessera_rt_attention(rank, &d, nullptr, x, x, x, x, x, nullptr, 0, 0),
      TESSERA_RT_INVALID);
  d.has_bias = 1;
  EXPECT_EQ(tessera_rt_attention(rank, &d, nullptr, nullptr, x, x, x, x,
                                 nullptr, 0, 0),
            TESSERA_RT_INVALID);
}
