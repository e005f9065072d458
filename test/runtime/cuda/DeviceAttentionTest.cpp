//===- DeviceAttentionTest.cpp - Attention kernels on the emulator --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cases of attention compared with the host library, forward and backward,
// and cases that cross tiles of the matrix-unit kernels. Every order of threads
// and blocks gives the same bits.
//
//===----------------------------------------------------------------------===//

#include "AttentionCases.h"
#include "DeviceKernels.h"

#include <cstring>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

namespace {
/// Several tiles of rows and keys, in grouped heads, with widths that are not
/// whole tiles, and rows that see nothing.
const AttentionCase tileCases[] = {
    {1, 130, 150, 1, 1, 64, 64, true, 20, 0},
    {1, 40, 140, 2, 3, 128, 128, true, 90, 0},
    {2, 65, 65, 1, 1, 128, 64, false, 0, 0, 61},
    {1, 70, 70, 1, 2, 40, 72, true, 0, 10},
    {2, 200, 200, 1, 2, 64, 64, true, 0, 0, 0, 0, 70},
    {1, 200, 200, 1, 1, 128, 128, true, 0, 0, 190, 100, 33, 10},
};

/// All results of both calls, in f32.
struct Results {
  std::vector<float> out, logsumexp, dq, dk, dv;
};

std::vector<float> floats(AttentionOperand &operand, int64_t count) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(operand.at(i));
  return values;
}

struct Operands {
  AttentionOperand q, k, v, grad;
  Operands(const AttentionCase &c, bool bf16)
      : q(c.rows() * c.k, 1, bf16), k(c.b * c.t * c.g * c.k, 2, bf16),
        v(c.b * c.t * c.g * c.kv, 3, bf16), grad(c.rows() * c.kv, 4, bf16) {}
};

/// Runs the host library; gradients are in f32 if `wide`.
Results onHost(const AttentionCase &c, bool bf16, bool wide) {
  Operands o(c, bf16);
  int64_t keys = c.b * c.t * c.g;
  bool rounds = bf16 && !wide;
  AttentionOperand out(c.rows() * c.kv, bf16), dq(c.rows() * c.k, rounds),
      dk(keys * c.k, rounds), dv(keys * c.kv, rounds);
  Results results;
  results.logsumexp.resize(size_t(c.rows() * c.statSize()));
  tessera_rt_attention_desc d = c.desc(bf16), back = c.desc(bf16, wide);
  std::vector<int32_t> starts = c.starts();
  std::vector<float> bias = c.biasValues();
  SingleRank rank(2, 4096);
  EXPECT_EQ(tessera_rt_attention(rank, &d, dataOf(starts), dataOf(bias),
                                 o.q.data(), o.k.data(), o.v.data(), out.data(),
                                 results.logsumexp.data(), c.qOffset,
                                 c.kOffset),
            0);
  EXPECT_EQ(tessera_rt_attention_backward(
                rank, &back, dataOf(starts), dataOf(bias), o.grad.data(),
                o.q.data(), o.k.data(), o.v.data(), out.data(),
                results.logsumexp.data(), dq.data(), dk.data(), dv.data(),
                c.qOffset, c.kOffset),
            0);
  results.out = floats(out, c.rows() * c.kv);
  results.dq = floats(dq, c.rows() * c.k);
  results.dk = floats(dk, keys * c.k);
  results.dv = floats(dv, keys * c.kv);
  return results;
}

/// An operand in the device's memory, as bytes.
struct Block {
  bool bf16;
  int64_t count;
  DeviceBlock<uint8_t> block;
  Block(int64_t count, bool bf16)
      : bf16(bf16), count(count), block(size_t(count * (bf16 ? 2 : 4))) {}
  Block(AttentionOperand &from, int64_t count, bool bf16) : Block(count, bf16) {
    memcpy(block.data(), from.data(), size_t(count * (bf16 ? 2 : 4)));
  }
  void *data() { return block.data(); }
  std::vector<float> values() {
    std::vector<float> values;
    for (int64_t i = 0; i < count; ++i)
      values.push_back(
          bf16 ? bf16ToFloat(reinterpret_cast<uint16_t *>(block.data())[i])
               : reinterpret_cast<float *>(block.data())[i]);
    return values;
  }
};

/// Runs the kernels. If `wide`, the forward's f32 result also goes to
/// `wideOut`.
Results onDevice(const AttentionCase &c, bool bf16, bool wide, uint64_t seed,
                 std::vector<float> *wideOut = nullptr) {
  Operands o(c, bf16);
  int64_t keys = c.b * c.t * c.g;
  Block q(o.q, c.rows() * c.k, bf16), k(o.k, keys * c.k, bf16);
  Block v(o.v, keys * c.kv, bf16), grad(o.grad, c.rows() * c.kv, bf16);
  Block out(c.rows() * c.kv, bf16), logsumexp(c.rows() * c.statSize(), false);
  bool rounds = bf16 && !wide;
  Block dq(c.rows() * c.k, rounds), dk(keys * c.k, rounds),
      dv(keys * c.kv, rounds);
  tessera_rt_attention_desc d = c.desc(bf16), back = c.desc(bf16, wide);
  DeviceKernels device(seed);
  AttentionOperands operands{q.data(), k.data(), v.data(), c.qOffset,
                             c.kOffset};
  std::vector<int32_t> starts = c.starts();
  DeviceBlock<int32_t> documents(starts.size());
  if (!starts.empty()) {
    memcpy(documents.data(), starts.data(), starts.size() * sizeof(int32_t));
    operands.starts = documents.data();
  }
  std::vector<float> biasValues = c.biasValues();
  DeviceBlock<float> bias(biasValues.size());
  if (c.bias) {
    memcpy(bias.data(), biasValues.data(), biasValues.size() * sizeof(float));
    operands.bias = bias.data();
  }
  float *sums = static_cast<float *>(logsumexp.data());
  device.finish(launchAttention(device.kernels, device.stream, d, operands,
                                out.data(), sums));
  if (wideOut) {
    Block result(c.rows() * c.kv, false);
    device.finish(launchAttention(device.kernels, device.stream, back, operands,
                                  result.data(), nullptr));
    *wideOut = result.values();
  }
  AttentionGradients gradients{grad.data(), out.data(), sums,
                               dq.data(),   dk.data(),  dv.data()};
  DeviceBlock<uint8_t> workspace(size_t(attentionBackwardWorkspace(d)), 256);
  device.finish(launchAttentionBackward(device.kernels, device.stream, back,
                                        operands, gradients, workspace.data()));
  return {out.values(), logsumexp.values(), dq.values(), dk.values(),
          dv.values()};
}

