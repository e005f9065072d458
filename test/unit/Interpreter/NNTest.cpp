//===- NNTest.cpp - nn ops ------------------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares with values computed by hand or by simple code that is independent
// of the interpreter.
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"
#include <cmath>
#include <random>

using namespace tessera::interp;

namespace {

using Elements = std::vector<double>;

/// Multiples of 1/8 in [-2, 2]: exact in every float type.
Elements randomElements(size_t n, unsigned seed) {
  std::mt19937 random(seed);
  Elements x(n);
  for (double &v : x)
    v = (static_cast<int>(random() % 33) - 16) / 8.0;
  return x;
}

TEST(NNTest, einsum_of_every_class_of_letter) {
  // b: batch; s and h: rows; k: column; d: contracted. The result is permuted.
  TestProgram p(oneOp(
      "nn.einsum \"bshd,dkb->kbhs\" %a0, %a1 : tensor<2x3x2x5xf64>, "
      "tensor<5x7x2xf64> -> tensor<7x2x2x3xf64>",
      {"tensor<2x3x2x5xf64>", "tensor<5x7x2xf64>"}, "tensor<7x2x2x3xf64>"));
  Elements lhs = randomElements(60, 1), rhs = randomElements(70, 2);
  Elements expected(84, 0);
  for (int b = 0; b < 2; ++b)
    for (int s = 0; s < 3; ++s)
      for (int h = 0; h < 2; ++h)
        for (int d = 0; d < 5; ++d)
          for (int k = 0; k < 7; ++k)
            expected[((k * 2 + b) * 2 + h) * 3 + s] +=
                lhs[((b * 3 + s) * 2 + h) * 5 + d] * rhs[(d * 7 + k) * 2 + b];
  expectNear(p.runOne({lhs, rhs}), expected, 1e-12);
}

// Larger than the blocks of the matmul, with remainders.
TEST(NNTest, einsum_of_large_matrices) {
  constexpr int m = 7, k = 131, n = 301;
  TestProgram p(oneOp("nn.einsum \"mk,nk->mn\" %a0, %a1 : tensor<7x131xf32>, "
                      "tensor<301x131xf32> -> tensor<7x301xf32>",
                      {"tensor<7x131xf32>", "tensor<301x131xf32>"},
                      "tensor<7x301xf32>"));
  Elements lhs = randomElements(m * k, 3), rhs = randomElements(n * k, 4);
  Elements expected(m * n, 0);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      for (int s = 0; s < k; ++s)
        expected[i * n + j] += lhs[i * k + s] * rhs[j * k + s];
  EXPECT_EQ(p.runOne({lhs, rhs}), expected);
}

// Strides, zeros on both sides and between elements, taps apart and in reverse,
// by the op's definition.
TEST(NNTest, convolution) {
  std::string types = "tensor<2x2x3x4xf64>, tensor<2x2x3x3xf64>",
              result = "tensor<2x2x2x5xf64>";
  for (bool isReversed : {false, true}) {
    TestProgram p(oneOp("nn.convolution %a0, %a1 strides [2] low [2] high [1] "
                        "dilation [2] x_dilation [3]" +
                            std::string(isReversed ? " reversed" : "") + " : " +
                            types + " -> " + result,
                        {"tensor<2x2x3x4xf64>", "tensor<2x2x3x3xf64>"},
                        result));
    Elements x = randomElements(48, 5), weight = randomElements(36, 6);
    Elements expected(40, 0);
    for (int b = 0; b < 2; ++b)
      for (int g = 0; g < 2; ++g)
        for (int o = 0; o < 2; ++o)
          for (int i = 0; i < 3; ++i)
            for (int p = 0; p < 5; ++p)
              for (int t = 0; t < 3; ++t) {
                int at = p * 2 + t * 2 - 2;
                if (at < 0 || at % 3 != 0 || at / 3 >= 4)
                  continue;
                int tap = isReversed ? 2 - t : t;
                expected[((b * 2 + g) * 2 + o) * 5 + p] +=
                    x[((b * 2 + g) * 3 + i) * 4 + at / 3] *
                    weight[((g * 2 + o) * 3 + i) * 3 + tap];
              }
    expectNear(p.runOne({x, weight}), expected, 1e-12);
  }
}

// A pair of rows and a column of differences.
TEST(NNTest, convolution_of_an_image) {
  TestProgram p(oneOp(
      "nn.convolution %a0, %a1 strides [1, 2] low [0, 1] high [1, 0] dilation "
      "[1, 1] x_dilation [1, 1] : tensor<1x1x1x2x3xf32>, tensor<1x1x1x2x2xf32> "
      "-> tensor<1x1x1x2x2xf32>",
      {"tensor<1x1x1x2x3xf32>", "tensor<1x1x1x2x2xf32>"},
      "tensor<1x1x1x2x2xf32>"));
  EXPECT_EQ(p.runOne({{1, 2, 3, 4, 5, 6}, {1, 10, 100, 1000}}),
            (Elements{4010, 6532, 40, 65}));
}

TEST(NNTest, einsum_rounds_and_wraps) {
  TestProgram outer(
      oneOp("nn.einsum \"i,j->ij\" %a0, %a1 : tensor<1xi8>, tensor<2xi8> -> "
            "tensor<1x2xi8>",
            {"tensor<1xi8>", "tensor<2xi8>"}, "tensor<1x2xi8>"));
  EXPECT_EQ(outer.runOne({{100}, {2, 1}}), (Elements{-56, 100}));
  TestProgram widened(
      oneOp("nn.einsum \"i,i->\" %a0, %a1 : tensor<2xbf16>, tensor<2xbf16> -> "
            "tensor<f32>",
            {"tensor<2xbf16>", "tensor<2xbf16>"}, "tensor<f32>"));
  EXPECT_EQ(widened.runOne({{256, 1}, {1, 1}}), (Elements{257}));
}

/// Attention by its definition.
struct NaiveAttention {
  int batch, queries, groups, heads, dim, keys, valueDim;
  bool causal;
  double scale;
  int qOffset, kOffset, keySize, window = 100;
  /// The positions of the tokens; the starts of documents, if there are any.
  std::vector<int> order;
  Elements starts;

