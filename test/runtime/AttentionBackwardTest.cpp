//===- AttentionBackwardTest.cpp - Gradients against their definition -----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cases of attention: gradients in double from the formulas, using the
// result and the logsumexp of the call under test. The bits must not depend on
// the number of threads.
//
//===----------------------------------------------------------------------===//

#include "AttentionCases.h"

#include <gtest/gtest.h>

using namespace tessera::rt;

namespace {
void expectNear(const AttentionOperand &got, const std::vector<double> &wanted,
                double tolerance, const char *name) {
  EXPECT_TRUE(got.endIsIntact()) << name;
  double largest = 1;
  for (double x : wanted)
    largest = std::max(largest, std::fabs(x));
  for (size_t i = 0; i < wanted.size(); ++i)
    ASSERT_NEAR(got.at(int64_t(i)), wanted[i], tolerance * largest)
        << name << " element " << i;
}

void check(const AttentionCase &c, bool bf16, bool wide = false) {
  SCOPED_TRACE(c.name() + (bf16 ? " bf16" : " f32") + (wide ? " to f32" : ""));
  int64_t keys = c.b * c.t * c.g;
  AttentionOperand q(c.rows() * c.k, 1, bf16), k(keys * c.k, 2, bf16);
  AttentionOperand v(keys * c.kv, 3, bf16), grad(c.rows() * c.kv, 4, bf16);
  AttentionOperand out(c.rows() * c.kv, bf16);
  std::vector<float> logsumexp(size_t(c.rows() * c.statSize()));
  std::vector<float> bias = c.biasValues();
  bool rounds = bf16 && !wide;
  tessera_rt_attention_desc forward = c.desc(bf16), d = c.desc(bf16, wide);
  std::vector<int32_t> starts = c.starts();
  AttentionGradientsWanted wanted = attentionGradients(
      c, grad.exact.data(), q.exact.data(), k.exact.data(), v.exact.data());
  AttentionOperand firstDq(c.rows() * c.k, rounds), firstDk(keys * c.k, rounds),
      firstDv(keys * c.kv, rounds);
  // One thread computes all of a head at once; many threads split heads.
  for (int threads : {1, 2, 8}) {
    SingleRank rank(threads, 4096);
    ASSERT_EQ(tessera_rt_attention(rank, &forward, dataOf(starts), dataOf(bias),
                                   q.data(), k.data(), v.data(), out.data(),
                                   logsumexp.data(), c.qOffset, c.kOffset),
              0);
    AttentionOperand dq(c.rows() * c.k, rounds), dk(keys * c.k, rounds);
    AttentionOperand dv(keys * c.kv, rounds);
    ASSERT_EQ(tessera_rt_attention_backward(
                  rank, &d, dataOf(starts), dataOf(bias), grad.data(), q.data(),
                  k.data(), v.data(), out.data(), logsumexp.data(), dq.data(),
                  dk.data(), dv.data(), c.qOffset, c.kOffset),
              0);
    // bf16: the rounding of `out` affects dq and dk through the sum of grad *
    // out.
    double tolerance = bf16 ? 0.01 : 2e-5;
    expectNear(dq, wanted.dq, tolerance, "dq");
    expectNear(dk, wanted.dk, tolerance, "dk");
    // dv does not depend on that sum.
    expectNear(dv, wanted.dv, rounds ? tolerance : 2e-5, "dv");
    if (threads == 1) {
      firstDq = dq;
      firstDk = dk;
      firstDv = dv;
      continue;
    }
    EXPECT_TRUE(dq.exact == firstDq.exact && dq.half == firstDq.half);
    EXPECT_TRUE(dk.exact == firstDk.exact && dk.half == firstDk.half);
    EXPECT_TRUE(dv.exact == firstDv.exact && dv.half == firstDv.half);
  }
}
} // namespace

TEST(attention, backward_f32) {
  for (const AttentionCase &c : attentionCases)
    check(c, false);
}

TEST(attention, backward_bf16) {
  for (const AttentionCase &c : attentionCases)
    check(c, true);
}

TEST(attention, backward_bf16_to_f32) {
  for (const AttentionCase &c : attentionCases)
    check(c, true, /*wide=*/true);
}