void expectNear(const std::vector<float> &got, const std::vector<float> &wanted,
                double tolerance, const char *name) {
  double largest = 1;
  for (float x : wanted)
    // The stat of a hidden row is the lowest number.
    largest = std::fabs(x) < FLT_MAX ? std::max(largest, double(std::fabs(x)))
                                     : largest;
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i)
    if (std::isfinite(wanted[i]) && std::fabs(wanted[i]) < FLT_MAX)
      ASSERT_NEAR(got[i], wanted[i], tolerance * largest)
          << name << " element " << i;
    else
      ASSERT_EQ(got[i], wanted[i]) << name << " element " << i;
}

void check(const AttentionCase &c, bool bf16, bool wide = false) {
  SCOPED_TRACE(c.name() + (bf16 ? " bf16" : " f32") + (wide ? " to f32" : ""));
  std::vector<float> wideOut;
  Results wanted = onHost(c, bf16, wide),
          got = onDevice(c, bf16, wide, 0, wide ? &wideOut : nullptr);
  // bf16: both results are rounded, and so are the device's weights.
  double tolerance = bf16 ? 0.012 : 2e-5;
  expectNear(got.out, wanted.out, tolerance, "out");
  expectNear(got.logsumexp, wanted.logsumexp, 1e-5, "logsumexp");
  expectNear(got.dq, wanted.dq, tolerance, "dq");
  expectNear(got.dk, wanted.dk, tolerance, "dk");
  expectNear(got.dv, wanted.dv, tolerance, "dv");
  // The bf16 result is the rounded f32 result.
  for (size_t i = 0; i < wideOut.size(); ++i)
    ASSERT_EQ(bf16ToFloat(floatToBf16(wideOut[i])), got.out[i]) << i;
  Results again = onDevice(c, bf16, wide, 11);
  EXPECT_TRUE(again.out == got.out && again.logsumexp == got.logsumexp);
  EXPECT_TRUE(again.dq == got.dq && again.dk == got.dk && again.dv == got.dv);
}
} // namespace

TEST(device_attention, f32) {
  for (const AttentionCase &c : attentionCases)
    check(c, false);
}

TEST(device_attention, bf16) {
  for (const AttentionCase &c : attentionCases)
    check(c, true);
}

TEST(device_attention, bf16_to_f32) {
  for (const AttentionCase &c : attentionCases)
    check(c, true, /*wide=*/true);
}

TEST(device_attention, bf16_over_tiles) {
  for (const AttentionCase &c : tileCases) {
    EXPECT_TRUE(hasMatrixAttention(c.desc(true))) << c.name();
    check(c, true);
    check(c, true, /*wide=*/true);
  }
}

TEST(device_attention, scales_of_any_sign) {
  for (double scale : {0.0, -0.5}) {
    AttentionCase c{1, 20, 20, 1, 1, 16, 16, true, 0, 0};
    tessera_rt_attention_desc d = c.desc(true);
    memcpy(&d.scale_bits, &scale, sizeof(scale));
    EXPECT_FALSE(hasMatrixAttention(d));
    Operands o(c, true);
    AttentionOperand wanted(c.rows() * c.kv, true);
    SingleRank rank(1, 4096);
    ASSERT_EQ(tessera_rt_attention(rank, &d, nullptr, nullptr, o.q.data(),
                                   o.k.data(), o.v.data(), wanted.data(),
                                   nullptr, 0, 0),
              0);
    Block q(o.q, c.rows() * c.k, true), k(o.k, c.b * c.t * c.g * c.k, true);
    Block v(o.v, c.b * c.t * c.g * c.kv, true), out(c.rows() * c.kv, true);
    DeviceKernels device(4);
    device.finish(launchAttention(device.kernels, device.stream, d,
                                  {q.data(), k.data(), v.data(), 0, 0},
                                  out.data(), nullptr));
    expectNear(out.values(), floats(wanted, c.rows() * c.kv), 0.012, "out");
  }
}

TEST(device_attention, heads_up_to_256) {
  check({1, 20, 40, 1, 1, 200, 256, true, 10, 0}, false);
  check({1, 20, 40, 1, 1, 256, 136, false, 0, 0}, true);
}

TEST(device_attention, heads_that_are_too_large_are_refused) {
  DeviceKernels device(0);
  AttentionCase c{1, 1, 1, 1, 1, 264, 8, false, 0, 0};
  EXPECT_EQ(
      launchAttention(device.kernels, device.stream, c.desc(false), {}, nullptr,
                      nullptr),
      "attention on a device expects heads of up to 256 elements and less "
      "than 2^30 rows, but got 264 and 1 of 1 heads");
}