  int position(int index) const { return order.empty() ? index : order[index]; }
  bool sees(int b, int s, int t) const {
    int query = position(qOffset + s), key = position(kOffset + t);
    return (!causal || key <= query) && key < keySize && key > query - window &&
           (starts.empty() || key >= starts[b * queries + s]);
  }

  Elements operator()(const Elements &q, const Elements &k,
                      const Elements &v) const {
    Elements out(batch * queries * groups * heads * valueDim, 0);
    for (int b = 0; b < batch; ++b)
      for (int s = 0; s < queries; ++s)
        for (int g = 0; g < groups; ++g)
          for (int h = 0; h < heads; ++h) {
            int row = ((b * queries + s) * groups + g) * heads + h;
            double total = 0;
            for (int t = 0; t < keys; ++t) {
              if (!sees(b, s, t))
                continue;
              int key = (b * keys + t) * groups + g;
              double score = 0;
              for (int d = 0; d < dim; ++d)
                score += q[row * dim + d] * k[key * dim + d];
              double weight = std::exp(scale * score);
              total += weight;
              for (int d = 0; d < valueDim; ++d)
                out[row * valueDim + d] += weight * v[key * valueDim + d];
            }
            for (int d = 0; d < valueDim && total; ++d)
              out[row * valueDim + d] /= total;
          }
    return out;
  }
};

TEST(NNTest, attention) {
  std::string q = "tensor<2x3x2x2x4xf64>", k = "tensor<2x5x2x4xf64>",
              v = "tensor<2x5x2x3xf64>", o = "tensor<2x3x2x2x3xf64>";
  std::string types = " : " + q + ", " + k + ", " + v + " -> " + o;
  Elements x = randomElements(96, 5), y = randomElements(80, 6),
           z = randomElements(60, 7);
  NaiveAttention naive{2, 3, 2, 2, 4, 5, 3, false, 0.5, 0, 0, 100};
  TestProgram full(
      oneOp("nn.attention scale 0.5 %a0, %a1, %a2" + types, {q, k, v}, o));
  expectNear(full.runOne({x, y, z}), naive(x, y, z), 1e-12);
  TestProgram causal(
      oneOp("nn.attention causal scale 0.5 keys 6 %a0, %a1, %a2 q_offset %a3 "
            "k_offset %a4" +
                types,
            {q, k, v, "index", "index"}, o));
  naive.causal = true;
  naive.keySize = 6;
  for (int qOffset : {0, 3, 9})
    for (int kOffset : {0, 2, 4}) {
      naive.qOffset = qOffset;
      naive.kOffset = kOffset;
      expectNear(causal.runOne({x, y, z, {double(qOffset)}, {double(kOffset)}}),
                 naive(x, y, z), 1e-12);
    }
  TestProgram windowed(
      oneOp("nn.attention causal window 2 scale 0.5 keys 6 %a0, %a1, %a2 "
            "q_offset %a3 k_offset %a4" +
                types,
            {q, k, v, "index", "index"}, o));
  naive.window = 2;
  for (int qOffset : {0, 3, 9})
    for (int kOffset : {0, 2, 4}) {
      naive.qOffset = qOffset;
      naive.kOffset = kOffset;
      expectNear(
          windowed.runOne({x, y, z, {double(qOffset)}, {double(kOffset)}}),
          naive(x, y, z), 1e-12);
    }
  TestProgram ordered(
      oneOp("nn.attention causal scale 0.5 order <shards = 2, size = 8> %a0, "
            "%a1, %a2 q_offset %a3 k_offset %a4 starts %a5 : tensor<2x3xi32>" +
                types,
            {q, k, v, "index", "index", "tensor<2x3xi32>"}, o));
  naive.window = naive.keySize = 100;
  naive.order = {0, 1, 6, 7, 2, 3, 4, 5};
  naive.starts = {0, 1, 2, 0, 0, 4};
  for (int qOffset : {0, 2, 5})
    for (int kOffset : {0, 3}) {
      naive.qOffset = qOffset;
      naive.kOffset = kOffset;
      expectNear(
          ordered.runOne(
              {x, y, z, {double(qOffset)}, {double(kOffset)}, naive.starts}),
          naive(x, y, z), 1e-12);
    }
  // The result for a query that sees no key is 0.
  EXPECT_EQ(causal.runOne({x, y, z, {0}, {3}}), Elements(72, 0.0));
}

TEST(NNTest, norms) {
  std::string x = "tensor<2x2xf32>", w = "tensor<2xf32>";
  TestProgram layer(
      oneOp("nn.layer_norm %a0, %a1, %a2 eps 3.0 : " + x + ", " + w + ", " + w,
            {x, w, w}, x));
  // Row 0: mean 2, variance 1, divided by sqrt(1 + 3).
  expectNear(layer.runOne({{1, 3, 5, 5}, {2, 4}, {10, 20}}), {9, 22, 10, 20});
  TestProgram rms(
      oneOp("nn.rms_norm %a0, %a1 eps 4.0 : " + x + ", " + w, {x, w}, x));
  // Row 0: mean square 5, divided by sqrt(5 + 4).
  expectNear(rms.runOne({{1, 3, 0, 0}, {3, 6}}), {1, 6, 0, 0});
}

TEST(NNTest, rope) {
  // Positions 1 and 2; theta 4, size 4: frequencies 1 and 1/2. A batch
  // dimension precedes the sequence and heads follow it.
  std::string x = "tensor<2x2x2x4xf64>";
  TestProgram p(
      oneOp("nn.rope %a0 dim 1 theta 4.0 offset %a1 : " + x, {x, "index"}, x));
  Elements in = randomElements(32, 8), expected(32);
  for (int b = 0; b < 2; ++b)
    for (int s = 0; s < 2; ++s)
      for (int h = 0; h < 2; ++h)
        for (int i = 0; i < 2; ++i) {
          double angle = (s + 1) * (i == 0 ? 1.0 : 0.5);
          int at = ((b * 2 + s) * 2 + h) * 4 + i;
          expected[at] =
              in[at] * std::cos(angle) - in[at + 2] * std::sin(angle);
          expected[at + 2] =
              in[at + 2] * std::cos(angle) + in[at] * std::sin(angle);
        }
  expectNear(p.runOne({in, {1}}), expected, 1e-12);
}

// Frequencies 1, 0.1, 0.01, 0.001: wavelengths 6.28, 62.8, 628, 6283. With
// context 1000, low 2 (bound 500) and high 20 (bound 50): the first is kept,
// the second interpolated, the others divided by 8.
TEST(NNTest, rope_scaling) {
  std::string x = "tensor<1x8xf64>";
  TestProgram p(
      oneOp("nn.rope %a0 dim 0 theta 10000.0 scaling <factor = 8.0 : f64, "
            "low_freq_factor = 2.0 : f64, high_freq_factor = 20.0 : f64, "
            "original_context = 1000> offset %a1 : " +
                x,
            {x, "index"}, x));
  double wavelength = 2 * M_PI / 0.1;
  double keep = (1000 / wavelength - 2) / 18;
  Elements frequencies{1, (1 - keep) * 0.1 / 8 + keep * 0.1, 0.01 / 8,
                       0.001 / 8};
  Elements expected(8);
  for (int i = 0; i < 4; ++i) {
    expected[i] = std::cos(3 * frequencies[i]);
    expected[i + 4] = std::sin(3 * frequencies[i]);
  }
  expectNear(p.runOne({{1, 1, 1, 1, 0, 0, 0, 0}, {3}}), expected, 1e-12);
}

// Linear scaling divides all frequencies by the same factor.
TEST(NNTest, rope_linear_scaling) {
  std::string x = "tensor<1x4xf64>";
  TestProgram p(oneOp("nn.rope %a0 dim 0 theta 4.0 scaling <factor = 3.0 : "
                      "f64> offset %a1 : " +
                          x,
                      {x, "index"}, x));
  expectNear(p.runOne({{1, 1, 0, 0}, {6}}),
             {std::cos(2.0), std::cos(1.0), std::sin(2.0), std::sin(1.0)},
             1e-12);
}

TEST(NNTest, rope_frequencies) {
  std::string x = "tensor<1x6xf64>";
  TestProgram p(oneOp("nn.rope %a0 dim 0 frequencies [0.5, -0.25] width 4 "
                      "offset %a1 : " +
                          x,
                      {x, "index"}, x));
  expectNear(
      p.runOne({{1, 1, 0, 0, 7, 8}, {6}}),
      {std::cos(3.0), std::cos(1.5), std::sin(3.0), -std::sin(1.5), 7, 8},
      1e-12);
}

// Neighbours are pairs, with and without elements that stay.
TEST(NNTest, rope_of_neighbours) {
  std::string x = "tensor<1x5xf64>";
  TestProgram p(oneOp("nn.rope %a0 dim 0 frequencies [0.5, -0.25] width 4 "
                      "interleaved offset %a1 : " +
                          x,
                      {x, "index"}, x));
  expectNear(p.runOne({{1, 0, 0, 1, 7}, {6}}),
             {std::cos(3.0), std::sin(3.0), std::sin(1.5), std::cos(1.5), 7},
             1e-12);
}

TEST(NNTest, stop_gradient) {
  std::string x = "tensor<2xf64>";
  TestProgram p(oneOp("nn.stop_gradient %a0 : " + x, {x}, x));
  expectNear(p.runOne({{1.5, -2}}), {1.5, -2}, 0);
}

// The first four of seven elements are rotated as if they were alone.
TEST(NNTest, rope_of_the_first_elements) {
  std::string x = "tensor<3x7xf64>", part = "tensor<3x4xf64>";
  TestProgram whole(
      oneOp("nn.rope %a0 dim 0 theta 4.0 width 4 : " + x, {x}, x));
  TestProgram alone(
      oneOp("nn.rope %a0 dim 0 theta 4.0 : " + part, {part}, part));
  Elements in = randomElements(21, 8), first, expected = in;
  for (int i = 0; i < 12; ++i)
    first.push_back(in[i / 4 * 7 + i % 4]);
  Elements turned = alone.runOne({first});
  for (int i = 0; i < 12; ++i)
    expected[i / 4 * 7 + i % 4] = turned[i];
  EXPECT_EQ(whole.runOne({in}), expected);
}

TEST(NNTest, embedding) {
  std::string types = " : tensor<3x2xf32>, tensor<2xi32> -> tensor<2x2xf32>";
  TestProgram p(oneOp("nn.embedding %a0, %a1" + types,
                      {"tensor<3x2xf32>", "tensor<2xi32>"}, "tensor<2x2xf32>"));
  Elements table{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(p.runOne({table, {2, 0}}), (Elements{5, 6, 1, 2}));
  // Ids that are not rows, on this device or on any.
  expectNear(p.runOne({table, {3, 0}}), {NAN, NAN, 1, 2}, 0);
  expectNear(p.runOne({table, {1, -1}}), {3, 4, NAN, NAN}, 0);
  TestProgram part(oneOp("nn.embedding %a0, %a1 offset %a2" + types,
                         {"tensor<3x2xf32>", "tensor<2xi32>", "index"},
                         "tensor<2x2xf32>"));
  EXPECT_EQ(part.runOne({table, {4, 2}, {3}}), (Elements{3, 4, 0, 0}));
  EXPECT_EQ(part.runOne({table, {6, 5}, {3}}), (Elements{0, 0, 5, 6}));
  TestProgram padded(oneOp("nn.embedding %a0, %a1 rows 5 offset %a2" + types,
                           {"tensor<3x2xf32>", "tensor<2xi32>", "index"},
                           "tensor<2x2xf32>"));
  expectNear(padded.runOne({table, {5, 2}, {3}}), {NAN, NAN, 0, 0}, 0);
}

TEST(NNTest, scatter) {
  auto make = [](const std::string &op) {
    return TestProgram(oneOp(
        op + " : tensor<3x2xf32>, tensor<2x2xi32>, "
             "tensor<2x2x2xf32>",
        {"tensor<3x2xf32>", "tensor<2x2xi32>", "tensor<2x2x2xf32>", "index"},
        "tensor<3x2xf32>"));
  };
  Elements x{1, 2, 3, 4, 5, 6}, updates{10, 20, 30, 40, 50, 60, 70, 80};
  TestProgram add = make("nn.scatter <add> %a0, %a1, %a2");
  EXPECT_EQ(add.runOne({x, {2, 0, 2, 2}, updates, {0}}),
            (Elements{31, 42, 3, 4, 135, 166}));
  TestProgram set = make("nn.scatter <set> %a0, %a1, %a2");
  EXPECT_EQ(set.runOne({x, {2, 0, 2, 1}, updates, {0}}),
            (Elements{30, 40, 70, 80, 50, 60}));
  // Ids that are no rows change nothing.
  EXPECT_EQ(add.runOne({x, {3, -1, 1, 100}, updates, {0}}),
            (Elements{1, 2, 53, 64, 5, 6}));
  EXPECT_EQ(set.runOne({x, {3, -1, 1, 100}, updates, {0}}),
            (Elements{1, 2, 50, 60, 5, 6}));
  // Rows 3 to 5 of a matrix; the last one is padding.
  TestProgram part = make("nn.scatter <set> %a0, %a1, %a2 rows 5 offset %a3");
  EXPECT_EQ(part.runOne({x, {0, 5, 4, 3}, updates, {3}}),
            (Elements{70, 80, 50, 60, 5, 6}));
}

TEST(NNTest, softmax_along_a_middle_dimension) {
  std::string x = "tensor<2x2x2xf64>";
  TestProgram p(oneOp("nn.softmax %a0 dim 1 : " + x, {x}, x));
  double a = 1 / (1 + std::exp(1.0));
  expectNear(p.runOne({{0, 700, 1, 701, 5, -5, 5, -5}}),
             {a, a, 1 - a, 1 - a, 0.5, 0.5, 0.5, 0.5}, 1e-12);
}

TEST(NNTest, cross_entropy) {
  TestProgram p(oneOp(
      "nn.cross_entropy %a0, %a1 ignore -100 : tensor<3x2xf32>, tensor<3xi32> "
      "-> tensor<3xf32>",
      {"tensor<3x2xf32>", "tensor<3xi32>"}, "tensor<3xf32>"));
  Elements logits{0, 1, 1000, 1001, 3, 4};
  expectNear(p.runOne({logits, {1, 0, -100}}),
             {std::log1p(std::exp(-1.0)), std::log1p(std::exp(1.0)), 0}, 1e-6);
  expectNear(p.runOne({logits, {2, 0, -1}}),
             {NAN, std::log1p(std::exp(1.0)), NAN}, 1e-6);
}

TEST(NNTest, cross_entropy_with_padding) {
  TestProgram p(oneOp("nn.cross_entropy %a0, %a1 ignore -100 classes 2 : "
                      "tensor<2x3xf32>, tensor<2xi32> -> tensor<2xf32>",
                      {"tensor<2x3xf32>", "tensor<2xi32>"}, "tensor<2xf32>"));
  Elements logits{0, 1, 900, 4, 3, -900};
  expectNear(p.runOne({logits, {1, 0}}),
             {std::log1p(std::exp(-1.0)), std::log1p(std::exp(-1.0))}, 1e-6);
  expectNear(p.runOne({logits, {2, 0}}), {NAN, std::log1p(std::exp(-1.0))},
             1e-6);
}

TEST(NNTest, pick_and_iota) {
  TestProgram pick(oneOp("nn.take_along_axis %a0, %a1 offset %a2 : "
                         "tensor<2x2xf32>, tensor<2xi32> -> "
                         "tensor<2xf32>",
                         {"tensor<2x2xf32>", "tensor<2xi32>", "index"},
                         "tensor<2xf32>"));
  EXPECT_EQ(pick.runOne({{1, 2, 3, 4}, {1, 0}, {0}}), (Elements{2, 3}));
  EXPECT_EQ(pick.runOne({{1, 2, 3, 4}, {1, 0}, {1}}), (Elements{1, 0}));
  TestProgram iota(
      oneOp("nn.iota offset %a0 : tensor<3xi8>", {"index"}, "tensor<3xi8>"));
  EXPECT_EQ(iota.runOne({{126}}), (Elements{126, 127, -128}));
}

TEST(NNTest, activations) {
  std::string x = "tensor<2xf32>";
  TestProgram erf(oneOp("nn.gelu <erf> %a0 : " + x, {x}, x));
  expectNear(erf.runOne({{1, -1}}), {0.84134475, -0.15865525}, 1e-7);
  TestProgram tanh(oneOp("nn.gelu <tanh> %a0 : " + x, {x}, x));
  expectNear(tanh.runOne({{1, -1}}), {0.84119199, -0.15880801}, 1e-7);
  TestProgram silu(oneOp("nn.silu %a0 : " + x, {x}, x));
  expectNear(silu.runOne({{1, -1}}), {0.73105858, -0.26894142}, 1e-7);
}

TEST(NNTest, reductions) {
  auto reduce = [](std::string kind, std::string element, Elements x) {
    std::string from = "tensor<2x2x2x" + element + ">";
    std::string to = "tensor<2x" + element + ">";
    TestProgram p(oneOp("nn.reduce <" + kind + "> %a0 dims [0, 2] : " + from +
                            " -> " + to,
                        {from}, to));
    return p.runOne({x});
  };
  Elements x{1, 2, 3, 4, -5, 6, -7, 8};
  EXPECT_EQ(reduce("sum", "f32", x), (Elements{4, 8}));
  EXPECT_EQ(reduce("max", "f32", x), (Elements{6, 8}));
  EXPECT_EQ(reduce("min", "i32", x), (Elements{-5, -7}));
  EXPECT_EQ(reduce("sum", "i8", Elements(8, 100.0)), (Elements{-112, -112}));
  // Booleans: max is "or", min is "and".
  EXPECT_EQ(reduce("max", "i1", {0, 0, 1, 0, 0, 0, 0, 0}), (Elements{0, 1}));
  EXPECT_EQ(reduce("min", "i1", {1, 1, 1, 0, 1, 1, 1, 1}), (Elements{1, 0}));
}

/// Values and positions along the middle dimension of 2 x 4 x 1.
std::pair<Elements, Elements> argReduce(std::string kind, std::string element,
                                        Elements x) {
  std::string from = "tensor<2x4x1x" + element + ">";
  std::string to = "tensor<2x1x" + element + ">";
  TestProgram p("func.func @f(%x: " + from + ") -> (" + to +
                ", tensor<2x1xi32>) {\n  %v, %i = nn.arg_reduce <" + kind +
                "> %x dim 1 : " + from + " -> " + to +
                ", tensor<2x1xi32>\n  return %v, %i : " + to +
                ", tensor<2x1xi32>\n}\n");
  auto results = p.run({{std::move(x)}});
  EXPECT_TRUE(succeeded(results)) << p.error;
  if (failed(results))
    return {};
  const RankTensors &tensors = results->front();
  return {TestProgram::elements(*tensors[0]),
          TestProgram::elements(*tensors[1])};
}

TEST(NNTest, arg_reduce) {
  using Pair = std::pair<Elements, Elements>;
  Elements x{1, 3, 3, 2, -5, -7, -6, -7};
  EXPECT_EQ(argReduce("max", "f32", x), Pair({3, -5}, {1, 0}));
  EXPECT_EQ(argReduce("min", "f32", x), Pair({1, -7}, {0, 1}));
  EXPECT_EQ(argReduce("min", "i8", x), Pair({1, -7}, {0, 1}));
  // The first that is true, and the first that is not.
  Elements flags{0, 1, 1, 0, 0, 0, 0, 0};
  EXPECT_EQ(argReduce("max", "i1", flags), Pair({1, 0}, {1, 0}));
  EXPECT_EQ(argReduce("min", "i1", flags), Pair({0, 0}, {0, 0}));
}

TEST(NNTest, arg_reduce_of_what_is_no_number) {
  constexpr double inf = INFINITY;
  for (std::string kind : {"max", "min"}) {
    auto [values, positions] =
        argReduce(kind, "f32", {1, inf, NAN, NAN, -inf, -inf, -inf, -inf});
    EXPECT_TRUE(std::isnan(values[0]));
    EXPECT_EQ(values[1], -inf);
    EXPECT_EQ(positions, (Elements{2, 0}));
  }
}

TEST(NNTest, shapes) {
  TestProgram broadcast(
      oneOp("nn.broadcast %a0 dims [1] : tensor<2xi32> -> tensor<2x2x2xi32>",
            {"tensor<2xi32>"}, "tensor<2x2x2xi32>"));
  EXPECT_EQ(broadcast.runOne({{1, 2}}), (Elements{1, 1, 2, 2, 1, 1, 2, 2}));
  TestProgram transpose(oneOp(
      "nn.transpose %a0 [2, 0, 1] : tensor<1x2x3xi32> -> tensor<3x1x2xi32>",
      {"tensor<1x2x3xi32>"}, "tensor<3x1x2xi32>"));
  EXPECT_EQ(transpose.runOne({{1, 2, 3, 4, 5, 6}}),
            (Elements{1, 4, 2, 5, 3, 6}));
  TestProgram mask(
      oneOp("nn.mask_padding %a0 dim 0 size 3 value -1.0 : f32 offset %a1 : "
            "tensor<2x2xf32>",
            {"tensor<2x2xf32>", "index"}, "tensor<2x2xf32>"));
  EXPECT_EQ(mask.runOne({{1, 2, 3, 4}, {2}}), (Elements{1, 2, -1, -1}));
  EXPECT_EQ(mask.runOne({{1, 2, 3, 4}, {0}}), (Elements{1, 2, 3, 4}));
}

} // namespace
